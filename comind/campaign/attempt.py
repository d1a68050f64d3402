"""Everything that can happen while work is carried out; `history` reads what it amounts to.

Each piece of work has a log of its own, written by whoever carries it out. An effect (a model call, a
cell, a grading) is a pair of events under one ordinal: the first says that it is under way, the
second what came of it.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from comind.campaign.outcome import Outcome, Submitted
from comind.domain.metric import MetricValue, Paired
from comind.domain.value import Value, rename_fields
from comind.evaluation.report import GradeReport
from comind.llm.base import ModelReply, Usage
from comind.session.base import CellResult
from comind.session.evidence import Evidence

__all__ = [
    "WORK_EVENTS",
    "CallAnswered",
    "CallFailed",
    "CallSent",
    "CellEnded",
    "CellStarted",
    "Graded",
    "MonitorAsked",
    "MonitorHeard",
    "MonitorVerdict",
    "Neighbour",
    "SessionOpened",
    "SubmissionNames",
    "TryFailed",
    "WorkEnded",
    "WorkEvent",
    "WrittenFile",
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


class Neighbour(Value):
    """How far another attempt of the campaign has come.

    Title and goal are a model's words, each cut to one short line; untrusted.
    """

    id: str
    title: str
    """Of its draft."""
    score: MetricValue | None = None
    """The best so far."""
    goal: str = ""
    """What the cell was for that scored it."""
    ended: bool = False


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
    context_tokens: int | None = None
    """What the work takes its model to read, from its first call to its end; None in older logs."""


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
    scratch: bool = False
    """Whether nothing that follows needs it: no script has it, and no new session runs it again."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, values: Any) -> Any:
        """Read `scratch` under the name that it has in older logs, too."""
        return rename_fields(values, aside="scratch")


class CellEnded(Value):
    """A cell has ended; with a fresh pair of submissions, their content."""

    type: Literal["cell-ended"] = "cell-ended"
    ordinal: int
    result: CellResult
    submitted: Submitted | None = None
    refused: str = ""
    """Why the files that were named could not be taken in; of a pair, its out-of-fold predictions."""
    files: tuple[WrittenFile, ...] = ()
    """What it wrote, the newest last; of many, the last ones."""
    neighbours: tuple[Neighbour, ...] = ()
    """The news of other attempts that this one is told with it; nothing in old logs."""


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
    gain: Paired | None = None
    """How much better it is than the attempt's leader before it, on the same rows."""
    out_of_fold: GradeReport | None = None
    """The verdict on its predictions for rows of train.csv; None where it handed in none."""
    nominee: Paired | None = None
    """How much better the nominated step is, where this one is the new leader."""


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
