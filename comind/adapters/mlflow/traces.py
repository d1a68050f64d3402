"""Build the trace of one piece of work: a span for each request to a model and for each cell.

Spans of requests hold the messages as chat completions; requests of older campaigns have only the
request's hash. A long message is whole in the first request that sent it, and shortened in later ones:
a conversation sends all its messages each time. A call that was in flight when its process was killed is
a span of its own, at the upper bound of its cost.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.messages import read_messages
from comind.campaign.log.outcome import CodeOutcome, Outcome
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_state import AttemptState, Call, CellRun
from comind.domain.spend import Spend
from comind.llm.model_ports import Message

_SHORTENED = 1_000
_NO_RESULT = "no result was recorded: the process or the attempt ended while the cell was under way"


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One request to a model, one cell, or the root."""

    name: str
    span_type: str
    """MLflow's span type."""
    start: datetime
    end: datetime
    inputs: dict[str, object]
    outputs: dict[str, object]
    error: str = ""
    attributes: dict[str, object] = field(default_factory=dict)
    model: str = ""
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """Without the spend of its children."""
    parent: int = 0
    """Number of the parent span, from 1; 0 is the root."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One piece of work; `name` identifies it within the project."""

    name: str
    tags: dict[str, str]
    spend: Spend
    """Of all calls."""
    request: str
    response: str
    root: TraceSpan
    spans: tuple[TraceSpan, ...]


def trace_work(folder: WorkFolder, work: Code | Think, state: AttemptState) -> Trace:
    """Build the trace of work that has ended."""
    campaign, work_id = folder.root.parent.name, folder.root.name
    outcome, start, end = state.outcome, state.begun, state.ended
    assert outcome is not None
    assert start is not None
    assert end is not None
    request = f"{work.operator.value}: {work.draft.title}" if isinstance(work, Code) else work.purpose
    response = _response(outcome)
    error = f"{outcome.failure.cause}: {outcome.failure.message}" if outcome.failure else ""
    root = TraceSpan(work_id, "AGENT", start, end, {"work": request}, {"result": response}, error=error)
    return Trace(
        name=f"{campaign}/{work_id}",
        tags={"comind.campaign": campaign, "comind.work": work_id},
        spend=state.spend,
        request=request,
        response=response,
        root=root,
        spans=_spans(state, _Conversation(read_messages(folder.messages))),
    )


def _response(outcome: Outcome) -> str:
    if isinstance(outcome, CodeOutcome):
        return str(outcome.score) if outcome.score else outcome.report
    return json.dumps(outcome.result.root, ensure_ascii=False)


class _Conversation:
    """Messages by id; long ones are shortened from their second use on."""

    def __init__(self, messages: Mapping[str, Message]) -> None:
        self._messages = messages
        self._shown: set[str] = set()

    def inputs(self, call: Call) -> dict[str, object]:
        """Return the messages of a request, or its hash where they are not known."""
        if not call.messages or not all(each in self._messages for each in call.messages):
            return {"role": call.role, "request": call.fingerprint}
        return {"model": call.model, "messages": [self._shown_once(each) for each in call.messages]}

    def _shown_once(self, name: str) -> dict[str, str]:
        message = self._messages[name]
        content = message.content
        if name in self._shown and len(content) > _SHORTENED:
            rest = len(content) - _SHORTENED
            content = f"{content[:_SHORTENED]} [... {rest:,} more characters, as in a request before]"
        self._shown.add(name)
        return {"role": message.role, "content": content}


def _spans(state: AttemptState, conversation: _Conversation) -> tuple[TraceSpan, ...]:
    """Return all requests and cells by start time; requests about a cell are its children."""
    requests: dict[int | None, list[TraceSpan]] = {}
    for call in state.calls:
        requests.setdefault(call.cell, []).extend(_requests(call, conversation.inputs(call)))
    outer: list[tuple[TraceSpan, list[TraceSpan]]] = [(span, []) for span in requests.get(None, [])]
    for cell in state.cells:
        inside = requests.get(cell.number, [])
        outer.append((_cell(cell, inside), inside))
    found: list[TraceSpan] = []
    for span, inside in sorted(outer, key=lambda each: each[0].start):
        found.append(span)
        found += [replace(each, parent=len(found)) for each in inside]
    return tuple(found)


def _requests(call: Call, inputs: dict[str, object]) -> Iterator[TraceSpan]:
    """Yield a span for each request of a call: failed ones first, then the last one."""
    span = TraceSpan(
        name=call.role,
        span_type="CHAT_MODEL" if call.cell is None else "LLM",
        start=call.sent,
        end=call.sent,
        inputs=inputs,
        outputs={},
        attributes={} if call.ordinal is None else {"comind.ordinal": call.ordinal},
        model=call.model,
    )
    for failed in call.failed_requests:
        yield replace(span, end=failed.at, error=failed.message, spend=failed.spend)
        span = replace(span, start=failed.at)
    assert call.ended is not None, "with its work, every call has ended"
    span = replace(span, end=call.ended, error=call.failure, spend=call.last_charge)
    if call.reply is not None:
        more = {"comind.finish": call.reply.finish, "comind.form": call.reply.form}
        answer = {"role": "assistant", "content": call.reply.text}
        outputs: dict[str, object] = {
            "choices": [{"index": 0, "message": answer, "finish_reason": call.reply.finish}]
        }
        span = replace(span, outputs=outputs, attributes=span.attributes | more)
    yield span


def _cell(cell: CellRun, inside: list[TraceSpan]) -> TraceSpan:
    result = cell.result
    return TraceSpan(
        name=f"step {cell.step}",
        span_type="TOOL",
        start=cell.started,
        end=max([cell.ended or cell.started, *(span.end for span in inside)]),
        inputs={"goal": cell.goal, "code": cell.code},
        outputs={"output": result.output if result else ""},
        error=result.error if result else _NO_RESULT,
        attributes={
            "comind.ordinal": cell.ordinal,
            "comind.status": result.status.value if result else "cut-off",
        },
    )
