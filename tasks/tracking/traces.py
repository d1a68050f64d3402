"""What the log of one piece of work tells as a trace: every model call, and every cell between them.

Prompts are not in it: a log holds the hash of a request, and the reply word for word. A call that was
under way when its process was killed is a part of its own, at the most it can have cost.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime

from comind.campaign.attempt import (
    CallAnswered,
    CallFailed,
    CallSent,
    CellEnded,
    CellStarted,
    TryFailed,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.outcome import CodeOutcome, Outcome
from comind.campaign.plan import Code, Think
from comind.eventlog.log import Record
from comind.llm.base import Usage

__all__ = ["Part", "Trace", "TraceBook"]

_LOST = "no reply was recorded: the process ended while the call was under way"


@dataclass(frozen=True, slots=True)
class Part:
    """One model call, one cell, or the whole."""

    name: str
    kind: str
    begun: datetime
    ended: datetime
    inputs: dict[str, object]
    outputs: dict[str, object]
    error: str = ""
    facts: dict[str, object] = field(default_factory=dict)
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Trace:
    """One piece of work; `name` identifies it within the project."""

    name: str
    title: str
    asked: str
    said: str
    error: str
    begun: datetime
    ended: datetime
    tags: dict[str, str]
    parts: tuple[Part, ...]

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all requests."""
        return sum(part.prompt_tokens for part in self.parts)

    @property
    def completion_tokens(self) -> int:
        """Tokens of all replies."""
        return sum(part.completion_tokens for part in self.parts)

    @property
    def usd(self) -> float:
        """Dollars for all calls."""
        return sum(part.usd for part in self.parts)

    def whole(self) -> Part:
        """Return the part that all others lie in."""
        inputs: dict[str, object] = {"work": self.asked}
        outputs: dict[str, object] = {"result": self.said}
        return Part(self.title, "AGENT", self.begun, self.ended, inputs, outputs, error=self.error)


class TraceBook:
    """Reads the records of one piece of work, in order, and tells its trace once it has ended."""

    def __init__(self, campaign: str, work_id: str, work: Code | Think) -> None:
        self._campaign = campaign
        self._work_id = work_id
        self._work = work
        self._parts: list[Part] = []
        self._begun: datetime | None = None
        self._call: tuple[datetime, CallSent] | None = None
        self._cell: tuple[datetime, CellStarted] | None = None

    def read(self, record: Record[WorkEvent]) -> Trace | None:
        """Take in one record; the last one gives the trace."""
        self._begun = self._begun or record.at
        match record.event:
            case CallSent() as sent:
                self._lose_call()
                self._call = (record.at, sent)
            case CallAnswered(reply=reply):
                form: dict[str, object] = {"comind.finish": reply.finish, "comind.form": reply.form}
                self._end_call(record.at, reply.usage, reply=reply.text, facts=form)
            case TryFailed(message=message, booked=booked):
                call = self._call
                self._end_call(record.at, booked, error=message)
                self._call = (record.at, call[1]) if call else None
            case CallFailed(message=message):
                self._end_call(record.at, Usage(), error=message)
            case CellStarted() as started:
                self._cell = (record.at, started)
            case CellEnded() as ended:
                self._end_cell(record.at, ended)
            case WorkEnded(outcome=outcome):
                self._lose_call()
                return self._told(record.at, outcome)
            case _:
                pass
        return None

    def _lose_call(self) -> None:
        if self._call is not None:
            begun, sent = self._call
            self._end_call(begun, sent.bound, error=_LOST)

    def _end_call(
        self,
        at: datetime,
        usage: Usage,
        *,
        reply: str = "",
        error: str = "",
        facts: dict[str, object] | None = None,
    ) -> None:
        assert self._call is not None, "a call ends after it has begun"
        begun, sent = self._call
        self._call = None
        self._parts.append(
            Part(
                name=sent.role,
                kind="CHAT_MODEL",
                begun=begun,
                ended=at,
                inputs={"role": sent.role, "request": sent.fingerprint},
                outputs={"reply": reply},
                error=error,
                facts={"comind.ordinal": sent.ordinal, **(facts or {})},
                model=sent.model,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                usd=usage.usd,
            )
        )

    def _end_cell(self, at: datetime, ended: CellEnded) -> None:
        assert self._cell is not None, "a cell ends after it has started"
        begun, started = self._cell
        self._cell = None
        self._parts.append(
            Part(
                name=f"step {started.step}",
                kind="TOOL",
                begun=begun,
                ended=at,
                inputs={"goal": started.goal, "code": started.code},
                outputs={"output": ended.result.output},
                error=ended.result.error,
                facts={"comind.ordinal": started.ordinal, "comind.status": ended.result.status.value},
            )
        )

    def _told(self, at: datetime, outcome: Outcome) -> Trace:
        work, failure = self._work, outcome.failure
        asked = f"{work.operator.value}: {work.draft.title}" if isinstance(work, Code) else work.purpose
        if isinstance(outcome, CodeOutcome):
            said = str(outcome.score) if outcome.score else outcome.report
        else:
            said = json.dumps(outcome.result.root, ensure_ascii=False)
        return Trace(
            name=f"{self._campaign}/{self._work_id}",
            title=self._work_id,
            asked=asked,
            said=said,
            error=f"{failure.kind}: {failure.message}" if failure else "",
            begun=self._begun or at,
            ended=at,
            tags={"comind.campaign": self._campaign, "comind.work": self._work_id},
            parts=tuple(self._parts),
        )
