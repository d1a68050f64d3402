"""One node: its prompts, the program that runs, and its outcome."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from comind.agents.aide import Aide
from comind.agents.aide.tree_search import AideParameters
from comind.campaign.log.outcome import CodeOutcome, FailureCause
from comind.campaign.log.work_events import WORK_EVENTS, CallAnswered
from comind.campaign.work.text_ranking import BM25
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.domain.spend import Spend
from comind.eventlog.log import read_log
from comind.testing import ScriptedEmbedder
from tests.unit.agents.aide.trees import PLAN, REVIEW, Tree, buggy, carried_out, good, next_node
from tests.unit.agents.community import VIEW, discussion, notebook
from tests.unit.agents.samples import PROBLEM

_BAD = {"plan": "Try.", "code": "unknown"}


def _asked(request: Any) -> str:
    return request.messages[-1].content


def test_a_draft_is_written_run_scored_and_reviewed(tmp_path: Path) -> None:
    """A node takes two calls and one run; its score is the grader's, its report plan and review."""
    outcome, [write, review], world = carried_out(tmp_path, next_node(Operator.DRAFT), PLAN, REVIEW)
    assert outcome.score is not None
    assert outcome.score.value.value == 0.9
    assert (outcome.code, world.ran, outcome.steps) == ("good", ["good"], 1)
    assert outcome.report == "Fit a forest.\n\nIt ran well."
    assert outcome.failure is None
    assert (write.role, review.role) == ("coder", "feedback")
    assert review.closing
    assert "The grader scored it: written 0.9" in _asked(review)
    assert "wrote 0.9" in _asked(review)
    assert "Fit a forest." in _asked(review)


def test_a_debug_is_shown_what_failed(tmp_path: Path) -> None:
    """The prompt has program, output and error of the parent, and the data, but no memory."""
    work = next_node(Operator.DEBUG)
    outcome, [write, _], _ = carried_out(tmp_path, work, PLAN, REVIEW)
    assert outcome.score is not None
    for shown in ("```python\nbad\n```", "KeyError: 'x'", "loaded 30 rows", "train.csv: about 30 rows"):
        assert shown in _asked(write)
    assert "Scored so far" not in _asked(write)


def test_an_improvement_is_shown_the_program_and_the_memory(tmp_path: Path) -> None:
    """The prompt has the parent's program and the memory of scored nodes, and no view of the data."""
    [work] = Tree(drafts=2, debug_probability=0).grown(good(0.7, "worse"), good(0.8, "better"))
    outcome, [write, _], _ = carried_out(tmp_path, work, {"plan": "p", "code": "poor"}, REVIEW)
    assert outcome.score is not None, "a worse child is a good node, too"
    for shown in (
        "```python\nbetter\n```",
        "attempt-001: accuracy 0.7",
        "Plan of 0.8.",
        "exactly one change",
    ):
        assert shown in _asked(write)
    assert "about 30 rows, 3 columns" not in _asked(write)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("unknown", "It did not run to its end"),
        ("look", "did not write both submissions"),
        ("words", "It was not scored: validation_submission.csv is not a number"),
    ],
)
def test_a_node_without_a_score_is_buggy(code: str, told: str, tmp_path: Path) -> None:
    """The review is told of an error, missing files or a refused submission, and there is no score."""
    work = next_node(Operator.DRAFT)
    outcome, [_, review], _ = carried_out(tmp_path, work, {"plan": "Try.", "code": code}, REVIEW)
    assert outcome.score is None
    assert outcome.failure is not None
    assert outcome.last is not None
    assert outcome.last.program == code
    assert told in _asked(review)


def test_without_a_review_the_score_stays(tmp_path: Path) -> None:
    """An invalid review costs three calls and leaves the score."""
    outcome, asked, _ = carried_out(tmp_path, next_node(Operator.DRAFT), PLAN, *[{"words": "?"}] * 3)
    assert outcome.score is not None
    assert outcome.failure is None
    assert outcome.report.startswith("Fit a forest.\n\nThere is no review: ")
    assert len(asked) == 4


def test_a_plan_without_a_program_is_asked_for_again(tmp_path: Path) -> None:
    """Three replies without a program end the node, and nothing runs."""
    outcome, asked, world = carried_out(
        tmp_path, next_node(Operator.DRAFT), *[{"plan": "Think.", "code": " "}] * 3
    )
    assert outcome.failure is not None
    assert outcome.failure.cause is FailureCause.REPLY
    assert outcome.last is None
    assert world.ran == []
    assert len(asked) == 3


def test_a_tree_of_failures_ends(tmp_path: Path) -> None:
    """If every program fails, all nodes are drafts and debugs, and the tree ends."""
    tree = Tree(nodes=8, drafts=2, debug_probability=1, max_debug_depth=1)
    for number in range(8):
        [name] = tree.grow()
        outcome, *_ = carried_out(tmp_path / str(number), tree.nodes[-1], _BAD, REVIEW)
        tree.end(name, outcome)
    kinds = [work.operator.value for work in tree.nodes]
    assert kinds == ["draft"] * 2 + ["debug"] * 4 + ["draft", "debug"]
    assert tree.grow() == []


def test_a_draft_is_shown_its_notebook(tmp_path: Path) -> None:
    """In the variant `code` the prompt has the notebook, marked as untrusted."""
    tree = Tree(community="code", view=VIEW)
    [work] = tree.grown()
    _, [write, _], _ = carried_out(tmp_path, work, PLAN, REVIEW, community="code")
    assert "It was written by a third party and has not been run here" in _asked(write)
    assert "```python\nmodel.fit(x, y)\n```" in _asked(write)


_PICKS = {"numbers": [3, 99, -1, 3, 2]}
_DIGEST = {"summary": "Logarithms help."}


def test_a_draft_is_told_what_the_model_picked(tmp_path: Path) -> None:
    """In the variant `rag` the model picks titles, and the prompt has summaries of the picks."""
    work = next_node(Operator.DRAFT)
    replies = (_PICKS, _DIGEST, {"summary": "A forest."}, PLAN, REVIEW)
    outcome, asked, _ = carried_out(tmp_path, work, *replies, community="rag")
    assert outcome.score is not None
    titles, thread, forest, write, _ = map(_asked, asked)
    for title in ("1. About ada/straight-line", "2. About ben/forest", "3. Thread 1"):
        assert title in titles
    assert "Scale the columns.\n\nLogarithms helped me." in thread
    assert "ExtraTreesClassifier()" in forest
    assert "Thread 1\n\nLogarithms help." in write
    assert "About ben/forest\n\nA forest." in write


@pytest.mark.parametrize(
    ("replies", "shown"),
    [
        ([{"numbers": []}], False),
        ([{"numbers": "all"}] * 3, False),
        ([_PICKS, *[{}] * 3, {"summary": "A forest."}], True),
    ],
    ids=["nothing", "no form", "one without a summary"],
)
def test_a_draft_does_without_what_it_cannot_be_told(
    replies: list[dict[str, Any]], shown: bool, tmp_path: Path
) -> None:
    """If the model picks nothing or fails to summarise, the draft is written without notes."""
    work = next_node(Operator.DRAFT)
    outcome, asked, _ = carried_out(tmp_path, work, *replies, PLAN, REVIEW, community="rag")
    assert outcome.score is not None
    assert ("From the community" in _asked(asked[-2])) == shown
    assert "Thread 1" not in _asked(asked[-2])


_HELP = CommunityView(
    notebooks=(
        notebook("a/line", "model = LogisticRegression()"),
        notebook("b/x", "# KeyError: 'x' is the end of its error: rename it"),
    ),
    discussions=(discussion("7", "A forest did better.\n" + "Words. " * 300),),
)


@pytest.mark.parametrize(
    ("operator", "near"),
    [(Operator.DEBUG, "rename it"), (Operator.IMPROVE, "A forest did better.")],
)
@pytest.mark.parametrize("embedder", [None, ScriptedEmbedder()], ids=["bm25", "embeddings"])
def test_later_nodes_are_told_what_is_near(
    operator: Operator, near: str, embedder: ScriptedEmbedder | None, tmp_path: Path
) -> None:
    """In the variant `rag` the prompt has the passages nearest to the error, or to plan and review."""
    report = {"report": "A forest did well, a better forest may do more."}
    [work] = Tree(drafts=1, debug_probability=1).grown(
        {Operator.DEBUG: buggy(), Operator.IMPROVE: good().model_copy(update=report)}[operator]
    )
    agent = Aide(PROBLEM, AideParameters(community="rag"), seed=0, community=_HELP)
    outcome, [write, _], _ = carried_out(tmp_path, work, PLAN, REVIEW, agent=agent, embedder=embedder)
    assert outcome.score is not None
    told = _asked(write).split("# From the community")[1].split("# The program")[0]
    assert told.count("<<<") == 3
    assert near in told.split(">>>")[0]


def _timeless(outcome: CodeOutcome) -> CodeOutcome:
    return outcome.model_copy(update={"spend": Spend()})


@pytest.mark.parametrize(
    ("operator", "variant", "replies"),
    [
        (Operator.DRAFT, "rag", (_PICKS, _DIGEST, {"summary": "A forest."}, PLAN, REVIEW)),
        (Operator.DEBUG, "rag", (_BAD, REVIEW)),
        (Operator.IMPROVE, "none", ({"plan": ""}, PLAN, REVIEW)),
    ],
    ids=["draft", "debug", "improve"],
)
def test_a_killed_node_goes_on_to_the_same_end(
    operator: Operator, variant: str, replies: tuple[dict[str, Any], ...], tmp_path: Path
) -> None:
    """Killed after any record, a node resumes to the same outcome without repeating a request."""
    work = next_node(operator)
    expected, *_ = carried_out(tmp_path / "whole", work, *replies, community=variant)
    place = Path("runs/demo-tiny-1/attempt-001/log.jsonl")
    lines = (tmp_path / "whole" / place).read_bytes().splitlines(keepends=True)
    for cut in range(len(lines) + 1):
        root = tmp_path / f"cut-{cut}"
        shutil.copytree(tmp_path / "whole", root)
        (root / place).write_bytes(b"".join(lines[:cut]))
        kept = [record.event for record in read_log(root / place, WORK_EVENTS)]
        heard = [each for each in kept if isinstance(each, CallAnswered) and each.reply.model != BM25]
        rest = replies[len(heard) :]
        outcome, asked, _ = carried_out(root, work, *rest, community=variant)
        assert _timeless(outcome) == _timeless(expected)
        assert len(asked) == len(rest)
