"""The one protocol that every agent implements: look at the state, say what to do next.

    plan(state) -> list of Work | Wait | Done

Work is `Think` (model calls only) or `Code` (a session in a sandbox). Work carries everything it
needs as values, so that it can be carried out in another process, now or after a restart.
"""

from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from pydantic import Field, JsonValue

from comind.domain.draft import Draft, Operator
from comind.domain.spend import WorkBudget
from comind.domain.value import Value

if TYPE_CHECKING:
    from comind.campaign.outcome import Finding, Finish
    from comind.campaign.state import CampaignState
    from comind.campaign.workbench import Desk, Workbench

__all__ = ["BASELINE_ROLE", "Agent", "Code", "Decision", "Done", "Planner", "Think", "Wait", "Work"]


BASELINE_ROLE = "baseline"
"""Role of attempt 0: the platform's own baseline, whatever model the campaign has."""


class Think(Value):
    """Model calls with one typed result: ideation, analysis, retrieval, planning of an ablation."""

    kind: Literal["think"] = "think"
    purpose: str
    """What the agent calls this kind of thinking; also the role whose model is asked."""
    facts: dict[str, JsonValue] = {}
    """What it thinks about."""


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


Work = Annotated[Think | Code, Field(discriminator="kind")]


class Wait(Value):
    """Nothing to hand out until something in flight has finished."""


class Done(Value):
    """Nothing more to do, ever; `reason` is shown to the user."""

    reason: str


Decision = list[Think | Code] | Wait | Done


class Planner(Protocol):
    """Says what to do next; pure, called after every event that could change the answer."""

    def plan(self, state: "CampaignState") -> Decision:
        """Say what to do next."""
        ...


class Agent(Planner, Protocol):
    """A whole published system (CoMind, AIDE, ...), without a thread or a clock of its own.

    `think` and `code` reach the world through the desk or workbench only, whose
    every effect is recorded: run again with the same record, they take the same steps.
    """

    name: str

    def journal(self, state: "CampaignState") -> str:
        """Return what happened so far, for people, as Markdown; empty for nothing to tell."""
        ...

    def think(self, work: Think, desk: "Desk") -> "Finding":
        """Carry out `work` and return what was found."""
        ...

    def code(self, work: Code, bench: "Workbench") -> "Finish":
        """Carry out `work`; what it submitted and scored is known to the bench."""
        ...
