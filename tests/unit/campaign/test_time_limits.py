"""A campaign's time: shares of a round, the reserve for the closing phase, and late work."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.closing.finish import plan_refit
from comind.campaign.log.campaign_events import (
    CampaignEvent,
    FinalPicked,
    Ranked,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import ThinkOutcome
from comind.campaign.log.work import BASELINE_ROLE, Code, Think
from comind.domain.spend import Budget, Spend
from comind.eventlog.log import Record
from tests.unit.campaign.samples import code, opened, records, score, scored

_MINUTE = 60.0


def _state(*events: CampaignEvent, elapsed: float = 0.0, **spec: Any) -> CampaignState:
    """Return a campaign of thirty minutes after these events; the last of them at `elapsed`."""
    limits: dict[str, Any] = {
        "budget": Budget(seconds=30 * _MINUTE, closing_time_share=0.15),
        "round_share": 0.45,
        "attempt_seconds": 300 * _MINUTE,
        "cell_seconds": 300 * _MINUTE,
        "iterations": None,
        "refit": True,
    }
    history: list[Record[CampaignEvent]] = list(records(opened(**limits | spec), *events))
    state = CampaignState()
    for record in [*history[:-1], replace(history[-1], elapsed=elapsed)]:
        state = CAMPAIGN_LOG.apply(state, record)
    return state


def _attempt(number: int, *, seconds: float, steps: int = 4, code_seconds: float = 0.0) -> list[Any]:
    changes = {"steps": steps, "code_seconds": code_seconds, "spend": Spend(seconds=seconds)}
    outcome = scored(0.8).model_copy(update=changes)
    name = f"attempt-{number:03d}"
    return [WorkPlanned(id=name, work=code()), WorkFinished(id=name, outcome=outcome)]


def test_a_round_gets_its_share() -> None:
    """The first attempts get less than half of the time; if little is left, one gets the rest."""
    assert _state().work_budget().seconds == pytest.approx(13.5 * _MINUTE)
    late = _state(elapsed=15 * _MINUTE).work_budget()
    assert late.seconds == late.cell_seconds == pytest.approx(15 * _MINUTE)
    assert _state().work_budget(whole=True).seconds == 30 * _MINUTE
    assert _state(iterations=1).work_budget().seconds == 30 * _MINUTE


def test_a_round_in_waves_divides_its_share() -> None:
    """Attempts that run one after another together get what others get that run at once."""
    assert _state().work_budget(waves=2).seconds == pytest.approx(13.5 * _MINUTE / 2)
    assert _state(iterations=1).work_budget(waves=2).seconds == pytest.approx(15 * _MINUTE)
    late = _state(elapsed=20 * _MINUTE).work_budget(waves=2)
    assert late.seconds == pytest.approx(10 * _MINUTE), "less than one and a half parts"


def test_coders_that_wait_for_a_core_divide_nothing() -> None:
    """Agents that plan one program for each free slot have no waves, however many coders are set."""
    assert _state(coders=4, cores=1).work_budget().seconds == pytest.approx(13.5 * _MINUTE)


def test_time_for_the_refit_is_kept_back() -> None:
    """The running time of the best code and a margin is reserved, up to a share of the time."""
    quick = _state(*_attempt(0, seconds=100, code_seconds=10), elapsed=100)
    assert quick.closing_seconds() == 30
    assert quick.open_seconds() == 30 * _MINUTE - 130
    slow = _state(*_attempt(0, seconds=900, code_seconds=170), elapsed=900)
    assert slow.closing_seconds() == pytest.approx(0.15 * 30 * _MINUTE)
    late = _state(*_attempt(0, seconds=900, code_seconds=171), elapsed=900, blend=True)
    assert late.closing_seconds() == 15, "none for a refit that does not fit in"
    assert _state(*_attempt(0, seconds=9, code_seconds=9), refit=False).closing_seconds() == 0
    blended = _state(*_attempt(0, seconds=9, code_seconds=9), refit=False, blend=True)
    assert blended.closing_seconds() == 15, "enough to average files"


def test_time_is_kept_for_the_refit_of_two_blended_programs() -> None:
    """Where both fit in; else for one of them."""
    events = [*_attempt(0, seconds=9, code_seconds=10), *_attempt(1, seconds=9, code_seconds=20)]
    assert _state(*events, blend=True).closing_seconds() == 1.5 * (10 + 20) + 15 + 15
    assert _state(*events).closing_seconds() == 1.5 * 10 + 15, "no blend is wanted"
    slow = [*_attempt(0, seconds=9, code_seconds=10), *_attempt(1, seconds=9, code_seconds=900)]
    assert _state(*slow, blend=True).closing_seconds() == 1.5 * 10 + 15 + 15


def test_time_is_kept_for_folds_where_finalists_may_run_on_them() -> None:
    """For two scored attempts and one slot that is two runs a fold; never more than the share."""
    events = [*_attempt(0, seconds=9, code_seconds=10), *_attempt(1, seconds=9, code_seconds=10)]
    spec = {"folds": 3, "pick": "best", "coders": 1}
    refit = 1.5 * 10 + 15
    assert _state(*events, **spec).closing_seconds() == pytest.approx(refit + 3 * 2 * (1.2 * 10 + 5))
    assert _state(*events[:2], **spec).closing_seconds() == pytest.approx(refit)
    assert _state(*events, folds=3, coders=1).closing_seconds() == pytest.approx(refit), "simplest"
    auto = _state(*events, folds="auto", pick="best", coders=2)
    assert auto.closing_seconds() == pytest.approx(refit + 4 * (1.2 * 10 + 5))
    slow = [*_attempt(0, seconds=9, code_seconds=24), *_attempt(1, seconds=9, code_seconds=24)]
    assert _state(*slow, **spec).closing_seconds() == pytest.approx(51 + 3 * 2 * (1.2 * 24 + 5))
    slow = [*_attempt(0, seconds=9, code_seconds=50), *_attempt(1, seconds=9, code_seconds=50)]
    assert _state(*slow, **spec).closing_seconds() == pytest.approx(0.15 * 30 * _MINUTE)
    slow = [*_attempt(0, seconds=9, code_seconds=99), *_attempt(1, seconds=9, code_seconds=99)]
    assert _state(*slow, **spec).closing_seconds() == 1.5 * 99 + 15, "no fold fits beside the refit"


def test_open_time_is_over_before_all_is() -> None:
    """With no more time than the closing phase needs no work starts, and the refit may use all of it."""
    events = _attempt(0, seconds=100, code_seconds=20)
    state = _state(*events, elapsed=30 * _MINUTE - 40)
    assert state.exhausted() == "time limit"
    ranked = Ranked(work_id="attempt-000", score=score(0.8), code_lines=1, seconds=20)
    picked = FinalPicked(work_id="attempt-000", reason="the best", leaderboard=(ranked,))
    state = _state(*events, picked, elapsed=30 * _MINUTE - 40)
    assert state.exhausted() == "time limit", "also after the pick no attempt is begun"
    planned = plan_refit(state)
    assert isinstance(planned, Code)
    assert planned.budget.seconds == pytest.approx(40)
    late = plan_refit(_state(*events, picked, elapsed=30 * _MINUTE - 10))
    assert late == "it takes about 30 s, and 10 s are left"
    assert isinstance(plan_refit(_state(*events, picked, elapsed=30 * _MINUTE - 25)), str), "cut off"


def test_what_cannot_be_scored_is_not_begun() -> None:
    """By earlier running times, or a minute, no attempt or round starts that cannot be scored."""
    assert "about 60 s pass until" in _state(elapsed=30 * _MINUTE - 50).time.shortage(code())
    assert _state(elapsed=30 * _MINUTE - 70).time.shortage(code()) == ""
    baseline = code().model_copy(update={"role": BASELINE_ROLE})
    assert _state(elapsed=30 * _MINUTE - 1).time.shortage(baseline) == ""


_THOUGHT = Think(purpose="propose")


def _planned(*numbers: int) -> list[CampaignEvent]:
    return [WorkPlanned(id=f"think-{number:03d}", work=_THOUGHT) for number in numbers]


def _thought(*numbers: int) -> list[CampaignEvent]:
    outcome = ThinkOutcome(spend=Spend(seconds=1000))
    return [WorkFinished(id=f"think-{number:03d}", outcome=outcome) for number in numbers]


def test_a_round_needs_time_to_think_and_for_a_first_score() -> None:
    """Thoughts of earlier rounds count from plan to end, side by side once, less what is thought."""
    side_by_side = [*_planned(0, 1), *_thought(1, 0)]  # events come ten seconds apart
    known = [*side_by_side, *_planned(2), *_thought(2), *_attempt(0, seconds=200, steps=4)]
    late = 30 * _MINUTE - 120
    assert _state(*known, elapsed=late).time.shortage(code()) == ""
    assert "about 140 s pass" in _state(*known, elapsed=late).time.shortage(_THOUGHT), "a whole round"
    waited = [*known, *_planned(3), *_thought(3), *_planned(4)]
    state = _state(*waited, elapsed=30 * _MINUTE - 125)
    assert "about 130 s pass" in state.time.shortage(_THOUGHT), "the rest of a round"


def test_thoughts_that_no_attempt_waits_for_are_no_time_of_a_round() -> None:
    """What is thought beside rounds neither lengthens nor shortens what a round is expected to think."""
    known = [*_planned(0), *_thought(0), *_attempt(0, seconds=200, steps=4)]
    beside = WorkPlanned(id="think-001", work=_THOUGHT.model_copy(update={"beside": True}))
    more = [*known, beside, *_thought(1), *_attempt(1, seconds=200, steps=4)]
    late = {"elapsed": 30 * _MINUTE - 100}
    assert "about 110 s pass" in _state(*known, **late).time.shortage(_THOUGHT)
    assert "about 110 s pass" in _state(*more, **late).time.shortage(_THOUGHT)


def test_a_short_attempt_begins_where_the_best_program_fits() -> None:
    """After slow attempts the remainder is used by one that can run the best program again."""
    slow = _attempt(0, seconds=1000, steps=4, code_seconds=30)
    slow[1] = slow[1].model_copy(
        update={
            "outcome": slow[1].outcome.model_copy(
                update={"spend": Spend(seconds=1000, model_seconds=80, calls=4)}
            )
        }
    )
    short = {"refit": False, "elapsed": 30 * _MINUTE - 51}
    assert _state(*slow, **short).time.shortage(code()) == ""
    long = {"refit": False, "elapsed": 30 * _MINUTE - 49}
    assert "about 50 s pass" in _state(*slow, **long).time.shortage(code())
    without = _attempt(0, seconds=1000, steps=4, code_seconds=30)
    assert "about 180 s pass" in _state(*without, **long).time.shortage(code()), "replies unknown"


@given(elapsed=st.floats(0, 4000), took=st.floats(0, 4000), limit=st.floats(1, 3600))
def test_budgets_never_pass_what_is_left(elapsed: float, took: float, limit: float) -> None:
    """Whatever was spent, an attempt never gets more than is left beside the reserve."""
    budget = Budget(seconds=limit, closing_time_share=0.15)
    state = _state(*_attempt(0, seconds=took, code_seconds=took), elapsed=elapsed, budget=budget)
    assert 0 <= state.closing_seconds() <= 0.15 * limit + 1e-6
    assert state.work_budget().seconds <= max(1.0, state.open_seconds())
    assert state.work_budget(whole=True).seconds <= max(1.0, state.seconds_left())


def test_an_endless_campaign_begins_everything() -> None:
    """Without a time limit nothing is reserved and no work is late."""
    state = _state(*_attempt(0, seconds=5), budget=Budget())
    assert state.work_budget().seconds == 300 * _MINUTE
    assert state.time.shortage(code()) == ""
