"""Outcomes of work, and the exceptions that end it early."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from comind.domain.metric import MetricValue, Paired, ValidationScore
from comind.domain.problem import (
    OUT_OF_FOLD_PROBABILITIES,
    TEST_PROBABILITIES,
    VALIDATION_PROBABILITIES,
)
from comind.domain.spend import Spend
from comind.domain.value import AnyText, Payload, Value
from comind.grading.grader_port import ScoreBreakdown

__all__ = [
    "PROBABILITIES",
    "BudgetExceeded",
    "CellSummary",
    "CellTiming",
    "CodeOutcome",
    "CodeResult",
    "DeadlineExceeded",
    "Execution",
    "Failure",
    "FailureCause",
    "HandedIn",
    "Outcome",
    "SamplePredictions",
    "Submitted",
    "ThinkOutcome",
    "WorkStopped",
]


class FailureCause(StrEnum):
    """Reason why work has no result."""

    NO_SUBMISSION = "no-submission"  # every step ran, none submitted two valid files
    CODE = "code"  # the last cells ended in an error
    REPLY = "reply"  # the model's replies did not match the schema
    TIME = "time"  # the attempt's deadline passed
    BUDGET = "budget"  # the campaign's token or dollar budget is exhausted
    SESSION = "session"  # the kernel could not be kept alive
    REPLAY = "replay"  # resumed with other code or prompts than it was started with
    INTERNAL = "internal"  # a bug in CoMind


class Failure(Value):
    """The reason why work has no result."""

    cause: FailureCause = Field(alias="kind")
    message: AnyText
    """In one line."""
    traceback: AnyText = Field(default="", exclude_if=lambda text: not text)
    """Of a bug or a replay that diverges, without keys; never shown to a model."""


class CodeResult(Value):
    """The result of a coding role at the end of an attempt."""

    report: str = ""
    title: str = ""
    """Of the best solution, if it differs from the draft."""
    lesson: str = ""
    """Which change moved the score, or did not, and why, in the words of the role."""
    result: Payload = Payload()
    """What the agent plans by, of its `Assignment`'s type."""


class Execution(Value):
    """A program that ran, and its result; truncated, so that it fits into later prompts."""

    program: str
    """With the cells that its interpreter had run before; truncated at the start."""
    output: str = ""
    """Last part of stdout."""
    error: str = ""
    """Last part of the traceback, or why it was stopped; empty if it ran to the end."""


class CellSummary(Value):
    """One cell of an attempt in short, for later prompts and reports."""

    step: int
    goal: str
    result: str
    """Its score, the last line of its error, or its running time."""
    code: str = ""
    """The part that ran; empty if the best submission does not depend on it."""
    output: str = ""
    """Last part of stdout."""
    failed: bool = Field(default=False, exclude_if=lambda failed: not failed)
    """Whether it did not run to its end."""


class CellTiming(Value):
    """What a scored cell took, and the models that it fits."""

    step: int
    seconds: float
    score: MetricValue
    """In the digits that agents see, as the next."""
    out_of_fold: MetricValue | None = None
    """Score of the out-of-fold predictions that it submitted, if any."""
    models: tuple[str, ...] = ()
    """Classes of libraries that it, or a cell that it follows, makes models of; its own first."""
    of_models: dict[str, float] = {}
    """Seconds of each model of the baseline's ensemble, as far as they were printed."""


PROBABILITIES = {
    VALIDATION_PROBABILITIES: "validation_probabilities_sha256",
    TEST_PROBABILITIES: "test_probabilities_sha256",
    OUT_OF_FOLD_PROBABILITIES: "out_of_fold_probabilities_sha256",
}
"""Files of probabilities beside labels, with the fields of `Submitted` for their hashes."""


class Submitted(Value):
    """Content hashes of the pair of files that one step submitted."""

    step: int
    validation_sha256: str
    test_sha256: str
    out_of_fold_sha256: str = ""
    """Of its predictions for rows of train.csv; empty if it wrote none that could be read."""
    validation_probabilities_sha256: str = Field(default="", exclude_if=lambda sha256: not sha256)
    test_probabilities_sha256: str = Field(default="", exclude_if=lambda sha256: not sha256)
    out_of_fold_probabilities_sha256: str = Field(default="", exclude_if=lambda sha256: not sha256)
    """Of the probabilities beside its labels; empty if it wrote none that could be read."""
    nominated: bool = False
    """Whether the step nominated this pair as the attempt's result."""

    @property
    def probabilities(self) -> dict[str, str]:
        """The hashes of the probabilities beside its labels, by file name."""
        found = {name: str(getattr(self, field)) for name, field in PROBABILITIES.items()}
        return {name: sha256 for name, sha256 in found.items() if sha256}


class SamplePredictions(Value):
    """Content hash of the predictions of a step on the sample, for the validation rows alone."""

    step: int
    sha256: str


HandedIn = Submitted | SamplePredictions
"""What a step hands in."""


class ThinkOutcome(Value):
    """Outcome of a `Think`."""

    kind: Literal["think"] = "think"
    result: Payload = Payload()
    """Of the purpose's `result` type."""
    failure: Failure | None = None
    spend: Spend = Spend()

    def counts(self) -> str:
        """Return the lengths of the result's lists, such as `ideas: 4`; empty lists are left out."""
        lists = {name: each for name, each in self.result.root.items() if isinstance(each, list)}
        return ", ".join(f"{name}: {len(each)}" for name, each in lists.items() if each)


class CodeOutcome(Value):
    """Outcome of a `Code`; without a valid submission it has a failure instead of a score."""

    kind: Literal["code"] = "code"
    score: ValidationScore | None = None
    submitted: Submitted | None = None
    out_of_fold: ValidationScore | None = None
    """Score of the out-of-fold predictions submitted with it, if any."""
    code: str = ""
    """The cells that the submission depends on, in order; of steps on the sample what it needs."""
    code_seconds: float = 0.0
    """Running time of these cells, without steps on the sample that only import and define."""
    last: Execution | None = None
    """What ran last, scored or not; None if nothing ran."""
    steps: int = 0
    cells: tuple[CellSummary, ...] = ()
    """What the agent ran, oldest first; empty in older logs."""
    report: str = ""
    title: str = ""
    """Of the best solution, if it differs from the draft."""
    lesson: str = Field(default="", exclude_if=lambda text: not text)
    """Which change moved the score, or did not, and why, in the words of the role."""
    gain: Paired | None = Field(default=None, exclude_if=lambda each: each is None)
    """Paired difference to the work's `reference`; positive is better. None without one."""
    result: Payload = Field(default=Payload(), exclude_if=lambda result: not result.root)
    """Of the `Assignment`'s type; empty where the agent has none, and in older logs."""
    opening_score: ValidationScore | None = None
    """Score of the unchanged public notebook that it started from; None if that did not run."""
    prepared: bool | None = None
    """Whether the draft's preparation ran without error; None if there was none."""
    prepared_seconds: float | None = Field(default=None, exclude_if=lambda seconds: seconds is None)
    """Running time of the draft's preparation, if it ran without error; None in older logs."""
    timings: tuple[CellTiming, ...] = Field(default=(), exclude_if=lambda timings: not timings)
    """Of its scored steps, oldest first; empty in older logs."""
    parts: tuple[ScoreBreakdown, ...] = Field(default=(), exclude_if=lambda parts: not parts)
    """Of the submission's score; empty in older logs."""
    rejected: str = Field(default="", exclude_if=lambda reason: not reason)
    """By whom and why the submission's step was rejected, if no other step is scored."""
    failure: Failure | None = None
    spend: Spend = Spend()

    @property
    def timing(self) -> CellTiming | None:
        """What the step took that submitted; None where that was not recorded."""
        step = self.submitted.step if self.submitted is not None else None
        return next((each for each in self.timings if each.step == step), None)


Outcome = Annotated[ThinkOutcome | CodeOutcome, Field(discriminator="kind")]


class WorkStopped(Exception):  # noqa: N818 - control flow, caught by the worker
    """End the work here and keep its results so far."""

    cause: ClassVar[FailureCause]


class DeadlineExceeded(WorkStopped):
    """The attempt's deadline has passed."""

    cause = FailureCause.TIME


class BudgetExceeded(WorkStopped):
    """The campaign's token or dollar budget does not allow another call."""

    cause = FailureCause.BUDGET
