"""What a round is for, what is worth extending, and how long attempts are, by the campaign's state."""

from typing import Any

import pytest

from comind.agents.comind.gains import difference_error
from comind.agents.comind.idea_proposer import proposing_facts
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import pool_of
from comind.agents.comind.search_phase import (
    Phase,
    asked_drafts,
    attempt_budget,
    is_stalled,
    leaders,
    phase_of,
    ranked_starts,
)
from comind.agents.comind.thoughts import COORDINATE, Drafting
from comind.campaign.log.campaign_events import CampaignEvent, ErrorsCompared, WorkPlanned
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code, Reference, Think
from comind.domain.draft import Draft
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.domain.spend import Budget, Spend
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import attempt, baseline, drafting, state_of, thought
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import code, scored

_WIDTH = 0.0196  # of an interval whose standard error is 0.005


def _score(value: float, rows: int = 100) -> ValidationScore:
    interval = Interval(low=value - _WIDTH / 2, high=value + _WIDTH / 2)
    measured = MetricValue(value=value, maximize=True)
    return ValidationScore(metric="accuracy", value=measured, interval=interval, rows=rows)


def _tried(
    number: int, value: float, *, minutes: float = 10, parent: int | None = None, **outcome: Any
) -> list[CampaignEvent]:
    """Return an ended attempt with a score, which took some minutes and may extend another."""
    base = {"codebase": "x = 1", "codebase_seconds": 1.0} if parent is not None else {}
    draft = Draft.model_validate({"title": f"title {number}", "method": "m", **base})
    parents = () if parent is None else (f"attempt-{parent:03d}",)
    work = code().model_copy(update={"draft": draft, "parents": parents})
    values = {"score": _score(value), "code": f"x = {number}", "spend": Spend(seconds=60 * minutes)}
    return attempt(number, work, scored(value).model_copy(update=values | outcome))


def _state(*events: CampaignEvent, seconds: float = 3_600, **spec: Any) -> CampaignState:
    first = scored(0.70).model_copy(update={"score": _score(0.70)})
    values = {"iterations": None, "budget": Budget(seconds=seconds), **spec}
    return state_of(*baseline(first), *events, **values)


# --- phases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "phase"), [(61, Phase.EXPLORE), (50, Phase.IMPROVE), (30, Phase.COMBINE)]
)
def test_phases_follow_the_share_of_time(seconds: float, phase: Phase) -> None:
    """Twenty seconds are less than a third, less than two thirds, and two thirds of the time."""
    assert phase_of(_state(seconds=seconds), rounds=0) is phase


@pytest.mark.parametrize(
    ("rounds", "phase"), [(0, Phase.EXPLORE), (1, Phase.IMPROVE), (2, Phase.COMBINE)]
)
def test_phases_follow_the_share_of_rounds(rounds: int, phase: Phase) -> None:
    """With three rounds the first explores, the second improves, the last combines."""
    assert phase_of(_state(iterations=3), rounds) is phase


def test_without_limits_the_first_round_explores() -> None:
    """With neither time nor rounds given, later rounds improve."""
    state = state_of(*baseline(), iterations=None, budget=Budget())
    assert [phase_of(state, rounds) for rounds in (0, 1, 9)] == [
        Phase.EXPLORE,
        Phase.IMPROVE,
        Phase.IMPROVE,
    ]


@pytest.mark.parametrize(("last", "stalled"), [(0.803, True), (0.79, True), (0.81, False)])
def test_gains_within_their_noise_are_a_stall(last: float, stalled: bool) -> None:
    """The best of the latest two is compared with the best before, by the error of the difference."""
    state = _state(*_tried(1, 0.80), *_tried(2, 0.78), *_tried(3, last))
    assert is_stalled(state) == stalled
    assert phase_of(state, 0) is (Phase.STALLED if stalled else Phase.EXPLORE)


def test_first_attempts_are_no_stall() -> None:
    """Attempts that do not reach the platform's baseline are no reason to leave the region."""
    assert not is_stalled(_state(*_tried(1, 0.6), *_tried(2, 0.6)))


def test_errors_that_go_together_make_a_difference_more_certain() -> None:
    """Its standard error falls with the correlation, which a comparison of errors measures."""
    one, other = _score(0.8), _score(0.803)
    assert [round(difference_error(one, other, r), 4) for r in (0, 0.8, 1)] == [0.0071, 0.0032, 0.0]
    events = [*_tried(1, 0.80), *_tried(2, 0.78), *_tried(3, 0.803)]
    names = ("attempt-003", "attempt-001")
    compared = ErrorsCompared(attempts=names, correlations=((), (0.95,)))
    assert is_stalled(_state(*events))
    assert not is_stalled(_state(*events, compared))


def test_a_comparison_row_by_row_is_what_counts() -> None:
    """Where an attempt was compared with the best before it, that difference and its error decide."""
    events = [*_tried(1, 0.80), *_tried(2, 0.78), *_tried(3, 0.803)]
    paired = Paired(difference=0.003, standard_error=0.001, interval=Interval(low=0.001, high=0.005))
    planned, ended = _tried(3, 0.803, gain=paired)
    assert isinstance(planned, WorkPlanned)
    work = planned.work.model_copy(update={"reference": Reference(attempt="attempt-001", step=1)})
    assert is_stalled(_state(*events))
    assert not is_stalled(_state(*events[:-2], planned.model_copy(update={"work": work}), ended))


# --- what is asked for -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "asked"),
    [
        (Phase.EXPLORE, ["baseline", "novel", "extend"]),
        (Phase.IMPROVE, ["extend", "novel", "baseline"]),
        (Phase.STALLED, ["novel", "extend"]),
        (Phase.COMBINE, ["extend of a", "extend of b", "ensemble"]),
    ],
)
def test_each_phase_asks_for_its_drafts(phase: Phase, asked: list[str]) -> None:
    """The last third asks for no baseline, but for extensions of the two best and a combination."""
    found = asked_drafts(phase, ["a", "c"], ["a", "b"], combines=True)
    assert [str(each) for each in found] == asked


def test_what_cannot_be_is_not_asked_for() -> None:
    """Without a solution nothing can be extended, and without a pair to combine no ensemble is made."""
    assert [str(each) for each in asked_drafts(Phase.EXPLORE, [], [], combines=False)] == [
        "baseline",
        "novel",
    ]
    found = asked_drafts(Phase.COMBINE, ["a"], ["a"], combines=False)
    assert [str(each) for each in found] == ["extend of a"]


def _facts(state: CampaignState) -> Drafting:
    return COORDINATE.facts_of(drafting(state, VIEW))


def test_the_last_third_extends_the_two_best() -> None:
    """Facts of a late round name them; those of an early one ask for a baseline."""
    events = [*_tried(1, 0.80), *_tried(2, 0.82), *_tried(3, 0.81)]
    late = _facts(_state(*events, seconds=70))
    assert [str(each) for each in late.asked] == ["extend of attempt-002", "extend of attempt-003"]
    assert late.phase == "combine"
    assert "baseline" in [each.name for each in _facts(_state(*events)).asked]


# --- what is worth extending -----------------------------------------------------------------------


def test_what_gains_more_a_minute_is_extended_first() -> None:
    """Of two equal solutions the one that took less time comes first, and its words say why."""
    state = _state(*_tried(1, 0.80, minutes=20), *_tried(2, 0.80, minutes=5))
    first, second = ranked_starts(state)
    assert [first.attempt.id, second.attempt.id] == ["attempt-002", "attempt-001"]
    assert str(first).startswith("gained 0.1 (")
    assert "standard errors) over attempt-000 in 5 min; extending it is expected to gain" in str(first)
    facts = _facts(state)
    assert facts.extend == ("attempt-002", "attempt-001")
    assert {each.id: each.gain for each in facts.solutions}["attempt-002"] == str(first)


def test_a_lineage_without_gains_falls_behind() -> None:
    """Attempts that extended a solution in vain count against extending it again."""
    events = [*_tried(1, 0.80), *_tried(2, 0.80)]
    assert ranked_starts(_state(*events))[0].attempt.id == "attempt-001"
    vain = _tried(3, 0.74, parent=1)
    assert ranked_starts(_state(*events, *vain))[0].attempt.id == "attempt-002"


def test_what_is_far_behind_is_not_extended() -> None:
    """A fast solution with a deficit that half its rate cannot make up comes after the best."""
    state = _state(*_tried(1, 0.72, minutes=1), *_tried(2, 0.90, minutes=30))
    assert [each.attempt.id for each in ranked_starts(state)] == ["attempt-002", "attempt-001"]


def test_the_platforms_baseline_is_extended_if_there_is_nothing_else() -> None:
    """It is a start only until an attempt of the agent has a score."""
    assert [each.attempt.id for each in ranked_starts(_state())] == ["attempt-000"]
    assert [each.attempt.id for each in ranked_starts(_state(*_tried(1, 0.6)))] == ["attempt-001"]


def test_out_of_fold_scores_count_by_their_rows() -> None:
    """Leaders are those of all rows where each solution has out-of-fold scores, else of validation."""
    values = [(1, 0.82, 0.79), (2, 0.81, 0.80), (3, 0.80, 0.81)]
    with_both = [e for n, v, o in values for e in _tried(n, v, out_of_fold=_score(o, rows=700))]
    assert leaders(_state(*with_both)) == ["attempt-003", "attempt-002"]
    assert leaders(_state(*with_both, *_tried(4, 0.1))) == ["attempt-001", "attempt-002"]


# --- how long attempts are -------------------------------------------------------------------------


def test_stalled_attempts_get_half_the_time() -> None:
    """Not below five minutes, nor what a program needs that is run first, nor more than the whole."""
    state = _state(attempt_seconds=1_200.0, round_share=1.0)
    slow = Draft(title="t", method="m", codebase="x", codebase_seconds=200.0)
    whole = attempt_budget(state, Phase.IMPROVE).seconds
    assert whole == 1_200
    assert attempt_budget(state, Phase.STALLED).seconds == 600
    assert attempt_budget(state, Phase.STALLED, slow).seconds == 800
    short = _state(attempt_seconds=240.0)
    assert attempt_budget(short, Phase.STALLED).seconds == 240


def test_drafts_of_a_round_divide_its_time() -> None:
    """Four drafts on one core have a quarter of what they have on four, in prompts as in attempts."""
    for cores, seconds in ((4, 1_620), (1, 405)):
        long = {"attempt_seconds": 3_600.0, "round_share": 0.45}
        state = _state(*_tried(1, 0.8), coders=4, cores=cores, **long)
        assert attempt_budget(state, Phase.IMPROVE).seconds == pytest.approx(seconds)
        minutes = proposing_facts(state, pool_of(state)).minutes
        assert minutes == pytest.approx(seconds / 60, abs=0.06)


def test_the_phase_of_the_round_decides() -> None:
    """Its facts have the shorter time, the prompt's words follow it, and so do its attempts."""
    drafts = {"drafts": [{"title": "wild", "method": "m"}]}
    for phase, seconds in (("stalled", 600), ("improve", 1_200)):
        events = thought(0, COORDINATE, drafts, phase=phase)
        agent = agent_for(parameters=CoMindParameters(preparation=False))
        planned = agent.plan(_state(*events, attempt_seconds=1_200.0, round_share=1.0))
        assert isinstance(planned, list)
        [work] = planned
        assert isinstance(work, Code)
        assert work.budget.seconds == seconds
    stalled = _state(
        *_tried(1, 0.8), *_tried(2, 0.8), *_tried(3, 0.8), attempt_seconds=1_200.0, round_share=1.0
    )
    assert (_facts(stalled).phase, _facts(stalled).minutes) == ("stalled", 10.0)


def test_outcomes_without_a_score_are_no_starts() -> None:
    """A failed attempt is neither extended nor counted as a gain of none."""
    failed = attempt(2, code("broken"), CodeOutcome(spend=Spend(seconds=60)))
    state = _state(*_tried(1, 0.8), *failed)
    assert [each.attempt.id for each in ranked_starts(state)] == ["attempt-001"]
    planned = agent_for(parameters=CoMindParameters()).plan(state)
    assert isinstance(planned, list)
    assert isinstance(planned[0], Think)
