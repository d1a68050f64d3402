"""Folding a work's log to calls, cells and spend holds its invariants after any event."""

from datetime import timedelta
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.outcome import CodeOutcome, Submitted
from comind.campaign.log.work_events import (
    CallAnswered,
    CallFailed,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    MonitorAsked,
    MonitorHeard,
    MonitorVerdict,
    RequestFailed,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.reports.call_costs import calls_csv, spend_by_role
from comind.domain.metric import Interval, Paired
from comind.domain.spend import Spend
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import ModelReply, Usage
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.campaign.samples import owed_by_calls, score
from tests.unit.campaign.work_logs import START, records_of, work_events

_BOUND = Usage(prompt_tokens=200, completion_tokens=100, usd=0.5)
_REPLY = ModelReply(text="yes", model="m", usage=Usage(prompt_tokens=20, usd=0.25), seconds=3)
_SENT = CallSent(ordinal=0, fingerprint="f" * 64, role="coding_agent", model="m", bound=_BOUND)
_ANSWERED = CallAnswered(ordinal=0, reply=_REPLY)
_STARTED = CellStarted(ordinal=1, step=1, goal="Fit.", code="fit()")
_ENDED = CellEnded(ordinal=1, result=CellResult(status=CellStatus.OK))
_ASKED = MonitorAsked(seconds=20, evidence=(), fingerprint="e" * 64, model="small", bound=_BOUND)
_LOST = Spend(
    prompt_tokens=200,
    completion_tokens=100,
    usd=0.5,
    calls=1,
    lost_calls=1,
    bound_tokens=300,
    bound_usd=0.5,
)


def _state(*events: WorkEvent) -> AttemptState:
    return WORK_LOG.fold(records_of(*events))


def _timeless(spend: Spend) -> Spend:
    return spend.model_copy(update={"seconds": 0.0})


@given(work_events())
def test_calls_add_up_to_the_spend(events: list[WorkEvent]) -> None:
    """In any order of events, the sum over calls equals the spend, and what is owed."""
    state = AttemptState()
    for record in records_of(*events):
        state = WORK_LOG.apply(state, record)
        assert sum((call.spend for call in state.calls), Spend()) == _timeless(state.spend)
        assert owed_by_calls(state) == _timeless(state.owed)
    ended = WORK_LOG.apply(state, records_of(WorkEnded(outcome=CodeOutcome()))[0])
    assert _timeless(ended.spend) == _timeless(state.owed), "what is open at the end is lost"
    assert ended.open_call is None
    assert sum(spend_by_role(ended.calls).values(), Spend()) == _timeless(ended.spend)
    assert calls_csv({"attempt-000": ended.calls}).count("\n") == len(ended.calls) + 1


@given(work_events(), st.integers(0, 30))
def test_a_log_is_read_on_from_any_record(events: list[WorkEvent], cut: int) -> None:
    """Folding a prefix, then the rest, equals folding the whole; the first state is not mutated."""
    records = records_of(*events)
    before = WORK_LOG.fold(records[:cut])
    calls, cells = tuple(before.calls), tuple(before.cells)
    assert reduce(WORK_LOG.apply, records[cut:], before) == WORK_LOG.fold(records)
    assert (tuple(before.calls), tuple(before.cells)) == (calls, cells)


@given(work_events())
def test_only_the_last_call_is_open(events: list[WorkEvent]) -> None:
    """Calls and cells are numbered in order, and monitor calls refer to running cells."""
    state = _state(*events)
    calls, cells = list(state.calls), list(state.cells)
    assert [call.number for call in calls] == list(range(len(calls)))
    assert [cell.number for cell in cells] == list(range(len(cells)))
    assert all(call.ended is not None and call.ended >= call.sent for call in calls[:-1])
    for call in calls:
        assert (call.ordinal is None) == (call.role == "monitor")
        if call.cell is not None:
            assert cells[call.cell].started < call.sent


@given(work_events())
def test_without_a_nomination_the_best_score_is_the_pick(events: list[WorkEvent]) -> None:
    """The first step with the best score is the attempt's best, whatever else is logged."""
    graded = [event for event in events if isinstance(event, Graded)]
    graded = [each for each in graded if each.report.score and not each.submitted.nominated]
    state = _state(*graded)
    ahead: Graded | None = None
    for each in graded:
        before = ahead.report.score.value if ahead and ahead.report.score else None
        if each.report.score and each.report.score.value.better_than(before):
            ahead = each
    assert (state.best, state.best_score) == (state.leader, state.leader_score)
    assert state.best == (ahead.submitted if ahead else None)
    assert not state.nominated


@given(work_events())
def test_a_pick_that_is_not_the_best_score_was_nominated(events: list[WorkEvent]) -> None:
    """Only a nominated step that ties with the leader is picked over it."""
    state = AttemptState()
    for event in events:
        if isinstance(event, Graded) and event.report.score is None:
            continue  # a refit's
        before, state = state, WORK_LOG.apply(state, records_of(event)[0])
        assert (state.best is None) == (state.leader is None)
        if state.best != state.leader:
            assert state.best is not None
            assert state.best.nominated
        if state.best == before.best or not isinstance(event, Graded):
            continue
        assert state.best == event.submitted
        if state.best != state.leader:
            assert event.gain is not None
            assert event.gain.tie


_A, _B, _C = (
    Submitted(step=step, validation_sha256=str(step), test_sha256="t", nominated=step == 2)
    for step in (1, 2, 3)
)


@pytest.mark.parametrize(
    ("gain", "later", "nominee", "picked"),
    [
        (-0.5, None, None, _B),
        (-1.5, None, None, _A),
        (-0.5, 0.7, None, _B),
        (-0.5, 0.95, -0.9, _B),
        (-0.5, 0.95, -1.1, _C),
        (-1.5, 0.95, None, _C),
        (0.5, 0.95, None, _C),
    ],
    ids=[
        "a tie",
        "clearly worse",
        "a tie, then worse",
        "a tie with a better one",
        "no tie with a better one",
        "clearly worse, then better",
        "nothing is known of a better one",
    ],
)
def test_a_nomination_decides_a_tie(
    gain: float, later: float | None, nominee: float | None, picked: Submitted
) -> None:
    """A nominated step is the pick while it is within one standard error of the best score."""
    value = 0.9 if gain < 0 else 0.92
    events = [
        Graded(ordinal=0, submitted=_A, report=_report(0.91)),
        Graded(ordinal=1, submitted=_B, report=_report(value), gain=_apart(gain)),
    ]
    if later is not None:
        behind = _apart(nominee) if nominee is not None else None
        events.append(
            Graded(ordinal=2, submitted=_C, report=_report(later), gain=_apart(3), nominee=behind)
        )
    assert _state(*events).best == picked


def _report(value: float) -> GradeReport:
    return GradeReport(valid=True, score=score(value))


def _apart(difference: float) -> Paired:
    """Return a difference in standard errors."""
    around = Interval(low=difference, high=difference)
    return Paired(difference=difference, standard_error=1.0, interval=around)


def test_a_call_has_the_time_and_charge_of_each_retry() -> None:
    """Each failed request keeps its time, message and charge; the reply settles the rest."""
    busy = RequestFailed(message="busy", booked=Usage())
    broken = RequestFailed(message="broken off", booked=_BOUND)
    (call,) = _state(_SENT, busy, broken, _ANSWERED).calls
    assert [(each.at, each.message) for each in call.failed_requests] == [
        (START + timedelta(seconds=1), "busy"),
        (START + timedelta(seconds=2), "broken off"),
    ]
    assert (call.sent, call.ended) == (START, START + timedelta(seconds=3))
    assert call.reply == _REPLY
    assert (call.spend.calls, call.spend.retries, call.spend.lost_calls) == (1, 2, 0)
    assert (call.spend.tokens, call.spend.bound_tokens) == (320, 300)
    assert (call.spend.usd, call.spend.bound_usd, call.spend.model_seconds) == (0.75, 0.5, 3)


def test_a_call_that_was_under_way_is_lost() -> None:
    """A call without an end is lost once another event follows, dated to its last request."""
    state = _state(_SENT, RequestFailed(message="busy", booked=Usage()), _SENT, _ANSWERED)
    lost, answered = state.calls
    assert lost.lost
    assert lost.failure.startswith("no reply was recorded")
    assert lost.ended == START + timedelta(seconds=1)
    assert lost.spend == _LOST + Spend(retries=1)
    assert (answered.lost, answered.spend.calls) == (False, 1)


def test_a_refused_call_costs_nothing_and_may_be_retried() -> None:
    """A refusal is recorded without a charge, and the call may be repeated."""
    state = _state(_SENT, CallFailed(ordinal=0, message="refused"))
    (call,) = state.calls
    assert (call.failure, call.spend) == ("refused", Spend())
    assert _timeless(state.owed) == Spend()


def test_a_question_knows_its_cell() -> None:
    """The monitor's calls have the number of their cell run, and the verdict."""
    verdict = MonitorVerdict(stop=True, quote="loss: 9e9", reason="It explodes.")
    events = (
        *(_STARTED, _ASKED),  # killed in between
        *(_STARTED, _ASKED, MonitorHeard(seconds=21, reply=_REPLY, verdict=verdict, accepted=True)),
        *(_ASKED, MonitorHeard(seconds=40, failure="too late", lost=True), _ENDED, _SENT),
    )
    state = _state(*events)
    first, second, third, sent = state.calls
    assert [call.role for call in state.calls] == ["monitor"] * 3 + ["coding_agent"]
    assert [call.cell for call in state.calls] == [0, 1, 1, None]
    assert (first.spend, first.lost) == (_LOST, True)
    assert (second.verdict, second.spend.usd) == (verdict, 0.25)
    assert (third.spend, third.failure) == (_LOST, "too late")
    assert state.open_call == sent


def test_a_cell_that_was_cut_off_has_another_run() -> None:
    """Each run of a cell is kept; submission and grade belong to the one that ended."""
    submitted = Submitted(step=1, validation_sha256="a", test_sha256="b")
    ended = _ENDED.model_copy(update={"submitted": submitted})
    report = GradeReport(valid=True, score=score(0.5))
    state = _state(_STARTED, _STARTED, ended, Graded(ordinal=2, submitted=submitted, report=report))
    cut_off, whole = state.cells
    assert (cut_off.step, cut_off.result, cut_off.ended) == (1, None, None)
    assert (whole.step, whole.result, whole.submitted) == (1, _ENDED.result, submitted)
    assert (whole.report, state.last_report) == (report, report)
    assert (state.best, state.best_score, state.steps) == (submitted, report.score, 1)


def test_the_last_error_is_that_of_the_last_cell_that_ended() -> None:
    """A running cell does not hide the last error; a later success does."""
    failed = CellEnded(ordinal=1, result=CellResult(status=CellStatus.ERROR, error="KeyError: 'x'"))
    state = _state(_STARTED, failed, _STARTED)
    assert state.last_error == "KeyError: 'x'"
    assert WORK_LOG.apply(state, records_of(_ENDED)[0]).last_error == ""
