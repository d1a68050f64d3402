"""One piece of work as a trace: every try of a model call, every cell, and the questions about it.

Prompts are not in it: a log holds the hash of a request, and the reply word for word. A call that was
under way when its process was killed is a part of its own, at the most it can have cost.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from comind.campaign.folder import WorkFolder
from comind.campaign.history import AttemptState, Call, CellRun
from comind.campaign.outcome import CodeOutcome, Outcome
from comind.campaign.plan import Code, Think
from comind.domain.spend import Spend

__all__ = ["Part", "Trace", "trace_work"]

_CUT_OFF = "no result was recorded: the process or the attempt ended while the cell was under way"


@dataclass(frozen=True, slots=True)
class Part:
    """One try of a model call, one cell, or the whole."""

    name: str
    kind: str
    begun: datetime
    ended: datetime
    inputs: dict[str, object]
    outputs: dict[str, object]
    error: str = ""
    facts: dict[str, object] = field(default_factory=dict)
    model: str = ""
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """What it is booked at, without the parts that lie in it."""
    above: int = 0
    """Number of the part that it lies in, from 1; 0 is the whole."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One piece of work; `name` identifies it within the project."""

    name: str
    tags: dict[str, str]
    spend: Spend
    """Of all calls."""
    asked: str
    said: str
    whole: Part
    """What all other parts lie in."""
    parts: tuple[Part, ...]


def trace_work(folder: WorkFolder, work: Code | Think, state: AttemptState) -> Trace:
    """Return the trace of work that has ended."""
    campaign, work_id = folder.root.parent.name, folder.root.name
    outcome, begun, ended = state.outcome, state.begun, state.ended
    assert outcome is not None
    assert begun is not None
    assert ended is not None
    asked = f"{work.operator.value}: {work.draft.title}" if isinstance(work, Code) else work.purpose
    said = _said(outcome)
    error = f"{outcome.failure.kind}: {outcome.failure.message}" if outcome.failure else ""
    return Trace(
        name=f"{campaign}/{work_id}",
        tags={"comind.campaign": campaign, "comind.work": work_id},
        spend=state.spend,
        asked=asked,
        said=said,
        whole=Part(work_id, "AGENT", begun, ended, {"work": asked}, {"result": said}, error=error),
        parts=_parts(state),
    )


def _said(outcome: Outcome) -> str:
    if isinstance(outcome, CodeOutcome):
        return str(outcome.score) if outcome.score else outcome.report
    return json.dumps(outcome.result.root, ensure_ascii=False)


def _parts(state: AttemptState) -> tuple[Part, ...]:
    """Return all tries and cells in the order they began, each cell before the questions about it."""
    tries: dict[int | None, list[Part]] = {}
    for call in state.calls:
        tries.setdefault(call.cell, []).extend(_tries(call))
    outer: list[tuple[Part, list[Part]]] = [(part, []) for part in tries.get(None, [])]
    for cell in state.cells:
        inside = tries.get(cell.number, [])
        outer.append((_cell(cell, inside), inside))
    found: list[Part] = []
    for part, inside in sorted(outer, key=lambda each: each[0].begun):
        found.append(part)
        found += [replace(each, above=len(found)) for each in inside]
    return tuple(found)


def _tries(call: Call) -> Iterator[Part]:
    part = Part(
        name=call.role,
        kind="CHAT_MODEL" if call.cell is None else "LLM",
        begun=call.sent,
        ended=call.sent,
        inputs={"role": call.role, "request": call.fingerprint},
        outputs={"reply": ""},
        facts={} if call.ordinal is None else {"comind.ordinal": call.ordinal},
        model=call.model,
    )
    for failed in call.failed_requests:
        yield replace(part, ended=failed.at, error=failed.message, spend=failed.spend)
        part = replace(part, begun=failed.at)
    assert call.ended is not None, "with its work, every call has ended"
    part = replace(part, ended=call.ended, error=call.failure, spend=call.took)
    if call.reply is not None:
        said = {"comind.finish": call.reply.finish, "comind.form": call.reply.form}
        part = replace(part, outputs={"reply": call.reply.text}, facts=part.facts | said)
    yield part


def _cell(cell: CellRun, inside: list[Part]) -> Part:
    result = cell.result
    return Part(
        name=f"step {cell.step}",
        kind="TOOL",
        begun=cell.started,
        ended=max([cell.ended or cell.started, *(part.ended for part in inside)]),
        inputs={"goal": cell.goal, "code": cell.code},
        outputs={"output": result.output if result else ""},
        error=result.error if result else _CUT_OFF,
        facts={
            "comind.ordinal": cell.ordinal,
            "comind.status": result.status.value if result else "cut-off",
        },
    )
