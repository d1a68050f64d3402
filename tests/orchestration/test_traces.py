"""The trace of one piece of work is built from its log, with any sequence of events."""

from datetime import timedelta
from pathlib import Path

from hypothesis import given

from comind.adapters.mlflow.traces import Trace, trace_work
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.messages import MessageStore
from comind.campaign.log.outcome import Failure, FailureCause, ThinkOutcome
from comind.campaign.log.work import Think
from comind.campaign.log.work_events import (
    CallAnswered,
    CallFailed,
    CallSent,
    CellEnded,
    CellStarted,
    MonitorAsked,
    MonitorHeard,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG
from comind.domain.spend import Spend
from comind.llm.model_ports import Message, ModelReply, Usage
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.campaign.work_logs import START, records_of, work_events

_YES = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
_SAID_YES = {"choices": [_YES]}


def _sent(ordinal: int, *messages: str) -> CallSent:
    bound = Usage(prompt_tokens=50, completion_tokens=100, usd=0.5)
    return CallSent(
        ordinal=ordinal,
        fingerprint="f" * 64,
        role="idea_proposer",
        model="small",
        bound=bound,
        messages=messages,
    )


def _answered(ordinal: int) -> CallAnswered:
    usage = Usage(prompt_tokens=10, completion_tokens=5, usd=0.01)
    return CallAnswered(ordinal=ordinal, reply=ModelReply(text="yes", model="small", usage=usage))


def _trace(*events: WorkEvent) -> Trace:
    folder = WorkFolder(Path("runs/campaign/think-000"))
    return trace_work(folder, Think(purpose="ideation"), WORK_LOG.fold(records_of(*events)))


def test_a_failed_call_is_told() -> None:
    """A failed request is a span with its error message, before the span of the answered call."""
    failed = CallFailed(ordinal=0, message="the endpoint refuses")
    ended = WorkEnded(outcome=ThinkOutcome(result={"ideas": ["one"]}))
    trace = _trace(_sent(0), failed, _sent(0), _answered(0), ended)
    assert [(span.error, span.outputs) for span in trace.spans] == [
        ("the endpoint refuses", {}),
        ("", _SAID_YES),
    ]
    assert trace.spans[1].start == START + timedelta(seconds=2)
    assert trace.spans[1].end == START + timedelta(seconds=3)
    assert (trace.spend.prompt_tokens, trace.spend.completion_tokens, trace.spend.usd) == (10, 5, 0.01)
    assert (trace.request, trace.response, trace.root.error) == ("ideation", '{"ideas": ["one"]}', "")


def test_a_long_message_is_whole_in_its_first_request_alone(tmp_path: Path) -> None:
    """Requests hold their messages as chat completions do; without the file, the request's hash."""
    folder = WorkFolder(tmp_path / "campaign" / "think-000")
    system, user = Message(role="system", content="s" * 1_100), Message(role="user", content="short")
    ids = MessageStore(folder.messages).keep([system, user])
    ended = WorkEnded(outcome=ThinkOutcome())
    sent = [_sent(0, *ids), _answered(0), _sent(1, *ids), _answered(1), ended]
    state = WORK_LOG.fold(records_of(*sent))
    first, second = trace_work(folder, Think(purpose="ideation"), state).spans
    assert first.inputs == {
        "model": "small",
        "messages": [each.model_dump() for each in (system, user)],
    }
    note = " [... 100 more characters, as in a request before]"
    assert second.inputs["messages"] == [
        {"role": "system", "content": "s" * 1_000 + note},
        user.model_dump(),
    ]
    assert _trace(*sent).spans[0].inputs == {"role": "idea_proposer", "request": "f" * 64}


def test_a_call_in_flight_at_a_kill_counts_at_its_upper_bound() -> None:
    """A call in flight when the process was killed counts at its upper bound, as in the budget."""
    trace = _trace(_sent(0), _sent(0), _answered(0), WorkEnded(outcome=ThinkOutcome()))
    assert trace.spans[0].error.startswith("no reply was recorded")
    assert (trace.spend.prompt_tokens, trace.spend.usd) == (60, 0.51)


@given(work_events())
def test_the_spans_cost_what_the_work_cost(events: list[WorkEvent]) -> None:
    """Whatever events happen in any order, the spans of a trace sum up to the spend of its work."""
    trace = _trace(*events, WorkEnded(outcome=ThinkOutcome()))
    spend = trace.spend.model_copy(update={"seconds": 0.0})
    assert sum((span.spend for span in trace.spans), Spend()) == spend
    for span in trace.spans:
        outer = trace.spans[span.parent - 1] if span.parent else trace.root
        assert outer.start <= span.start <= span.end <= outer.end


def test_questions_lie_in_their_cell() -> None:
    """The monitor's requests are child spans of their cell, also of one that was cut off."""
    started = CellStarted(ordinal=1, step=1, goal="Fit.", code="fit()")
    bound = Usage(prompt_tokens=50, usd=0.5)
    asked = MonitorAsked(seconds=20, evidence=(), fingerprint="e", model="small", bound=bound)
    heard = MonitorHeard(seconds=21, reply=_answered(0).reply, failure="it was not printed")
    result = CellResult(status=CellStatus.TIMEOUT, output="loss", error="out of time")
    ended = CellEnded(ordinal=1, result=result)
    last = WorkEnded(outcome=ThinkOutcome())
    trace = _trace(_sent(0), _answered(0), started, asked, started, asked, heard, ended, last)
    assert [(span.name, span.span_type, span.parent) for span in trace.spans] == [
        ("idea_proposer", "CHAT_MODEL", 0),
        ("step 1", "TOOL", 0),
        ("monitor", "LLM", 2),
        ("step 1", "TOOL", 0),
        ("monitor", "LLM", 4),
    ]
    _, cut_off, lost, whole, question = trace.spans
    assert cut_off.error.startswith("no result was recorded")
    assert lost.error.startswith("no reply was recorded")
    assert (whole.error, whole.outputs) == ("out of time", {"output": "loss"})
    assert (question.error, question.outputs) == ("it was not printed", _SAID_YES)


def test_failed_work_is_told_with_its_reason() -> None:
    """The trace's error names the kind of failure."""
    failure = Failure(cause=FailureCause.REPLY, message="no idea in it")
    trace = _trace(WorkEnded(outcome=ThinkOutcome(failure=failure)))
    assert trace.root.error == "reply: no idea in it"
    assert trace.spans == ()
