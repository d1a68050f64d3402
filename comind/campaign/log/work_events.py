"""Define the events in the log of one piece of work; `work_state.py` folds them.

An effect (a model call or a cell) is a pair of events with one ordinal: the first is written before it
is performed, the second holds its result. A grading and a picture that is shown, which are idempotent,
have only the second. Calls while a cell runs, by its monitor or by its programs, are no effects: a
replay returns the cell's end.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from comind.campaign.log.older_logs import upgrade_event
from comind.campaign.log.outcome import Outcome, SamplePredictions, Submitted
from comind.domain.environment import FetchedInputs, Machine
from comind.domain.image import Image
from comind.domain.metric import MetricValue, Paired
from comind.domain.problem import PROGRAM, SOLVE
from comind.domain.value import AnyText, Value
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import ModelReply, Usage
from comind.session.evidence import Evidence
from comind.session.session_ports import CellResult, Session
from comind.system.syntax import defined_functions

MONITOR_ROLE = "monitor"
"""Role of the model that judges running cells."""


class SubmissionNames(Value):
    """The two files that a step submits, relative to its working directory."""

    validation: str = "validation_submission.csv"
    test: str = "submission.csv"


PROGRAM_NAMES = SubmissionNames(validation=PROGRAM, test=PROGRAM)
"""Of a step that submits a program."""


def submitted_program(names: SubmissionNames | None, code: str) -> str | None:
    """Return the program that a cell submits as its own code; None if it submits no such program."""
    if names != PROGRAM_NAMES or SOLVE not in defined_functions(code):
        return None
    return code.strip("\n") + "\n"


class WrittenFile(Value):
    """A file that a cell wrote into its working directory."""

    name: str
    """Relative to the working directory, truncated; untrusted."""
    size: int
    """In bytes."""


class Neighbour(Value):
    """Progress of another attempt of the campaign.

    Title and goal were written by a model, each truncated to one short line; untrusted.
    """

    id: str
    title: str
    """Of its draft."""
    score: MetricValue | None = None
    """The best so far."""
    goal: str = ""
    """Goal that the cell with that score announced; empty if it did not run to its end."""
    seconds: float = Field(default=0.0, exclude_if=lambda seconds: not seconds)
    """Running time of that cell; 0 in older logs."""
    models: tuple[str, ...] = Field(default=(), exclude_if=lambda models: not models)
    """Classes of libraries that it, or a cell that it follows, makes models of; its own first."""
    ended: bool = False


class CallSent(Value):
    """A request is about to be sent to a model."""

    type: Literal["call-sent"] = "call-sent"
    ordinal: int | None
    """Of the effect; None for a request that a program of the running cell wrote (`endpoint.py`)."""
    fingerprint: str
    """Hash of the request; a recorded reply is replayed for this request only."""
    fingerprint_version: int = 1
    """Replies of version 1, which hashed requests differently, are matched by position in the log."""
    role: str
    model: str
    bound: Usage
    messages: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)
    """Ids of its messages in `messages.jsonl`; none in older logs, and for embeddings."""
    context_tokens: int | None = None
    """Context window assumed for the work, from its first call to its end; None in older logs."""
    takes_images: bool = Field(default=False, exclude_if=lambda taken: not taken)
    """Whether the work's model is assumed to take images, as long; False in older logs."""


class CallAnswered(Value):
    """The model's reply, verbatim."""

    type: Literal["call-answered"] = "call-answered"
    ordinal: int | None
    reply: ModelReply
    body: AnyText = Field(default="", exclude_if=lambda text: not text)
    """The response as a program of the running cell got it; empty for other calls."""


class RequestFailed(Value):
    """The endpoint was busy, down or broken; the call may be retried."""

    type: Literal["try-failed"] = "try-failed"
    message: AnyText
    booked: Usage
    """Charged usage: zero if the server certainly did no work, else the request's bound."""


class CallFailed(Value):
    """The call failed; it is repeated when the work is resumed, unless the request is at fault."""

    type: Literal["call-failed"] = "call-failed"
    ordinal: int | None
    message: AnyText
    at_fault: bool = False
    """Whether this request can never be answered; a replay then raises the same error."""


class CellStarted(Value):
    """A cell is about to run."""

    type: Literal["cell-started"] = "cell-started"
    ordinal: int
    step: int
    goal: str
    code: str
    submission: SubmissionNames | None = None
    scratch: bool = False
    """Whether nothing later depends on it: it is left out of scripts and of session replays."""
    rejected: AnyText = Field(default="", exclude_if=lambda reason: not reason)
    """By whom and why the agent rejected the code; its score counts only where no other step has one."""


class CellEnded(Value):
    """A cell has ended; with the hashes of a new pair of submissions, if it wrote one."""

    type: Literal["cell-ended"] = "cell-ended"
    ordinal: int
    result: CellResult
    submitted: Submitted | None = None
    sample: SamplePredictions | None = Field(default=None, exclude_if=lambda each: each is None)
    """Of a step on the sample, in place of a pair."""
    uses_sample: bool = Field(default=False, exclude_if=lambda uses: not uses)
    """Whether the code of a cell that handed in depends on rows of the sample (`sample_steps.py`)."""
    refused: str = ""
    """Why the named files, or with a valid pair files beside it, were rejected."""
    files: tuple[WrittenFile, ...] = ()
    """The files it wrote, newest last; only the last ones of many."""
    neighbours: tuple[Neighbour, ...] = ()
    """Progress of other attempts, shown to the agent with this result; empty in old logs."""


class MonitorVerdict(BaseModel):
    """Whether a running cell should be stopped, and the line of its output or code that shows it."""

    model_config = ConfigDict(frozen=True)

    stop: bool
    quote: str = Field(default="", description="the line that shows it, word for word")
    reason: str = Field(default="", description="why, in one sentence")


class MonitorAsked(Value):
    """A request about the running cell is about to be sent to the monitor's model.

    It is not an effect: a replay returns the cell's recorded end and sends no request.
    """

    type: Literal["monitor-asked"] = "monitor-asked"
    seconds: float
    """Running time of the cell so far."""
    evidence: tuple[Evidence, ...]
    fingerprint: str
    model: str
    bound: Usage
    messages: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)
    """As in `CallSent`."""


class MonitorHeard(Value):
    """The result of the monitor's request; without a reply, the reason in `failure`."""

    type: Literal["monitor-heard"] = "monitor-heard"
    seconds: float
    reply: ModelReply | None = None
    verdict: MonitorVerdict | None = None
    accepted: bool = False
    """Whether the cell was stopped."""
    failure: AnyText = ""
    """Why the reply was rejected or is missing."""
    lost: bool = False
    """Whether its usage is unknown (timeout or broken connection); charged at its bound."""


class Graded(Value):
    """The grader's report on the submissions of a step."""

    type: Literal["graded"] = "graded"
    ordinal: int
    submitted: Submitted
    report: GradeReport
    gain: Paired | None = None
    """Paired difference to the attempt's previous leader; positive is better."""
    out_of_fold: GradeReport | None = None
    """Report on its out-of-fold predictions; None if it submitted none."""
    probabilities: GradeReport | None = Field(default=None, exclude_if=lambda report: report is None)
    """Report, without a score, on the probabilities beside its labels; None if it submitted none."""
    nominee: Paired | None = None
    """Paired difference of the nominated step to this one, if this one is the new leader."""
    evaluation: int | None = None
    """Its number among the evaluations of the campaign, from 1; None for work of the platform."""
    evaluations: int | None = None
    """Limit of the campaign's evaluations at that time."""


class PictureShown(Value):
    """A picture that a cell wrote was encoded for the model, or could not be; see `CodeContext.show`."""

    type: Literal["picture-shown"] = "picture-shown"
    ordinal: int
    path: AnyText
    """Relative to the working directory."""
    image: Image | None = None
    """Its bytes are in the attempt's folder."""
    refused: AnyText = ""
    """Why there is no image."""


class SampleGraded(Value):
    """The grader's report on the predictions of a step on the sample."""

    type: Literal["sample-graded"] = "sample-graded"
    ordinal: int
    predictions: SamplePredictions
    report: GradeReport
    gain: Paired | None = None
    """Paired difference to the attempt's best step on the sample before it; positive is better."""
    evaluation: int | None = None
    evaluations: int | None = None
    """As in `Graded`."""

    @property
    def shown(self) -> str:
        """Its score, marked as one on the sample, or the reason for none."""
        return f"sample {self.report.score}" if self.report.score else self.report.message


class SessionOpened(Value):
    """An interpreter was started and, after a restart, its cells were replayed."""

    type: Literal["session-opened"] = "session-opened"
    sandbox: str
    sealed: bool
    replayed_cells: int = 0
    replayed_seconds: float = 0.0
    threads: int = 0
    """Thread limit of its libraries; 0 if not set."""
    node: str = ""
    """Name of the machine; empty for the driver's own."""
    machine: Machine | None = None
    """Hardware of the node; None for the driver's own."""
    fetched: FetchedInputs | None = None
    """What the node fetched; None for the driver's own."""
    waited: float = 0.0
    """Seconds until the first session was open, which the attempt's time does not count."""

    @classmethod
    def of(cls, session: Session, cells: int, seconds: float) -> Self:
        """Return the event of a session in which so many cells were replayed, in so many seconds."""
        return cls(
            sandbox=session.sandbox,
            sealed=session.sealed,
            replayed_cells=cells,
            replayed_seconds=round(seconds, 3) if cells else 0.0,
            threads=session.threads,
            node=session.node,
            machine=session.machine,
            fetched=session.fetched,
            waited=round(session.waited, 3),
        )


class SessionAwaited(Value):
    """The work waits for a session, such as for a node that is free."""

    type: Literal["session-awaited"] = "session-awaited"
    reason: AnyText


class NodeLost(Value):
    """The node that ran the session is gone; the session is opened again and its cells are replayed."""

    type: Literal["node-lost"] = "node-lost"
    node: str
    message: AnyText
    seconds: float = 0.0
    """Seconds that are lost: of the cell that was running, or of the session's opening."""


class WorkEnded(Value):
    """The outcome of the work; always the last event."""

    type: Literal["work-ended"] = "work-ended"
    outcome: Outcome


WorkEvent = Annotated[
    CallSent
    | CallAnswered
    | CallFailed
    | RequestFailed
    | CellStarted
    | CellEnded
    | MonitorAsked
    | MonitorHeard
    | Graded
    | PictureShown
    | SampleGraded
    | SessionOpened
    | NodeLost
    | SessionAwaited
    | WorkEnded,
    Field(discriminator="type"),
    BeforeValidator(upgrade_event),
]

WORK_EVENTS: TypeAdapter[WorkEvent] = TypeAdapter(WorkEvent)
