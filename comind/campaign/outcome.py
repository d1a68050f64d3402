"""How work ended."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from comind.domain.metric import ValidationScore
from comind.domain.spend import Spend
from comind.domain.value import Payload, Value

__all__ = [
    "CellSummary",
    "CodeOutcome",
    "CodeResult",
    "Execution",
    "Failure",
    "FailureKind",
    "Outcome",
    "Submitted",
    "ThinkOutcome",
]


class FailureKind(StrEnum):
    """Why work has no result."""

    NO_SUBMISSION = "no-submission"  # every step ran, none handed in two valid files
    CODE = "code"  # the last cells ended in an error
    REPLY = "reply"  # the model's replies did not have the promised form
    TIME = "time"  # the attempt's time was over
    BUDGET = "budget"  # the campaign's tokens or money were over
    SESSION = "session"  # the kernel could not be kept alive
    REPLAY = "replay"  # resumed with other code or prompts than it was started with
    INTERNAL = "internal"  # a fault of ours


class Failure(Value):
    """Why work has no result, in one line."""

    kind: FailureKind
    message: str


class CodeResult(Value):
    """What a coding role says at the end of an attempt."""

    report: str = ""
    title: str = ""
    """What the best solution is by now, where that is not what was planned."""


class Execution(Value):
    """A program that ran, and how it ended; bounded, so that later work can be told of it."""

    program: str
    """With the cells that its interpreter had run before; its end, where it is long."""
    output: str = ""
    """The end of what it printed."""
    error: str = ""
    """The end of its traceback, or why it had to be stopped; empty where nothing went wrong."""


class CellSummary(Value):
    """One cell of an attempt in short, for those who learn from it later."""

    step: int
    goal: str
    result: str
    """Its score, or the last line of its error, or how long it ran."""
    code: str = ""
    """The part of it that ran; empty where the best submission did not come from it."""
    output: str = ""
    """The end of what it printed."""


class Submitted(Value):
    """The pair of files that one step handed in, by content, and what it wrote with them."""

    step: int
    validation_sha256: str
    test_sha256: str
    out_of_fold_sha256: str = ""
    """Of its predictions for rows of train.csv; empty where it wrote none that could be taken in."""
    nominated: bool = False
    """Whether it named this pair as the attempt's pick."""


class ThinkOutcome(Value):
    """How a `Think` ended."""

    kind: Literal["think"] = "think"
    result: Payload = Payload()
    """Of the type that the agent registered for the purpose."""
    failure: Failure | None = None
    spend: Spend = Spend()


class CodeOutcome(Value):
    """How an attempt ended; without a valid submission there is no score but a failure."""

    kind: Literal["code"] = "code"
    score: ValidationScore | None = None
    submitted: Submitted | None = None
    out_of_fold: ValidationScore | None = None
    """The score of the predictions for rows of train.csv that were handed in with it, if any were."""
    code: str = ""
    """The cells that led to the submission, in order."""
    code_seconds: float = 0.0
    """How long these cells ran."""
    last: Execution | None = None
    """What ran last, whether or not it was scored; None where nothing ran."""
    steps: int = 0
    cells: tuple[CellSummary, ...] = ()
    """What the agent ran, oldest first; empty in older logs."""
    report: str = ""
    title: str = ""
    """What the best solution is, where that is not what was planned."""
    opening_score: ValidationScore | None = None
    """What the public notebook that it started from scored here as it is; None where it did not run."""
    prepared: bool | None = None
    """Whether the draft's preparation ran well; None where there was none."""
    failure: Failure | None = None
    spend: Spend = Spend()


Outcome = Annotated[ThinkOutcome | CodeOutcome, Field(discriminator="kind")]
