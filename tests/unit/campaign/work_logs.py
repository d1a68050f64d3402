"""Logs of one piece of work after any kill, fault or order of events."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from comind.campaign.log.outcome import SamplePredictions, Submitted
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
    NodeLost,
    RequestFailed,
    SampleGraded,
    SessionAwaited,
    SessionOpened,
    WorkEvent,
)
from comind.domain.metric import Interval, Paired
from comind.eventlog.log import Record
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import ModelReply, Usage
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.campaign.samples import score

__all__ = ["START", "records_of", "work_events"]

START = datetime(2026, 1, 1, tzinfo=UTC)


def records_of(*events: WorkEvent) -> list[Record[WorkEvent]]:
    """Return the records of events that came a second apart."""
    return [
        Record(seq, START + timedelta(seconds=seq), float(seq), event)
        for seq, event in enumerate(events)
    ]


def _usages() -> st.SearchStrategy[Usage]:
    """Return usages whose dollars add up exactly in any order."""
    usd = st.integers(0, 40).map(lambda eighths: eighths / 8)
    tokens = st.integers(0, 1_000)
    return st.builds(Usage, prompt_tokens=tokens, completion_tokens=tokens, usd=usd)


def _replies() -> st.SearchStrategy[ModelReply]:
    return st.builds(
        ModelReply,
        text=st.just("{}"),
        model=st.just("m"),
        usage=_usages(),
        exact=st.booleans(),
        seconds=st.integers(0, 9).map(float),
    )


def _paired(difference: int) -> Paired:
    """Return a difference in standard errors."""
    around = Interval(low=difference, high=difference)
    return Paired(difference=difference, standard_error=1.0, interval=around)


def _events() -> st.SearchStrategy[WorkEvent]:
    steps, names = st.integers(1, 4), st.sampled_from(["coding_agent", "analyzer"])
    submitted = st.builds(
        Submitted, step=steps, validation_sha256=st.just("a"), test_sha256=st.just("b")
    )
    on_sample = st.builds(SamplePredictions, step=steps, sha256=st.just("a"))
    nominated = submitted | submitted.map(lambda each: each.model_copy(update={"nominated": True}))
    paired = st.builds(_paired, st.integers(-3, 3))
    report = st.builds(GradeReport, valid=st.booleans(), score=st.none() | st.floats(0, 1).map(score))
    result = st.builds(CellResult, status=st.sampled_from(CellStatus), error=st.text(max_size=5))
    verdict = st.builds(MonitorVerdict, stop=st.booleans())
    number, said, bound = st.integers(0, 9), st.just("said"), _usages()
    request = st.just("f" * 64)
    return st.one_of(
        st.builds(CallSent, ordinal=number, fingerprint=request, role=names, model=said, bound=bound),
        st.builds(RequestFailed, message=said, booked=_usages()),
        st.builds(CallAnswered, ordinal=number, reply=_replies()),
        st.builds(CallFailed, ordinal=number, message=said),
        st.builds(CellStarted, ordinal=number, step=steps, goal=said, code=said),
        st.builds(CellEnded, ordinal=number, result=result, submitted=st.none() | submitted),
        st.builds(CellEnded, ordinal=number, result=result, sample=on_sample),
        st.builds(
            MonitorAsked,
            seconds=st.just(1.0),
            evidence=st.just(()),
            fingerprint=request,
            model=said,
            bound=bound,
        ),
        st.builds(
            MonitorHeard,
            seconds=st.just(1.0),
            reply=st.none() | _replies(),
            verdict=st.none() | verdict,
            failure=st.text(max_size=5),
            lost=st.booleans(),
        ),
        st.builds(
            SampleGraded,
            ordinal=number,
            predictions=on_sample,
            report=report,
            gain=st.none() | paired,
        ),
        st.builds(
            Graded,
            ordinal=number,
            submitted=nominated,
            report=report,
            gain=st.none() | paired,
            nominee=st.none() | paired,
        ),
        st.just(SessionOpened(sandbox="process", sealed=False)),
        st.just(SessionAwaited(reason="no free worker")),
        st.just(NodeLost(node="a", message="lost")),
    )


def work_events() -> st.SearchStrategy[list[WorkEvent]]:
    """Return events in any order, without an end of the work."""
    return st.lists(_events(), max_size=30)
