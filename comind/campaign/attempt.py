"""Everything that can happen while work is carried out, and what it amounts to.

Each piece of work has a log of its own, written by whoever carries it out. An effect (a model call, a
cell, a grading) is a pair of events under one ordinal: the first says that it is under way, the
second what came of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from comind.campaign.outcome import Outcome, Submitted
from comind.domain.metric import ValidationScore
from comind.domain.spend import Spend
from comind.domain.value import Value
from comind.evaluation.report import GradeReport
from comind.eventlog.log import Record
from comind.llm.base import ModelReply, Usage
from comind.session.base import CellResult, CellStatus
from comind.session.evidence import Evidence

__all__ = [
    "WORK_EVENTS",
    "AttemptState",
    "CallAnswered",
    "CallFailed",
    "CallSent",
    "CellEnded",
    "CellStarted",
    "Graded",
    "MonitorAsked",
    "MonitorHeard",
    "MonitorVerdict",
    "SessionOpened",
    "SubmissionNames",
    "TryFailed",
    "WorkEnded",
    "WorkEvent",
    "WrittenFile",
    "apply",
    "fold",
]


class SubmissionNames(Value):
    """The two files that a step hands in, relative to its working directory."""

    validation: str = "validation_submission.csv"
    test: str = "submission.csv"


class WrittenFile(Value):
    """A file that a cell wrote into its working directory."""

    name: str
    """Relative to the working directory, cut to a bounded length; untrusted."""
    size: int
    """In bytes."""


class CallSent(Value):
    """A model is being asked."""

    type: Literal["call-sent"] = "call-sent"
    ordinal: int
    fingerprint: str
    """Hash of the request: a recorded reply answers this request and no other."""
    fingerprint_version: int = 1
    """Version 1 hashed requests otherwise: its replies are known by their place in the log alone."""
    role: str
    model: str
    bound: Usage


class CallAnswered(Value):
    """The model's reply, word for word."""

    type: Literal["call-answered"] = "call-answered"
    ordinal: int
    reply: ModelReply


class TryFailed(Value):
    """The endpoint was busy, down or broken; the call is still under way and may be tried again."""

    type: Literal["try-failed"] = "try-failed"
    message: str
    booked: Usage
    """Nothing where it surely did no work, else the most that it can have taken."""


class CallFailed(Value):
    """The call came to nothing; it will be made again when the work goes on, unless it is at fault."""

    type: Literal["call-failed"] = "call-failed"
    ordinal: int
    message: str
    at_fault: bool = False
    """Whether this very request cannot be answered: what follows in the log knows of that."""


class CellStarted(Value):
    """A cell is running."""

    type: Literal["cell-started"] = "cell-started"
    ordinal: int
    step: int
    goal: str
    code: str
    submission: SubmissionNames | None = None


class CellEnded(Value):
    """A cell has ended; with a fresh pair of submissions, their content."""

    type: Literal["cell-ended"] = "cell-ended"
    ordinal: int
    result: CellResult
    submitted: Submitted | None = None
    refused: str = ""
    """Why the files that were named could not be taken in."""
    files: tuple[WrittenFile, ...] = ()
    """What it wrote, the newest last; of many, the last ones."""


class MonitorVerdict(BaseModel):
    """Whether a running cell should be stopped, and the line of its output that shows it."""

    model_config = ConfigDict(frozen=True)

    stop: bool
    quote: str = Field(default="", description="the line of the output that shows it, word for word")
    reason: str = Field(default="", description="why, in one sentence")


class MonitorAsked(Value):
    """A model is being asked about the running cell.

    It is asked beside the cell and is no effect of its own: whoever plays the log back gets the
    cell's end as it was and asks nobody.
    """

    type: Literal["monitor-asked"] = "monitor-asked"
    seconds: float
    """How long the cell had been running."""
    evidence: tuple[Evidence, ...]
    fingerprint: str
    model: str
    bound: Usage


class MonitorHeard(Value):
    """What came of the question; without a reply, why there is none."""

    type: Literal["monitor-heard"] = "monitor-heard"
    seconds: float
    reply: ModelReply | None = None
    verdict: MonitorVerdict | None = None
    accepted: bool = False
    """Whether the cell was stopped for it."""
    failure: str = ""
    """Why it was not, although a stop was wanted or nothing usable was said."""
    lost: bool = False
    """Whether nobody knows what it took, as nobody waited or it broke off; booked at its bound."""


class Graded(Value):
    """The grader's verdict on the submissions of a step."""

    type: Literal["graded"] = "graded"
    ordinal: int
    submitted: Submitted
    report: GradeReport


class SessionOpened(Value):
    """An interpreter was started and, after a restart, brought back to where it was."""

    type: Literal["session-opened"] = "session-opened"
    sandbox: str
    sealed: bool
    replayed_cells: int = 0
    replayed_seconds: float = 0.0
    threads: int = 0
    """Cores that its libraries may use at once; 0 where nothing was said."""


class WorkEnded(Value):
    """The work's outcome; always the last event."""

    type: Literal["work-ended"] = "work-ended"
    outcome: Outcome


WorkEvent = Annotated[
    CallSent
    | CallAnswered
    | CallFailed
    | TryFailed
    | CellStarted
    | CellEnded
    | MonitorAsked
    | MonitorHeard
    | Graded
    | SessionOpened
    | WorkEnded,
    Field(discriminator="type"),
]

WORK_EVENTS: TypeAdapter[WorkEvent] = TypeAdapter(WorkEvent)


@dataclass(frozen=True, slots=True)
class AttemptState:
    """What the events of one piece of work amount to."""

    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    steps: int = 0
    last_error: str = ""
    """Traceback of the last cell, when that cell failed."""
    best_score: ValidationScore | None = None
    best: Submitted | None = None
    last_report: GradeReport | None = None
    sealed: bool | None = None
    threads: int = 0
    pending_call: CallSent | MonitorAsked | None = None
    outcome: Outcome | None = None

    @property
    def owed(self) -> Spend:
        """The spend with the bound of a call that is under way, or was when its process was killed."""
        pending = self.pending_call
        return self.spend + _booked(pending.bound, lost=True) if pending else self.spend


def fold(records: Iterable[Record[WorkEvent]]) -> AttemptState:
    """Return the state after `records`; any prefix of a work's log has one."""
    return reduce(apply, records, AttemptState())


def apply(state: AttemptState, record: Record[WorkEvent]) -> AttemptState:
    """Return the state after one more record."""
    state = replace(state, spend=state.spend.model_copy(update={"seconds": record.elapsed}))
    match record.event:
        case CallSent() | MonitorAsked() as call:
            # A call that is followed by another one was under way when we were killed.
            return replace(state, spend=state.owed, pending_call=call)
        case TryFailed(booked=booked):
            return replace(state, spend=state.spend + _failed(booked))
        case CallAnswered() | CallFailed() | MonitorHeard() as answer:
            return replace(state, spend=_answered(state, answer), pending_call=None)
        case CellStarted(step=step):
            # So was a question about a cell that is now started again.
            return replace(state, steps=step, spend=state.owed, pending_call=None)
        case CellEnded(result=result):
            return replace(state, last_error="" if result.status is CellStatus.OK else result.error)
        case Graded() as graded:
            return _graded(state, graded)
        case SessionOpened(sealed=sealed, threads=threads):
            return replace(state, sealed=sealed and state.sealed is not False, threads=threads)
        case WorkEnded(outcome=outcome):
            return replace(state, outcome=outcome)


def _answered(state: AttemptState, answer: CallAnswered | CallFailed | MonitorHeard) -> Spend:
    """Return the spend once a call has come to its end."""
    if isinstance(answer, MonitorHeard) and answer.lost:
        return state.owed
    reply = None if isinstance(answer, CallFailed) else answer.reply
    if reply is None:
        return state.spend
    took = _booked(reply.usage, exact=reply.exact)
    return state.spend + took.model_copy(update={"model_seconds": reply.seconds})


def _booked(usage: Usage, *, lost: bool = False, exact: bool = False) -> Spend:
    return Spend(
        **usage.model_dump(),
        calls=1,
        lost_calls=int(lost),
        bound_tokens=0 if exact else usage.tokens,
        bound_usd=0.0 if exact else usage.usd,
    )


def _failed(booked: Usage) -> Spend:
    return _booked(booked).model_copy(update={"calls": 0, "retries": 1})


def _graded(state: AttemptState, graded: Graded) -> AttemptState:
    state = replace(state, last_report=graded.report)
    score = graded.report.score
    if score is None and graded.report.valid:
        return replace(state, best=graded.submitted)  # of a refit, only the form is looked at
    if score is None or not score.value.better_than(
        state.best_score.value if state.best_score else None
    ):
        return state
    return replace(state, best_score=score, best=graded.submitted)
