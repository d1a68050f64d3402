"""FunSearch's prompts match the reviewed snapshots and fit the context window.

Run with UPDATE_SNAPSHOTS=1 to rewrite snapshots/, and review the diff.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from comind.agents.funsearch import FunSearch
from comind.agents.funsearch.funsearch import PROMPTS, FunSearchParameters
from comind.agents.funsearch.islands import Place, Version
from comind.campaign.log.work import Code
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.problem import Problem
from comind.domain.value import Payload
from comind.llm.model_ports import ModelRequest
from comind.llm.tokens import count_tokens
from comind.testing import ScriptedModel
from tests.unit.agents.funsearch.archipelagos import Archipelago, bad, good
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.world import World

_SNAPSHOTS = Path(__file__).parent / "snapshots"
_CONTEXTS = (4_096, 8_192, 32_768, 131_072, 1_000_000)
_FORM_TOKENS = 150  # what a client says about the form of a reply, and the marks of messages


def _works(name: str) -> Code:
    islands = Archipelago(islands=1, first=bad() if name == "first" else None)
    if name == "two_versions":
        islands.grow(good(0.8, "forest = 300\nfit(forest)"))
    [work] = islands.next()
    return work


def _asked(
    root: Path, work: Code, problem: Problem = PROBLEM, *, context_tokens: int = 128_000
) -> ModelRequest:
    world = World(root)
    reply = json.dumps({"plan": "p", "code": "good"})
    world.model = ScriptedModel([reply], context_tokens=context_tokens)
    agent = FunSearch(problem, FunSearchParameters(), seed=0, community=CommunityView())
    execute(agent, work, world.folder.work("attempt-001"), world.dependencies())
    [request] = world.model.requests
    return request


@pytest.mark.parametrize("name", ["first", "one_version", "two_versions"])
def test_prompts_are_as_reviewed(name: str, tmp_path: Path) -> None:
    """Each prompt of a small island matches its snapshot."""
    request = _asked(tmp_path, _works(name))
    asked = "\n\n".join(f"=== {m.role}\n{m.content}" for m in request.messages) + "\n"
    snapshot = _SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.write_text(asked)
    assert asked == snapshot.read_text()


_WRITABLE = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
_ODD = ["x", "```\n", "{{ 7*7 }}", "word ", "日本", "1234"]
_TEXTS = st.text(_WRITABLE, min_size=1, max_size=40) | st.sampled_from(_ODD)


@settings(phases=[Phase.generate])  # to shrink such texts takes minutes
@given(_TEXTS, st.integers(1, 40_000), st.sampled_from(_CONTEXTS), st.integers(0, 5))
def test_prompts_stay_under_their_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, length: int, context: int, count: int
) -> None:
    """Prompt and reply fit the context window whatever task, data and programs hold."""
    long = text * (length // len(text) + 1)
    texts = {"description": long, "preview": long, "title": long, "metric": long}
    columns = dict.fromkeys(("id_columns", "label_columns", "target_columns"), (long, "label"))
    problem = PROBLEM.model_copy(update=texts | columns)
    versions = (Version(attempt="attempt-000", code=long, result="accuracy 0.8"),) * count
    work = _works("first")
    work = work.model_copy(update={"facts": Payload.of(Place(island=0, versions=versions))})
    root = tmp_path_factory.mktemp("program")
    request = _asked(root, work, problem, context_tokens=context)
    size = sum(count_tokens(message.content) for message in request.messages)
    assert size + _FORM_TOKENS <= 0.9 * (max(8_192, min(context, 131_072)) - request.max_tokens)


@pytest.mark.parametrize("context", [1_024, 8_192, 40_000, 131_072, 2_000_000])
def test_room_grows_with_the_model(context: int) -> None:
    """A program has 2,000 to 16,000 tokens, and at 8k all parts fit."""
    room = PROMPTS.limits(context)
    assert 2_000 <= room["reply"] <= 16_000
    assert sum(room.values()) <= max(8_192, context)
    assert all(PROMPTS.limits(2 * context)[part] >= size for part, size in room.items())
