"""Whole campaigns: knowledge found, planned, decomposed, failed, debugged, improved, and resumed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from comind.agents.automind import AutoMind
from comind.agents.automind.planner import CHECK, PLAN, SEARCH
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.spend import Spend
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel
from tests.unit.agents.automind.trees import VERDICT, answer, grown
from tests.unit.campaign.world import World

_VIEW = CommunityView()


def _summary(state: CampaignState) -> list[tuple[Any, ...]]:
    """Return what must not depend on kills."""
    rows: list[tuple[Any, ...]] = []
    for record in state.works:
        outcome = record.outcome
        ended = outcome.code if isinstance(outcome, CodeOutcome) else outcome and outcome.result
        score = outcome.score if isinstance(outcome, CodeOutcome) else None
        rows.append((record.id, record.work, ended, score))
    return rows


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, CampaignState]:
    """A campaign of four nodes, run to its end."""
    return grown(tmp_path_factory.mktemp("tree"))


def test_a_tree_grows(tree: tuple[World, CampaignState]) -> None:
    """A complex draft is coded in steps, a simple one fails and is debugged; the best is improved."""
    nodes = [
        (a.work.operator.value, a.work.parents, a.work.session, a.score and a.score.value.value)
        for a in tree[1].works.attempts()
    ]
    assert nodes == [
        ("draft", (), "notebook", 0.9),
        ("draft", (), "script", None),
        ("debug", ("attempt-001",), "script", 0.5),
        ("improve", ("attempt-000",), "script", 0.95),
    ]
    assert tree[1].ended is not None
    assert tree[1].ended.detail == "the tree has its 4 nodes"


def test_each_step_is_checked_before_the_next(tree: tuple[World, CampaignState]) -> None:
    """The training and all after it is one step; its failed try is shown to the coder, then repeated."""
    world, state = tree
    assert world.ran[:3] == ["look", "unknown", "good"]
    outcome = state.works.attempt("attempt-000").outcome
    assert outcome is not None
    assert [cell.goal for cell in outcome.cells] == ["Prepare", *["Train the forest; Predict"] * 2]
    assert outcome.code == "look\n\ngood"
    asked = [r.messages[-1].content for r in world.model.requests if r.reply_name == "Program"]
    assert "no cell named 'unknown'" in asked[2]
    assert "```python\nlook\n```" in asked[2]
    assert "Fit 300 trees.\nWrite both files." in asked[1]


def test_knowledge_leads_to_nodes(tree: tuple[World, CampaignState]) -> None:
    """Drafts get methods, improvements tricks, debugs none; what a plan uses is its draft's source."""
    world, state = tree
    [search] = state.works.thoughts(SEARCH)
    assert search.result is not None
    assert search.result.labels == (
        "tabular data/classification",
        "tabular data/feature engineering",
        "tabular data",
    )
    kinds = [{e.entry_type for e in plan.facts.entries} for plan in state.works.thoughts(PLAN)]
    assert kinds == [{"method"}, {"method"}, set(), {"trick"}]
    for plan, attempt in zip(state.works.thoughts(PLAN), state.works.attempts(), strict=True):
        assert plan.result is not None
        assert attempt.work.draft.sources == (plan.id, *plan.result.used)
    graph = AutoMind.graph(state, _VIEW)
    used = state.works.attempt("attempt-003").work.draft.sources[1]
    assert graph.is_ancestor(f"idea:{used}", "solution:attempt-003")
    assert graph.is_ancestor("solution:attempt-000", "solution:attempt-003")
    plan = next(r for r in world.model.requests if r.reply_name == "Plan")
    assert "# Expert knowledge for this kind of task" in plan.messages[-1].content


def test_the_journal_is_a_tree(tree: tuple[World, CampaignState]) -> None:
    """It has the attempts below their parents, the knowledge, and plan and verdict of each node."""
    journal = AutoMind.journal(tree[1], _VIEW)
    assert "  - attempt-002 (debug, complexity 2, in one pass): Repaired, from think-005" in journal
    assert "labels: tabular data/classification" in journal
    assert "  - verifier: no objection: It ran." in journal


def test_a_complexity_is_scored_without_temperature(tree: tuple[World, CampaignState]) -> None:
    """Drafts and debugs are scored at temperature 0, improvements never."""
    scored = [r for r in tree[0].model.requests if r.reply_name == "Complexity"]
    assert [r.temperature for r in scored] == [0.0] * 3
    found = [p.result and p.result.complexity for p in tree[1].works.thoughts(PLAN)]
    assert found == [4.5, 2.0, 2.0, None]


def _copy(world: World, root: Path) -> Path:
    shutil.copytree(world.root, root)
    return root / "runs" / world.folder.name


def test_any_prefix_of_the_campaign_continues_to_the_same_end(
    tree: tuple[World, CampaignState], tmp_path: Path
) -> None:
    """Killed after any event of the campaign, it resumes to the same works without another request."""
    world, expected = tree
    lines = world.folder.log.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        root = tmp_path / str(cut)
        _copy(world, root).joinpath(world.folder.log.name).write_bytes(b"".join(lines[:cut]))
        again, state = grown(root)
        assert _summary(state) == _summary(expected)
        assert again.model.requests == []


def _timeless(outcome: Any) -> Any:
    return outcome.model_copy(update={"spend": Spend()})


def test_work_that_was_killed_continues(tree: tuple[World, CampaignState], tmp_path: Path) -> None:
    """Killed after any record of any work, it replays what was recorded and asks for the rest alone."""
    world, state = tree
    for record in state.works:
        log = Path("runs", world.folder.name, record.id, "log.jsonl")
        events = (world.root / log).read_bytes().splitlines(keepends=True)
        asked = []
        for cut in range(len(events)):
            root = tmp_path / f"{record.id}-{cut}"
            shutil.copytree((world.root / log).parent, (root / log).parent)
            (root / log).write_bytes(b"".join(events[:cut]))
            again = World(root)
            again.model = ScriptedModel(answer)
            dependencies = again.dependencies()
            outcome = execute(world.agent, record.work, again.folder.work(record.id), dependencies)
            assert _timeless(outcome) == _timeless(record.outcome)
            asked.append(len(again.model.requests))
        assert asked == sorted(asked, reverse=True)
        assert asked[-1] == 0


@pytest.mark.parametrize(
    ("how", "missing"),
    [
        ({"knowledge": "none"}, {"Labels"}),
        ({"coding": "one-pass"}, {"Complexity", "Steps"}),
        ({"verifier": False}, {"Verdict"}),
    ],
    ids=["no knowledge", "one pass", "no verifier"],
)
def test_ablations(how: dict[str, Any], missing: set[str], tmp_path: Path) -> None:
    """Each part can be left out by a parameter, and costs no calls then."""
    world, state = grown(tmp_path, **how)
    asked = {request.reply_name for request in world.model.requests}
    assert not asked & missing
    assert asked >= {"Plan", "Program"}
    assert state.ended is not None
    assert len(state.works.attempts()) == 4
    assert "## Nodes" in AutoMind.journal(state, _VIEW)


def _objecting(request: ModelRequest) -> str:
    if request.reply_name == "Verdict" and "METHOD-A" in request.messages[-1].content:
        return json.dumps(VERDICT | {"overfitting": True})
    return answer(request)


def _silent(request: ModelRequest) -> str:
    return "{}" if request.reply_name in ("Verdict", "Complexity", "Labels") else answer(request)


def test_an_objection_of_the_verifier_is_debugged(tmp_path: Path) -> None:
    """A scored node that overfits is debugged by default; by parameter it is left, or not the best."""
    _, state = grown(tmp_path / "debug", _objecting)
    third = state.works.attempts()[2].work
    assert third.operator.value == "debug"
    operators = [a.work.operator.value for a in state.works.attempts()]
    assert operators == ["draft", "draft", "debug", "debug"]
    [first, *_] = state.works.thoughts(CHECK)
    assert str(first.result) == "overfitting: It ran."
    _, ignored = grown(tmp_path / "none", _objecting, verdict="none")
    assert ignored.works.attempts()[3].work.parents == ("attempt-000",)
    _, greedy = grown(tmp_path / "greedy", _objecting, verdict="greedy")
    assert greedy.works.attempts()[3].work.parents == ("attempt-002",)


def _doubting(request: ModelRequest) -> str:
    """Find overfitting in the best node alone."""
    reply = json.loads(answer(request))
    if request.reply_name == "Verdict" and "METHOD-D" in request.messages[-1].content:
        reply |= {"overfitting": True, "summary": "Labels leak."}
    return json.dumps(reply)


def test_what_the_verifier_rejects_is_not_the_result(tmp_path: Path) -> None:
    """Neither under `debug` nor `greedy`; under `none` the verdict is only shown."""
    for verdict, best in (("debug", "attempt-000"), ("greedy", "attempt-000"), ("none", "attempt-003")):
        _, state = grown(tmp_path / verdict, _doubting, verdict=verdict)
        assert state.picked is not None
        assert state.picked.work_id == best
        rejected = {each.id: each.rejected for each in state.works.rejected()}
        expected = {"attempt-003": "the verifier: overfitting: Labels leak."}
        assert rejected == ({} if verdict == "none" else expected)


def test_replies_that_fail_leave_the_search(tmp_path: Path) -> None:
    """Without a verdict a score counts; without a complexity a plan is coded in steps."""
    _, state = grown(tmp_path, _silent)
    assert [p.result and p.result.complexity for p in state.works.thoughts(PLAN)][:2] == [5.0, 5.0]
    assert all(check.failure for check in state.works.thoughts(CHECK))
    assert state.works.attempts()[0].score is not None
    assert state.works.thoughts(SEARCH)[0].result is not None


def test_a_model_without_plans_ends(tmp_path: Path) -> None:
    """If no plan can be parsed, each node ends without an attempt, and the tree ends."""
    _, state = grown(tmp_path, lambda request: "{}")
    assert len(state.works.thoughts(PLAN)) == 4
    assert state.works.attempts() == []
    assert "no plan" in AutoMind.journal(state, _VIEW)


def test_concurrent_nodes_keep_their_slots(tmp_path: Path) -> None:
    """With two coders two nodes are open at once, from plan to verdict."""
    world, state = grown(tmp_path, coders=2)
    assert len(state.works.thoughts(PLAN)) == 4
    assert state.works.attempts()[0].work.operator.value == "draft"
    del world


def test_an_estimate_counts_calls() -> None:
    """The estimate names nodes and drafts, and leaves out parts that are off."""
    from tests.unit.campaign.samples import spec

    expected = AutoMind.estimate(spec(parameters={"nodes": 4, "verifier": False, "knowledge": "none"}))
    assert "4 nodes, 4 drafts first" in str(expected)
