"""Work as values: what an agent plans, and what a worker carries out, now or after a restart.

Work is `Think` (model calls only) or `Code` (a session in a sandbox). It carries everything it needs
as values, so that it can be carried out in another process. Who plans and carries it out is an
`Agent` (agent.py).
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from comind.domain.blend import Blend
from comind.domain.draft import Draft, Operator
from comind.domain.payload import Payload
from comind.domain.resources import Resources
from comind.domain.spend import WorkBudget
from comind.domain.value import Value

__all__ = [
    "BASELINE_ROLE",
    "Code",
    "Compare",
    "Decision",
    "Done",
    "Think",
    "Wait",
    "Work",
]


BASELINE_ROLE = "baseline"
"""Role of attempt 0, which the platform plans and carries out; no model is asked."""

_CLOSING = (Operator.FOLD, Operator.BLEND, Operator.REFIT)
_PLATFORM_ROLES = (BASELINE_ROLE, *(operator.value for operator in _CLOSING))


class Think(Value):
    """Model calls with one typed result: ideation, analysis, retrieval, planning of an ablation."""

    kind: Literal["think"] = "think"
    purpose: str
    """Name of the `Purpose` that the agent registered for this kind of thinking."""
    facts: Payload = Payload()
    """What it thinks about."""
    resources: Resources | None = None
    """What attempts have to work with; filled in by the platform. None in old logs."""


class Code(Value):
    """One attempt: a draft, and a session to implement it in."""

    kind: Literal["code"] = "code"
    operator: Operator
    draft: Draft
    role: str = "coding_agent"
    """Which of the campaign's models is asked."""
    parents: tuple[str, ...] = ()
    """Ids of the work that this draft came from."""
    inputs: tuple[str, ...] = ()
    """What is mounted: ids of attempts, whose published solution lies at `input/solutions/<id>`, and
    community items `owner/name`, whose files lie at `input/<owner>/<name>`."""
    session: Literal["notebook", "script"] = "notebook"
    """A persistent notebook, or a fresh interpreter for each step."""
    budget: WorkBudget
    resources: Resources | None = None
    """What it has to work with; filled in by the platform. None in old logs."""
    opening_version: int = 0
    """Of the cells that the agent runs by itself; those of older versions must stay as they were."""
    blend: Blend | None = None
    """Of a blend, and of its refit: what is averaged."""
    fold: int = 0
    """Of a run on a fold: its number, from 1; 0 is the split itself."""

    @property
    def is_closing(self) -> bool:
        """Whether it is a fold run, a blend or a refit, which the platform plans at the end."""
        return self.operator in _CLOSING

    @property
    def is_platform_work(self) -> bool:
        """Whether the platform runs it, without a model: the baseline and all closing work."""
        return self.is_closing or self.role in _PLATFORM_ROLES

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, values: Any) -> Any:
        """Read `opening_version` under the name that it has in older logs, too."""
        if isinstance(values, dict) and "edition" in values:
            return {"opening_version" if name == "edition" else name: values[name] for name in values}
        return values


Work = Annotated[Think | Code, Field(discriminator="kind")]


class Wait(Value):
    """Nothing to hand out until something in flight has finished."""


class Done(Value):
    """Nothing more to do, ever; `reason` is shown to the user."""

    reason: str


class Compare(Value):
    """Have the errors of the best scored attempts compared, then ask again what to do.

    Only where `CampaignState.may_compare`; what comes of it is `CampaignState.compared`.
    """


Decision = list[Think | Code] | Wait | Done | Compare
