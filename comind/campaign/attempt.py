"""Everything that can happen while work is carried out, and what it amounts to.

Each piece of work has a log of its own, written by whoever carries it out. An effect (a model call, a
cell, a grading) is a pair of events under one ordinal: the first says that it is under way, the
second what came of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from comind.campaign.log import Record
from comind.campaign.outcome import Outcome, Submitted
from comind.domain.metric import ValidationScore
from comind.domain.spend import Spend
from comind.domain.value import Value
from comind.evaluation.report import GradeReport
from comind.llm.base import ModelReply, Usage
from comind.session.base import CellResult, CellStatus

__all__ = [
    "WORK_EVENTS",
    "AttemptState",
    "CallAnswered",
    "CallFailed",
    "CallSent",
    "CellEnded",
    "CellStarted",
    "Graded",
    "SessionOpened",
    "SubmissionNames",
    "WorkEnded",
    "WorkEvent",
    "apply",
    "fold",
]


class SubmissionNames(Value):
    """The two files that a step hands in, relative to its working directory."""

    validation: str = "validation_submission.csv"
    test: str = "submission.csv"


class CallSent(Value):
    """A model is being asked."""

    type: Literal["call-sent"] = "call-sent"
    ordinal: int
    fingerprint: str
    """Hash of the request: a recorded reply answers this request and no other."""
    role: str
    model: str
    bound: Usage


class CallAnswered(Value):
    """The model's reply, word for word."""

    type: Literal["call-answered"] = "call-answered"
    ordinal: int
    reply: ModelReply


class CallFailed(Value):
    """The endpoint refused or broke; the call will be made again when the work goes on."""

    type: Literal["call-failed"] = "call-failed"
    ordinal: int
    message: str


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


class WorkEnded(Value):
    """The work's outcome; always the last event."""

    type: Literal["work-ended"] = "work-ended"
    outcome: Outcome


WorkEvent = Annotated[
    CallSent | CallAnswered | CallFailed | CellStarted | CellEnded | Graded | SessionOpened | WorkEnded,
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
    pending_call: CallSent | None = None
    outcome: Outcome | None = None


def fold(records: Iterable[Record[WorkEvent]]) -> AttemptState:
    """Return the state after `records`; any prefix of a work's log has one."""
    return reduce(apply, records, AttemptState())


def apply(state: AttemptState, record: Record[WorkEvent]) -> AttemptState:
    """Return the state after one more record."""
    state = replace(state, spend=state.spend.model_copy(update={"seconds": record.elapsed}))
    match record.event:
        case CallSent() as call:
            # A call that is followed by another one was under way when we were killed.
            lost = _booked(state.pending_call.bound, lost=True) if state.pending_call else Spend()
            return replace(state, spend=state.spend + lost, pending_call=call)
        case CallAnswered(reply=reply):
            return replace(state, spend=state.spend + _booked(reply.usage), pending_call=None)
        case CallFailed():
            return replace(state, pending_call=None)
        case CellStarted(step=step):
            return replace(state, steps=step)
        case CellEnded(result=result):
            return replace(state, last_error="" if result.status is CellStatus.OK else result.error)
        case Graded() as graded:
            return _graded(state, graded)
        case SessionOpened(sealed=sealed):
            return replace(state, sealed=sealed and state.sealed is not False)
        case WorkEnded(outcome=outcome):
            return replace(state, outcome=outcome)


def _booked(usage: Usage, *, lost: bool = False) -> Spend:
    return Spend(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        usd=usage.usd,
        calls=1,
        lost_calls=int(lost),
    )


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
