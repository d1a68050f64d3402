"""How work ended."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from comind.domain.metric import ValidationScore
from comind.domain.spend import Spend
from comind.domain.value import Value

__all__ = [
    "CodeOutcome",
    "Failure",
    "FailureKind",
    "Finding",
    "Finish",
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


class Finding(Value):
    """The typed result of a `Think`, as the agent wrote it."""

    result: dict[str, JsonValue] = {}


class Finish(Value):
    """What a coding role says at the end of an attempt."""

    report: str = ""


class Submitted(Value):
    """The pair of files that one step handed in, by content."""

    step: int
    validation_sha256: str
    test_sha256: str


class ThinkOutcome(Value):
    """How a `Think` ended."""

    kind: Literal["think"] = "think"
    result: dict[str, JsonValue] = {}
    failure: Failure | None = None
    spend: Spend = Spend()


class CodeOutcome(Value):
    """How an attempt ended; without a valid submission there is no score but a failure."""

    kind: Literal["code"] = "code"
    score: ValidationScore | None = None
    submitted: Submitted | None = None
    code: str = ""
    """The cells that led to the submission, in order."""
    code_seconds: float = 0.0
    """How long these cells ran."""
    steps: int = 0
    report: str = ""
    failure: Failure | None = None
    spend: Spend = Spend()


Outcome = Annotated[ThinkOutcome | CodeOutcome, Field(discriminator="kind")]
