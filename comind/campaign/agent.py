"""The one protocol that every agent implements: look at the state, say what to do next.

    plan(state) -> list of Work | Wait | Done

An agent is a class that is found through the entry-point group `comind.agents`. It owns all that is
its own: parameters, roles, purposes, prompts, estimate, graph and journal. Attempt 0, the baseline,
and the refit of the final pick are the platform's: no agent plans them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from comind.campaign.context import CodeContext, ThinkContext
from comind.campaign.estimate import Expected
from comind.campaign.events import CampaignSpec
from comind.campaign.graph import graph_of_campaign
from comind.campaign.journal import journal_of
from comind.campaign.outcome import CodeResult
from comind.campaign.plan import Code, Decision, Purpose, Think
from comind.campaign.state import CampaignState
from comind.community.provenance import Graph
from comind.domain.community import CommunityView
from comind.domain.problem import Problem
from comind.domain.value import Value
from comind.llm.settings import ModelSettings

__all__ = ["Agent", "NoParameters", "Role"]


class Role(NamedTuple):
    """A role of an agent, which can have a model of its own (`solve.models` in params.yaml)."""

    task: str
    """What it does, in one line."""
    settings: ModelSettings = ModelSettings()
    """Its defaults; those of params.yaml go first, and which model it is stands there alone."""


class NoParameters(Value):
    """An agent without parameters."""


class Agent(ABC):
    """A whole published system (CoMind, AIDE, ...), without a thread or a clock of its own.

    `think` and `code` reach the world through the desk or workbench only, whose every effect is
    recorded: run again with the same record, they take the same steps. The docstring's first line is
    what `comind agents` shows.
    """

    parameters: ClassVar[type[Value]] = NoParameters
    """Section `agents.<name>` of params.yaml; each field has a default and a description."""
    roles: ClassVar[Mapping[str, Role]] = {}
    purposes: ClassVar[tuple[Purpose[Any, Any], ...]] = ()
    """The kinds of thinking that it plans."""
    prompts: ClassVar[tuple[str, ...]] = ()
    """Packages whose `prompts/*.j2` it renders; hashed into the lineage of its attempts."""
    needs_model: ClassVar[bool] = True

    def __init__(
        self, problem: Problem, parameters: Any, *, seed: int, community: CommunityView
    ) -> None:
        """Prepare for one campaign.

        `parameters` is a value of the class's own; `seed` is for every random choice; `community` is
        empty where the campaign reads none.
        """
        self.problem = problem
        self.seed = seed
        self.community = community
        self.settings = parameters

    @abstractmethod
    def plan(self, state: CampaignState) -> Decision:
        """Say what to do next; pure, called after every event that could change the answer."""

    def think(self, work: Think, context: ThinkContext) -> Value:
        """Carry out `work` and return the result of its purpose."""
        raise NotImplementedError(f"{type(self).__name__} plans no thinking such as {work.purpose}")

    @abstractmethod
    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Carry out `work`; what it submitted and scored is known to the bench."""

    @classmethod
    def role_of(cls, work: Think) -> str:
        """Return the role whose model is asked for `work`."""
        roles = {purpose.name: purpose.role for purpose in cls.purposes}
        return roles.get(work.purpose, work.purpose)

    @classmethod
    def journal(cls, state: CampaignState, community: CommunityView) -> str:
        """Return what happened so far, for people, as Markdown."""
        del community
        return journal_of(state)

    @classmethod
    def graph(cls, state: CampaignState, community: CommunityView) -> Graph:
        """Return what came from what: the community's items, drafts and solutions."""
        return graph_of_campaign(state, community)

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected | None:
        """Return what a campaign will about ask its models for; None where the agent cannot tell."""
        del spec
        return None
