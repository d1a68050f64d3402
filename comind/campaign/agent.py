"""Define the base class of agents: plan work from the campaign's state, and execute it.

    plan(state) -> list of Work | Wait | Done | Compare

An agent is a class in the entry-point group `comind.agents`, with its own parameters, roles, purposes,
prompts, estimate, graph and journal. The platform plans the baseline (attempt 0), fold runs, blend and
refit.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Think
from comind.campaign.log.work_items import Purpose
from comind.campaign.reports.call_costs import Expected
from comind.campaign.reports.campaign_graph import graph_of_campaign
from comind.campaign.reports.campaign_journal import journal_of
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.community.provenance import Graph
from comind.domain.community import CommunityView
from comind.domain.problem import Problem
from comind.domain.value import Value
from comind.llm.settings import ModelSettings

__all__ = ["Agent", "Role", "Samples", "programs_left"]


class Role(NamedTuple):
    """A role of an agent, which can have its own model (`solve.models` in params.yaml)."""

    task: str
    """What it does, in one line."""
    settings: ModelSettings = ModelSettings()
    """Defaults, overridden by params.yaml; the model's name is set there only."""


class Samples(NamedTuple):
    """How `comind prompts` makes an agent send all its prompts, in small campaigns on sample facts."""

    parameters: tuple[Mapping[str, Any], ...] = ({},)
    """Of each campaign; those not given have their defaults."""
    contexts: tuple[int, ...] = (131_072,)
    """Context windows in tokens, with each of which the campaigns are run."""
    replies: Mapping[str, Sequence[Any]] = MappingProxyType({})
    """Values of fields of replies, in turn, by the field's name, or `ReplyType.field`; all others are
    made from the reply's schema, as is None. Of objects only some fields need be given."""


class NoParameters(Value):
    """Parameters of an agent that has none."""


def programs_left(state: CampaignState, most: int | None, begun: int) -> int:
    """Return how many more attempts of one program each an agent may plan.

    `begun` of `most` were; each in flight may need one of the evaluations that are left.
    """
    left, limit = sys.maxsize if most is None else most - begun, state.budget.evaluations
    if limit is not None:
        left = min(left, limit - state.spend.evaluations - len(state.works.in_flight()))
    return max(0, left)


class Agent(ABC):
    """A published system (CoMind, AIDE, ...), without threads or clocks of its own.

    `think` and `code` act through their context only, which records every effect: replayed with the
    same record they must take the same steps. `comind agents` shows the docstring's first line.
    """

    parameters: ClassVar[type[Value]] = NoParameters
    """Section `agents.<name>` of params.yaml; each field has a default and a description."""
    roles: ClassVar[Mapping[str, Role]] = {}
    purposes: ClassVar[tuple[Purpose[Any, Any], ...]] = ()
    """The kinds of `Think` that it plans."""
    prompts: ClassVar[tuple[str, ...]] = ()
    """Packages whose `prompts/*.j2` it renders; hashed into the lineage of its attempts."""
    samples: ClassVar[Samples] = Samples()
    """For `comind prompts`."""
    serves_model: ClassVar[bool] = False
    """Whether it runs programs of others, which may call the model (`CodeContext.run_program`)."""

    def __init__(
        self, problem: Problem, parameters: Any, *, seed: int, community: CommunityView
    ) -> None:
        """Set up for one campaign.

        `parameters` is an instance of the class's `parameters`; every random choice is drawn from
        `seed`; `community` is empty if the campaign reads none.
        """
        self.problem = problem
        self.seed = seed
        self.community = community
        self.settings = parameters

    @abstractmethod
    def plan(self, state: CampaignState) -> Decision:
        """Return what to do next; pure, called after every event that could change the decision."""

    def remainder(self, state: CampaignState) -> Sequence[Code]:
        """Return attempts for a time that is too short for the thought it planned; pure, as `plan`.

        It is asked when a thought is late. Attempts that are late themselves are not begun; without
        one the campaign ends once the attempts in flight have.
        """
        del state
        return ()

    def rejections(self, state: CampaignState) -> Mapping[str, str]:
        """Return the finished attempts that it rejects, with by whom and why; pure, as `plan`.

        They are recorded (`AttemptRejected`), and not picked, blended or delivered while another
        attempt has a score. What is known before code runs is rejected by `CodeContext.step`.
        """
        del state
        return {}

    def think(self, work: Think, context: ThinkContext) -> Value:
        """Execute `work` and return a result of its purpose's type."""
        raise NotImplementedError(f"{type(self).__name__} plans no thinking such as {work.purpose}")

    @abstractmethod
    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Execute `work`; submissions and scores are recorded by `context`."""

    @classmethod
    def mounts(cls, parameters: Mapping[str, Any]) -> Mapping[str, Path]:
        """Return folders that its attempts read, by name below `input/`; relative to the project."""
        del parameters
        return {}

    @classmethod
    def needs_model(cls, parameters: Mapping[str, Any]) -> bool:
        """Return whether it calls a model with these parameters; those not given have their defaults."""
        del parameters
        return True

    @classmethod
    def check(cls, spec: CampaignSpec) -> None:
        """Check that a campaign can be opened with this agent; called before it is.

        Raises:
            UsageError: parameters and other values of `spec` exclude each other.
        """
        del spec

    @classmethod
    def role_of(cls, work: Think) -> str:
        """Return the role whose model is called for `work`."""
        roles = {purpose.name: purpose.role for purpose in cls.purposes}
        return roles.get(work.purpose, work.purpose)

    @classmethod
    def journal(cls, state: CampaignState, community: CommunityView) -> str:
        """Return a report of the campaign so far, as Markdown."""
        del community
        return journal_of(state)

    @classmethod
    def graph(cls, state: CampaignState, community: CommunityView) -> Graph:
        """Return the provenance graph of the community's items, drafts and solutions."""
        return graph_of_campaign(state, community)

    @classmethod
    def summaries(cls, state: CampaignState) -> Mapping[str, str]:
        """Return what the agent's models wrote about community items, by the item's name."""
        del state
        return {}

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected | None:
        """Return the model calls a campaign is expected to make; None if unknown."""
        del spec
        return None
