"""A log of one piece of work tells its trace, whatever happened in it."""

from datetime import UTC, datetime, timedelta

from comind.campaign.attempt import CallAnswered, CallFailed, CallSent, WorkEnded, WorkEvent
from comind.campaign.outcome import Failure, FailureKind, ThinkOutcome
from comind.campaign.plan import Think
from comind.eventlog.log import Record
from comind.llm.base import ModelReply, Usage
from tasks.tracking.traces import Trace, TraceBook

_START = datetime(2026, 11, 21, 8, tzinfo=UTC)


def _sent(ordinal: int) -> CallSent:
    bound = Usage(prompt_tokens=50, completion_tokens=100, usd=0.5)
    return CallSent(
        ordinal=ordinal, fingerprint="f" * 64, role="idea_proposer", model="small", bound=bound
    )


def _answered(ordinal: int) -> CallAnswered:
    usage = Usage(prompt_tokens=10, completion_tokens=5, usd=0.01)
    return CallAnswered(ordinal=ordinal, reply=ModelReply(text="yes", model="small", usage=usage))


def _trace(*events: WorkEvent) -> Trace:
    book = TraceBook("campaign", "think-000", Think(purpose="ideation"))
    told = [
        book.read(Record(seq, _START + timedelta(seconds=seq), float(seq), event))
        for seq, event in enumerate(events)
    ]
    assert told[:-1] == [None] * (len(events) - 1), "a trace is told once, at the end"
    assert told[-1] is not None
    return told[-1]


def test_a_failed_call_is_told() -> None:
    """An endpoint that refused leaves a part with its message, beside the call that was answered."""
    failed = CallFailed(ordinal=0, message="the endpoint refuses")
    ended = WorkEnded(outcome=ThinkOutcome(result={"ideas": ["one"]}))
    trace = _trace(_sent(0), failed, _sent(0), _answered(0), ended)
    assert [(part.error, part.outputs["reply"]) for part in trace.parts] == [
        ("the endpoint refuses", ""),
        ("", "yes"),
    ]
    assert trace.parts[1].begun == _START + timedelta(seconds=2)
    assert trace.parts[1].ended == _START + timedelta(seconds=3)
    assert (trace.prompt_tokens, trace.completion_tokens, trace.usd) == (10, 5, 0.01)
    assert (trace.asked, trace.said, trace.error) == ("ideation", '{"ideas": ["one"]}', "")


def test_a_call_that_was_lost_is_told() -> None:
    """A call that was under way when the process was killed counts at its bound, as in the budget."""
    trace = _trace(_sent(0), _sent(0), _answered(0), WorkEnded(outcome=ThinkOutcome()))
    assert trace.parts[0].error.startswith("no reply was recorded")
    assert (trace.prompt_tokens, trace.usd) == (60, 0.51)


def test_failed_work_is_told_with_its_reason() -> None:
    """The trace's error names the kind of failure."""
    failure = Failure(kind=FailureKind.REPLY, message="no idea in it")
    trace = _trace(WorkEnded(outcome=ThinkOutcome(failure=failure)))
    assert trace.error == "reply: no idea in it"
    assert trace.parts == ()
