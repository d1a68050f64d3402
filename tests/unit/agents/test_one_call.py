"""Rounds in one call where time is short, and the preparation that is written beside attempts."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.journal import journal_of
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import graph_with_ideas, pool_of
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, OPEN, PREPARE, PROPOSE, Preparing
from comind.baseline.recipe_programs import Program
from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.log.campaign_events import CampaignEvent
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code, Decision, Think, Wait
from comind.campaign.loop import run
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from comind.domain.spend import Budget
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel, ThreadExecutor
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import REPORT, attempt, baseline, opening, state_of, thought
from tests.unit.agents.samples import FRAME, agent_for
from tests.unit.campaign.samples import code, scored, split_made
from tests.unit.campaign.world import World

_ALONE = agent_for(parameters=CoMindParameters())
_BESIDE = agent_for(parameters=CoMindParameters(), community=VIEW)
_HALF_AN_HOUR = Budget(seconds=1_800.0)
_IDEA = {
    "text": "Grow deep trees.",
    "feasibility": 9,
    "potential": 4,
    "agreement": 5,
    "made_from": ["R1", "R7", "none"],
}
_FOREST = "Extra trees on scaled columns, five hundred of them, with out-of-fold predictions by folds."
_NET = "Two hidden layers with dropout learn embeddings of all kinds from noisy copies of each row."
_DRAFTS = [
    {"title": "a forest", "kind": "baseline", "method": _FOREST, "ideas": [1]},
    {"title": "a net", "kind": "novel", "method": _NET},
]
_SAID: dict[str, dict[str, Any]] = {
    "Drafts": {"ideas": [_IDEA], "drafts": _DRAFTS},
    "CodingStep": {"goal": "try", "code": "good"},
    "AttemptReport": {"summary": "It works."},
    "Preparation": {"code": "features = 1"},
}


def _purposes(decision: Decision) -> list[str]:
    """Return purposes of planned thoughts, and `attempt` for each attempt."""
    assert isinstance(decision, list), decision
    return [work.purpose if isinstance(work, Think) else "attempt" for work in decision]


def _short(*events: CampaignEvent, minutes: float = 30, **spec: Any) -> CampaignState:
    return state_of(*events, budget=Budget(seconds=60 * minutes), **{"iterations": None, **spec})


# --- when a round is one call ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "most", "purpose"),
    [(30, 60, OPEN.name), (60, 60, OPEN.name), (300, 60, PROPOSE.name), (30, 0, PROPOSE.name)],
)
def test_a_round_is_one_call_where_little_time_is_left(
    minutes: float, most: float, purpose: str
) -> None:
    """After reading, ideas and drafts are one thought if at most `one_call_minutes` are left."""
    read = [*baseline(), *thought(0, ANALYZE, {"reports": [REPORT]})]
    agent = agent_for(parameters=CoMindParameters(one_call_minutes=most))
    assert _purposes(agent.plan(_short(*read, minutes=minutes))) == [purpose]


def test_what_is_there_of_the_community_is_read_first() -> None:
    """A round in one call reads community items before; without any it begins with its one thought."""
    assert _purposes(_BESIDE.plan(_short(*baseline())))[0] == ANALYZE.name
    assert _purposes(_ALONE.plan(_short(*baseline()))) == [OPEN.name]
    staged = agent_for()
    assert _purposes(staged.plan(_short(*baseline())))[0] == ANALYZE.name, "it reads the baseline"


@pytest.mark.parametrize(
    ("seconds", "most", "purpose"),
    [
        (110, 60, OPEN.name),
        (130, 60, ANALYZE.name),
        (110, 0.5, ANALYZE.name),
        (110, 0, ANALYZE.name),
    ],
    ids=["half is over", "more is left", "more than the limit is left", "never"],
)
def test_a_late_round_is_one_call(seconds: float, most: float, purpose: str) -> None:
    """A later round is one call where half of the time is over and little is left; it reads nothing."""
    events = [*baseline(), *thought(0, OPEN, {"drafts": [{"title": "a", "method": "m"}]}, finished=1)]
    events += attempt(1, code("a"), scored(0.8))
    agent = agent_for(parameters=CoMindParameters(one_call_minutes=most))
    assert _purposes(agent.plan(_short(*events, minutes=seconds / 60)))[0] == purpose


# --- what it brings --------------------------------------------------------------------------------


def _opened(root: Path, state: CampaignState, *replies: dict[str, Any]) -> tuple[dict[str, Any], World]:
    world = World(root)
    world.model = ScriptedModel([json.dumps(reply) for reply in replies])
    outcome = execute(_BESIDE, opening(state, VIEW), world.folder.work("think-9"), world.dependencies())
    assert outcome.kind == "think"
    assert outcome.failure is None, outcome.failure
    return dict(outcome.result.root), world


def test_ideas_and_drafts_come_in_one_reply(tmp_path: Path) -> None:
    """Ideas are numbered on, with the reports that they name as sources; drafts use them by number."""
    state = _short(
        *baseline(),
        *thought(0, ANALYZE, {"reports": [REPORT]}),
        *thought(1, PROPOSE, {"ideas": [{"id": "idea-000", "text": "Known.", "value": 3}]}),
    )
    drafts = [_DRAFTS[0] | {"ideas": [1, 2]}, _DRAFTS[1]]
    result, world = _opened(tmp_path, state, {"ideas": [_IDEA], "drafts": drafts})
    assert len(world.model.requests) == 1
    [idea] = result["ideas"]
    assert (idea["id"], idea["value"], idea["sources"]) == ("idea-001", 6, ["ben/forest"])
    first = result["drafts"][0]
    assert first["sources"] == ["idea-000", "idea-001"]
    assert "- Grow deep trees." in first["method"]
    asked = world.model.requests[0].messages[-1].content
    assert "1. Known. (value 3)" in asked
    assert "your new ones are numbered on from 2" in asked
    assert "R1. ben/forest" in asked
    assert "preparation" not in str(world.model.requests[0].reply_schema)


def test_its_result_is_in_pool_graph_and_journal(tmp_path: Path) -> None:
    """Ideas and drafts of the one thought are remembered like those of two."""
    read = [*baseline(), *thought(0, ANALYZE, {"reports": [REPORT]})]
    result, _ = _opened(tmp_path, _short(*read), {"ideas": [_IDEA], "drafts": _DRAFTS})
    state = _short(*read, *thought(1, OPEN, result))
    pool = pool_of(state)
    assert ([each.id for each in pool.ideas], pool.latest) == (["idea-000"], ("idea-000",))
    assert [each.title for each in pool.drafts] == ["a forest", "a net"]
    assert _purposes(_BESIDE.plan(state))[:2] == ["attempt", "attempt"]
    assert "idea:idea-000" in graph_with_ideas(state, VIEW)
    told = journal_of(state, VIEW)
    rated = "value 6: potential 4, feasibility 9, agreement 5"
    for line in (f"- idea-000 ({rated}, from ben/forest): Grow deep trees.", "- a net (novel): "):
        assert line in told


def test_a_round_without_reading_has_its_heading() -> None:
    """In the journal each thought that writes drafts ends a round; a preparation begins none."""
    opened = {"drafts": [{"title": "a", "method": "m"}], "missing": ["novel"]}
    state = _short(
        *baseline(),
        *thought(0, OPEN, opened),
        *thought(1, PREPARE, {"preparation": "x = 1\ny = 2"}),
        *thought(2, OPEN, {"refused": "all were tried"}),
    )
    lines = journal_of(state, VIEW).splitlines()
    assert [line for line in lines if line.startswith("## R")] == ["## Round 1", "## Round 2"]
    assert "A preparation for later drafts, of 2 lines." in lines
    assert "- asked for, but not among them: novel" in lines


# --- the preparation -------------------------------------------------------------------------------

_FRESH = [{"title": title, "method": "m", "kind": "novel"} for title in ("a", "b", "c")]
_ONE_ROUND = [split_made(folds=5), *baseline(), *thought(0, OPEN, {"drafts": _FRESH}, finished=1)]


def test_a_preparation_is_written_beside_the_first_attempts() -> None:
    """It is planned with them, once, knows their methods, and is no stage of the round."""
    planned = _ALONE.plan(_short(*_ONE_ROUND))
    assert _purposes(planned) == ["attempt", "attempt", PREPARE.name]
    assert isinstance(planned, list)
    assert isinstance(planned[2], Think)
    assert PREPARE.facts_of(planned[2]) == Preparing(folds=5, methods=("m", "m", "m"))
    begun = [*attempt(1, code("a"), scored(0.8)), *thought(1, PREPARE, {"preparation": "x = 1"})[:1]]
    assert _purposes(_ALONE.plan(_short(*_ONE_ROUND, *begun))) == ["attempt", "attempt"]
    over = [each for number in (1, 2, 3) for each in attempt(number, code(str(number)), scored(0.8))]
    running = thought(1, PREPARE, {})[:1]
    assert _purposes(_ALONE.plan(_short(*_ONE_ROUND, *over, *running)))[0] == ANALYZE.name
    assert _ALONE.plan(_short(*_ONE_ROUND, *over, *running, iterations=1)) == Wait()


@pytest.mark.parametrize(
    ("parameters", "spec"),
    [({"preparation": False}, {}), ({}, {"iterations": 1, "coders": 3})],
    ids=["switched off", "nothing is left for it"],
)
def test_a_preparation_that_serves_nobody_is_not_written(
    parameters: dict[str, Any], spec: dict[str, Any]
) -> None:
    """It is not asked for if it is switched off, or if no draft can begin later."""
    agent = agent_for(parameters=CoMindParameters(**parameters))
    assert PREPARE.name not in _purposes(agent.plan(_short(*_ONE_ROUND, **spec)))


def _third_draft(ran: bool | None, **parameters: Any) -> Draft:
    """Return the draft that begins after an attempt whose preparation ran, failed or was not there."""
    own = Draft(title="a", method="m", preparation="" if ran is None else "x = 1")
    outcome = scored(0.8).model_copy(update={"prepared": ran})
    state = _short(
        *_ONE_ROUND,
        *thought(1, PREPARE, {"preparation": "x = 1"}),
        *attempt(1, code().model_copy(update={"draft": own}), outcome),
        *attempt(2, code("b"), None),
    )
    planned = agent_for(parameters=CoMindParameters(**parameters)).plan(state)
    assert isinstance(planned, list)
    assert isinstance(planned[0], Code)
    return planned[0].draft


def test_later_fresh_drafts_begin_with_it() -> None:
    """One that never ran is tried, one that ran is kept, one that failed is dropped."""
    assert [_third_draft(ran).preparation for ran in (None, True, False)] == ["x = 1", "x = 1", ""]
    assert _third_draft(None, preparation=False).preparation == ""


def test_without_preparations_no_round_asks_for_one() -> None:
    """With `preparation` off the facts of an ordinary round have none."""
    state = _short(*baseline(), *thought(0, PROPOSE, {"ideas": []}), minutes=600)
    for wanted, known in ((True, ""), (False, None)):
        agent = agent_for(parameters=CoMindParameters(preparation=wanted))
        planned = agent.plan(state)
        assert isinstance(planned, list)
        assert isinstance(planned[0], Think)
        assert COORDINATE.facts_of(planned[0]).preparation == known


# --- a campaign of half an hour --------------------------------------------------------------------


def test_half_an_hour_begins_with_one_call_of_planning(tmp_path: Path) -> None:
    """One call, then attempts, which are at work while the preparation is still being written."""
    asked, being_written, beside = list[str](), threading.Event(), list[bool]()

    def said(request: ModelRequest) -> str:
        asked.append(request.reply_name)
        if request.reply_name == "Preparation":
            being_written.set()
        return json.dumps(_SAID[request.reply_name])

    def frame(_workspace: Path) -> str:
        beside.append(being_written.wait(timeout=30))
        return ""

    world = World(tmp_path, budget=_HALF_AN_HOUR, cells={FRAME: frame})
    world.model = ScriptedModel(said)
    agent = agent_for(parameters=CoMindParameters(max_empty_rounds=1), community=CommunityView())
    programs = (Program(name="forest", code="poor"),)
    dependencies = world.dependencies(baseline=lambda: programs)
    campaign = world.campaign(agent="comind", steps=3, iterations=None)
    executor = ThreadExecutor(world.folder, agent, dependencies)
    try:
        run(campaign, BaselineFirst(agent), executor, limit_reached=dependencies.ledger.limit_reached)
        state = campaign.state
    finally:
        campaign.close()
    before = asked[: asked.index("CodingStep")]
    assert [name for name in before if name != "Preparation"] == ["Drafts"]
    assert all(beside)
    order = [record.id for record in state.works][:5]
    assert order == ["attempt-000", "think-000", "attempt-001", "attempt-002", "think-001"]
    outcomes = [each.outcome for each in state.works.attempts()]
    assert all(isinstance(each, CodeOutcome) and each.score for each in outcomes)
