"""Define work as values: what an agent plans and a worker executes, also in another process.

Work is `Think` (model calls only) or `Code` (a session in a sandbox). An `Agent` (agent.py) plans it.
"""

from typing import Annotated, Literal

from pydantic import Field

from comind.domain.draft import Blend, Draft, Operator
from comind.domain.facts import FactSheet
from comind.domain.resources import Resources
from comind.domain.spend import WorkBudget
from comind.domain.value import Name, Payload, Value

__all__ = [
    "BASELINE_ROLE",
    "Code",
    "Compare",
    "Decision",
    "Done",
    "Reference",
    "Think",
    "Wait",
    "Work",
]


BASELINE_ROLE = "baseline"
"""Role of attempt 0, which the platform plans and executes without a model."""

_CLOSING = (Operator.FOLD, Operator.BLEND, Operator.REFIT)
_PLATFORM_ROLES = (BASELINE_ROLE, *(operator.value for operator in _CLOSING))


class Think(Value):
    """Model calls with one typed result: ideation, analysis, retrieval, planning of an ablation."""

    kind: Literal["think"] = "think"
    purpose: str
    """Name of a `Purpose` that the agent registered."""
    facts: Payload = Payload()
    """Input, of the purpose's `facts` type."""
    beside: bool = Field(default=False, exclude_if=lambda beside: not beside)
    """Whether no attempt waits for it, so that its time is not that of a round's thinking."""
    resources: Resources | None = None
    """Compute and packages of attempts; filled in by the platform. None in old logs."""
    measured: FactSheet = Field(default=FactSheet(), exclude_if=lambda sheet: not sheet.facts)
    """What attempts that had ended measured; filled in by the platform. Empty in older logs."""


class Reference(Value):
    """A scored step of another attempt, with which the result of an attempt is compared."""

    attempt: Name
    step: int


class Code(Value):
    """One attempt: a draft, and a session in which it is implemented."""

    kind: Literal["code"] = "code"
    operator: Operator
    draft: Draft
    facts: Payload = Field(default=Payload(), exclude_if=lambda facts: not facts.root)
    """What the agent knows of it by itself, of its `Assignment`'s type; empty in older logs."""
    role: str = "coding_agent"
    """The role whose model is called."""
    parents: tuple[str, ...] = ()
    """Ids of the work that this draft was made from."""
    reference: Reference | None = Field(default=None, exclude_if=lambda each: each is None)
    """What its result is compared with, row by row (`CodeOutcome.gain`); None in older logs."""
    inputs: tuple[str, ...] = ()
    """Mounts: ids of attempts, whose published solutions are mounted at `input/solutions/<id>`, and
    community items `owner/name`, mounted at `input/<owner>/<name>`. A refit names refits, which are
    mounted in the place of their attempts."""
    session: Literal["notebook", "script"] = "notebook"
    """A persistent notebook, or a fresh interpreter for each step."""
    budget: WorkBudget
    resources: Resources | None = None
    """Compute and packages; filled in by the platform. None in old logs."""
    measured: FactSheet = Field(default=FactSheet(), exclude_if=lambda sheet: not sheet.facts)
    """As in `Think`."""
    sample_first: bool = Field(default=False, exclude_if=lambda first: not first)
    """Whether one full run is expected to take so much of its time that it is told of the sample of the
    training rows; filled in by the platform."""
    blend: Blend | None = None
    """What is averaged; only of a blend and of its refit."""
    fold: int = 0
    """Number of the fold, from 1; 0 is the split itself."""
    rows_apart: bool = Field(default=False, exclude_if=lambda apart: not apart)
    """Of a refit: train.csv lacks the rows of validation.csv, where possible (`splits/refit_rows.py`);
    False in older logs."""

    @property
    def is_closing(self) -> bool:
        """Whether it is a fold run, a blend or a refit, which the platform plans at the end."""
        return self.operator in _CLOSING

    @property
    def is_platform_work(self) -> bool:
        """Whether the platform runs it, without a model: the baseline and all closing work."""
        return self.is_closing or self.role in _PLATFORM_ROLES

    @property
    def is_baseline(self) -> bool:
        """Whether it is of the platform's baseline: attempt 0, or a step of the agent `baseline`."""
        return self.role == BASELINE_ROLE

    @property
    def is_attempt_0(self) -> bool:
        """Whether it is the platform's baseline, and not a step of the agent `baseline`."""
        return self.is_baseline and not self.draft.codebase


Work = Annotated[Think | Code, Field(discriminator="kind")]


class Wait(Value):
    """Plan nothing until work in flight has finished."""


class Done(Value):
    """End the campaign; `reason` is shown to the user."""

    reason: str


class Compare(Value):
    """Have the grader compare the errors of the best scored attempts, then plan again.

    Only valid if `CampaignState.may_compare()`; the result is `CampaignState.compared`.
    """


Decision = list[Think | Code] | Wait | Done | Compare
