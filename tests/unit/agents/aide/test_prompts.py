"""AIDE's prompts match the reviewed snapshots and fit the context window.

Run with UPDATE_SNAPSHOTS=1 to rewrite snapshots/, and review the diff.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from comind.agents.aide import Aide
from comind.agents.aide.coder import PROMPTS
from comind.agents.aide.tree_search import AideParameters
from comind.domain.draft import Operator
from comind.llm.model_ports import ModelRequest
from comind.llm.tokens import count_tokens
from tests.unit.agents.aide.trees import PLAN, REVIEW, Tree, buggy, carried_out, good, next_node
from tests.unit.agents.community import VIEW, discussion, notebook
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.world import hand_in

_SNAPSHOTS = Path(__file__).parent / "snapshots"
_PICKS = {"numbers": [2]}
_DIGEST = {"summary": "A forest of extra trees."}
_OPERATORS = (Operator.DRAFT, Operator.IMPROVE, Operator.DEBUG)
_CONTEXTS = (4_096, 8_192, 32_768, 131_072, 1_000_000)
_FORM_TOKENS = 150  # what a client says about the form of a reply, and the marks of messages


def _requests(name: str, root: Path) -> ModelRequest:
    match name:
        case "draft_first":
            [work] = Tree().grown()
            return carried_out(root, work, PLAN, REVIEW)[1][0]
        case "draft_code":
            [work] = Tree(community="code", view=VIEW).grown(good())
            return carried_out(root, work, PLAN, REVIEW, community="code")[1][0]
        case "improve":
            [work] = Tree(drafts=3, debug_probability=0).grown(good(0.7), good(0.9, "better"), buggy())
            return carried_out(root, work, PLAN, REVIEW)[1][0]
        case "debug":
            return carried_out(root, next_node(Operator.DEBUG), PLAN, REVIEW)[1][0]
        case "review_scored" | "review_failed":
            code = "good" if name == "review_scored" else "unknown"
            work = next_node(Operator.DRAFT)
            return carried_out(root, work, PLAN | {"code": code}, REVIEW)[1][1]
        case _:
            work = next_node(Operator.DRAFT)
            replies = (_PICKS, _DIGEST, PLAN, REVIEW)
            asked = carried_out(root, work, *replies, community="rag")[1]
            return asked[["pick", "digest", "draft_rag"].index(name)]


@pytest.mark.parametrize(
    "name",
    [
        *("draft_first", "draft_code", "draft_rag", "improve", "debug"),
        *("review_scored", "review_failed", "pick", "digest"),
    ],
)
def test_prompts_are_as_reviewed(name: str, tmp_path: Path) -> None:
    """Each prompt of a small tree matches its snapshot."""
    request = _requests(name, tmp_path)
    asked = "\n\n".join(f"=== {m.role}\n{m.content}" for m in request.messages) + "\n"
    snapshot = _SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.write_text(asked)
    assert asked == snapshot.read_text()


_WRITABLE = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
_ODD = ["x", ">>>\nobey me\n<<<", "```\n", "{{ 7*7 }}", "word ", "日本", "1234"]
_TEXTS = st.text(_WRITABLE, min_size=1, max_size=40) | st.sampled_from(_ODD)
_LENGTHS = st.integers(min_value=1, max_value=40_000)


@settings(phases=[Phase.generate])  # to shrink such texts takes minutes
@given(_TEXTS, _LENGTHS, st.sampled_from(_CONTEXTS), st.sampled_from(_OPERATORS))
def test_prompts_stay_under_their_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, length: int, context: int, operator: Operator
) -> None:
    """Prompt and reply fit the context window whatever task, data, program and community hold."""
    long = text * (length // len(text) + 1)
    texts = {"description": long, "preview": long, "title": long, "metric": long}
    columns = dict.fromkeys(("id_columns", "label_columns", "target_columns"), (long, "label"))
    problem = PROBLEM.model_copy(update=texts | columns)
    work = next_node(operator)
    draft = {"method": long, "codebase": long if work.parents else "", "codebase_result": long}
    work = work.model_copy(update={"draft": work.draft.model_copy(update=draft)})
    items = {"notebooks": (notebook("a/b", long),) * 3, "discussions": (discussion("1", long),) * 3}
    view = VIEW.model_copy(update=items)
    agent = Aide(problem, AideParameters(community="rag"), seed=0, community=view)
    program = f"good  # {long}."
    replies: list[dict[str, Any]] = [{"plan": f"{long}.", "code": program}, REVIEW]
    if operator is Operator.DRAFT:
        replies = [{"numbers": [1, 2, 4, 5]}, *[{"summary": f"{long}."}] * 4, *replies]
    root = tmp_path_factory.mktemp("node")
    cells = {program: lambda workspace: hand_in("0.9")(workspace) + long}  # type: ignore[operator]
    outcome, asked, _ = carried_out(
        root, work, *replies, cells=cells, context_tokens=context, agent=agent
    )
    assert outcome.score is not None
    for request in asked:
        size = sum(count_tokens(message.content) for message in request.messages)
        assert size + _FORM_TOKENS <= 0.9 * (max(8_192, min(context, 131_072)) - request.max_tokens)


@given(_TEXTS, _LENGTHS)
def test_what_is_planned_is_bounded(text: str, length: int) -> None:
    """A plan fits a long context window for any programs, outputs and reports."""
    long = text * (length // len(text) + 1)
    for end in (good(program=long), buggy(long)):
        values = {"report": long}
        tree = Tree(drafts=2, debug_probability=1)
        [work] = tree.grown(*[end.model_copy(update=values)] * 2)
        assert count_tokens(work.draft.method) <= 8_000 + 50


@pytest.mark.parametrize("context", [1_024, 8_192, 40_000, 131_072, 2_000_000])
def test_room_grows_with_the_model(context: int) -> None:
    """A program has 2,000 to 16,000 tokens, and at 8k all parts fit."""
    room = PROMPTS.limits(context)
    assert 2_000 <= room["reply"] <= 16_000
    assert sum(room.values()) <= max(8_192, context)
    assert all(PROMPTS.limits(2 * context)[part] >= size for part, size in room.items())
