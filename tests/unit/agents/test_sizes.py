"""Token limits grow with the context window, between stated bounds."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.comind.analyzer import _code_cells_first
from comind.agents.comind.coding_agent import format_duration
from comind.agents.comind.sizes import Sizes
from comind.campaign.worker import execute
from comind.llm.model_ports import ModelRequest
from comind.llm.tokens import count_tokens
from comind.testing import ScriptedModel
from tests.unit.agents.samples import FRAME, PROBLEM, agent_for
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World

_LARGE, _SMALL = 131_072, 8_192
_SECTIONS = ("## Evaluation", "## Submission File", "## Dataset Description")


def _first_request(root: Path, context_tokens: int, description: str, codebase: str) -> ModelRequest:
    known = {codebase: lambda workspace: ""} if codebase != "unknown" else {}
    world = World(root, cells={FRAME: lambda workspace: ""} | known)
    said = json.dumps({"goal": "g", "code": "good", "summary": "It works."})
    world.model = ScriptedModel(lambda _request: said, context_tokens=context_tokens)
    draft = code().draft.model_copy(update={"codebase": codebase, "codebase_seconds": 1.0})
    work = code(steps=3).model_copy(update={"draft": draft})
    agent = agent_for(PROBLEM.model_copy(update={"description": description}))
    execute(agent, work, world.folder.work("attempt-000"), world.dependencies())
    return world.model.requests[0]


def _description(tokens: int) -> str:
    filler = "Sensors were read every ten seconds, and some of them drift. "
    share = filler * (tokens // (4 * count_tokens(filler)))
    return "\n\n".join(
        [share, *(f"{heading}\n\n{heading[3:]} matters. {share}" for heading in _SECTIONS)]
    )


def test_a_large_context_shows_all_of_it(tmp_path: Path) -> None:
    """At 128k a description of 9,000 tokens and a program of 12,000 characters are not truncated."""
    description = _description(8_800)
    assert 8_000 < count_tokens(description) <= 9_000
    program = "\n".join(f"feature_{n} = train['x{n}'].rolling({n}).mean()" for n in range(1, 260))
    assert 11_000 < len(program) < 13_000
    request = _first_request(tmp_path, _LARGE, description, program)
    asked = request.messages[-1].content
    assert description in asked
    assert program in asked
    assert request.max_tokens >= 2 * count_tokens(program)


@pytest.mark.parametrize("context", [_SMALL, 32_768, _LARGE])
def test_evaluation_and_format_survive_truncation(context: int, tmp_path: Path) -> None:
    """Truncation of a description keeps evaluation, submission format and data description."""
    asked = _first_request(tmp_path, context, _description(30_000), "").messages[-1].content
    for heading in _SECTIONS:
        assert f"{heading[3:]} matters." in asked
    assert count_tokens(asked) < context / 2


def test_small_models_are_told_less_of_handing_in(tmp_path: Path) -> None:
    """The prompt explains folds and nominations from 16k on; at 8k it has a function with a comment."""
    for context, told in ((_SMALL, False), (16_384, True), (_LARGE, True)):
        asked = _first_request(tmp_path / str(context), context, "", "unknown").messages[-1].content
        assert "def submit(" in asked
        assert ("`nominated.txt`" in asked) == told


@given(st.integers(1_024, 2_000_000), st.integers(1_024, 2_000_000))
def test_limits_grow_with_the_context(one: int, other: int) -> None:
    """Limits are monotone in the context window, and at least those of 8,192 tokens."""
    small, large = (Sizes.of(each).model_dump() for each in sorted((one, other)))
    assert all(small[name] <= large[name] for name in small)
    assert all(least <= small[name] for name, least in Sizes.of(1).model_dump().items())


def test_code_comes_before_words() -> None:
    """Code cells of a notebook come before text cells, each kind in its order."""
    source = "# %% [markdown]\n# Hello\n\n# %%\na = 1\n\n# %% [markdown]\n# More\n\n# %%\nb = 2\n"
    ordered = _code_cells_first(source)
    assert [ordered.index(part) for part in ("a = 1", "b = 2", "Hello", "More")] == sorted(
        ordered.index(part) for part in ("a = 1", "b = 2", "Hello", "More")
    )
    assert _code_cells_first("print(1)") == "print(1)"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (119, "1 min 59 s"), (7_199.6, "120 min")],
)
def test_times_are_told_to_the_second_where_little_is_left(seconds: float, words: str) -> None:
    """Long durations are in minutes, short ones have seconds."""
    assert format_duration(seconds) == words
