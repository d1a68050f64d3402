"""Work as values: what an agent plans, and what a worker carries out, now or after a restart.

Work is `Think` (model calls only) or `Code` (a session in a sandbox). It carries everything it needs
as values, so that it can be carried out in another process. Who plans and carries it out is an
`Agent` (agent.py).
"""

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from comind.domain.blend import Blend
from comind.domain.draft import Draft, Operator
from comind.domain.payload import Payload
from comind.domain.resources import Resources
from comind.domain.spend import WorkBudget
from comind.domain.value import Value, rename_fields
from comind.errors import LogError

__all__ = [
    "BASELINE_ROLE",
    "CLOSING",
    "Code",
    "Compare",
    "Decision",
    "Done",
    "FactsT",
    "Purpose",
    "ResultT",
    "Think",
    "Wait",
    "Work",
]


BASELINE_ROLE = "baseline"
"""Role of attempt 0, which the platform plans and carries out; no model is asked."""

CLOSING = (Operator.FOLD, Operator.BLEND, Operator.REFIT)
"""What the platform plans when no attempt follows any more; no agent is told of it."""

FactsT = TypeVar("FactsT", bound=Value)
ResultT = TypeVar("ResultT", bound=Value)
ValueT = TypeVar("ValueT", bound=Value)


class Think(Value):
    """Model calls with one typed result: ideation, analysis, retrieval, planning of an ablation."""

    kind: Literal["think"] = "think"
    purpose: str
    """Name of the `Purpose` that the agent registered for this kind of thinking."""
    facts: Payload = Payload()
    """What it thinks about."""
    resources: Resources | None = None
    """What attempts have to work with; filled in by the platform. None in old logs."""


@dataclass(frozen=True, slots=True)
class Purpose(Generic[FactsT, ResultT]):
    """A kind of `Think` that an agent registers: whose model it asks, what it takes and what it finds.

    The log stores facts and result as JSON; agents handle values alone.
    """

    name: str
    role: str
    facts: type[FactsT]
    result: type[ResultT]

    def work(self, facts: FactsT) -> Think:
        """Return the work of thinking about `facts`."""
        return Think(purpose=self.name, facts=Payload.of(facts))

    def facts_of(self, work: Think) -> FactsT:
        """Return what `work` thinks about.

        Raises:
            LogError: the facts are not of this purpose's type.
        """
        return _read(work.facts, self.facts, self.name)

    def result_of(self, payload: Payload) -> ResultT:
        """Return what was found.

        Raises:
            LogError: the result is not of this purpose's type.
        """
        return _read(payload, self.result, self.name)


def _read(payload: Payload, kind: type[ValueT], purpose: str) -> ValueT:
    try:
        return payload.read(kind)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise LogError(
            f"a recorded {purpose} is no {kind.__name__}: {place}: {first['msg']}",
            hint="go on with the version of the agent that started the campaign",
        ) from None


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

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, values: Any) -> Any:
        """Read `opening_version` under the name that it has in older logs, too."""
        return rename_fields(values, edition="opening_version")


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
