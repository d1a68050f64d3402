"""A campaign of each agent after the baseline, whose model always replies the same."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comind.agents.aide import Aide
from comind.agents.automind import AutoMind
from comind.agents.comind import CoMind
from comind.agents.external import External
from comind.agents.funsearch import FunSearch
from comind.agents.greedy import Greedy
from comind.agents.mlestar import MleStar
from comind.baseline.recipe_programs import Program
from comind.campaign.agent import Agent
from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.log.campaign_events import CampaignEvent, EnvironmentRead
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import run
from comind.domain.community import CommunityView
from comind.domain.environment import Environment
from comind.domain.problem import Problem
from comind.domain.spend import Budget
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel, ThreadExecutor
from tests.unit.agents.samples import ANALYSIS
from tests.unit.campaign.world import World, hand_in

AGENTS: dict[str, type[Agent]] = {
    "aide": Aide,
    "automind": AutoMind,
    "comind": CoMind,
    "funsearch": FunSearch,
    "greedy": Greedy,
    "mlestar": MleStar,
}
BASELINE = "the platform's own forest"
_PLAN = {"title": "A forest", "plan": "Fit trees.", "used": []}
REPLIES: dict[str, dict[str, Any]] = {
    "Analysis": ANALYSIS,
    "AblationStudy": {"code": "good"},
    "AttemptReport": {"summary": "It works."},
    "Brainstorm": {"paths": [{"approach": "Trees.", "ideas": [{"text": "Grow a forest."}]}]},
    "CodingStep": {"goal": "try", "code": "good"},
    "CritiqueReply": {"findings": []},
    "Complexity": {"task": 1, "solution": 1},
    "Drafts": {"drafts": [{"title": "A forest", "kind": "novel", "method": "Trees."}]},
    "Labels": {"numbers": [1]},
    "Leakage": {"leaks": False, "reason": "none"},
    "Models": {"models": [{"name": "Forest", "description": "Trees.", "example": "fit()"}]},
    "NextPlan": {"plan": "More."},
    "Plan": _PLAN,
    "Preparation": {"code": "features = 1"},
    "Program": {"plan": "Trees.", "code": "good"},
    "Review": {"summary": "It ran."},
    "Selection": {"ideas": []},
    "Solution": {"plan": "Trees.", "code": "good"},
    "Strategy": {"plan": "A mean.", "code": "good"},
    "Target": {"block": "good", "summary": "All of it.", "plan": "Another."},
    "Usage": {"complete": True},
    "Verdict": {"bug": False, "overfitting": False, "submission": True, "summary": "It ran."},
}


@dataclass
class Arm:
    """A campaign of one agent after the baseline, whose model always replies the same."""

    root: Path
    agent: str
    problem: Problem
    environment: Environment
    baseline: str = "visible"
    evaluations: int = 4
    first: str = BASELINE
    """The baseline's program."""
    parameters: Mapping[str, object] = field(default_factory=lambda: {"drafts": 1, "command": "true"})
    """Of all agents; each gets those that it has."""
    events: tuple[CampaignEvent, ...] = ()
    """Further ones at the campaign's beginning."""
    requests: list[ModelRequest] = field(default_factory=list)

    ran: list[str] = field(default_factory=list)
    """Code of the cells."""

    def run(self) -> CampaignState:
        kind = AGENTS.get(self.agent, External)
        fields = kind.parameters.model_fields
        small = {name: value for name, value in self.parameters.items() if name in fields}
        parameters = kind.parameters.model_validate(small)
        given = parameters.model_dump(mode="json")
        world = self.world(Budget(seconds=3600.0, evaluations=self.evaluations))
        agent = kind(self.problem, parameters, seed=0, community=CommunityView())
        world.model = ScriptedModel(self.reply)
        programs = (Program(name="forest", code=self.first),)
        dependencies = world.dependencies(baseline=lambda: programs)
        campaign = world.campaign(
            agent=self.agent, parameters=given, steps=9, iterations=9,
            baseline=self.baseline, evaluations=self.evaluations,
        )  # fmt: skip
        for event in (EnvironmentRead(environment=self.environment), *self.events):
            campaign.record(event)
        executor = ThreadExecutor(world.folder, agent, dependencies)
        limit = dependencies.ledger.limit_reached
        try:
            campaign.record(run(campaign, BaselineFirst(agent), executor, limit_reached=limit))
            return campaign.state
        finally:
            campaign.close()

    def world(self, budget: Budget) -> World:
        """Return cells and grader."""
        return World(self.root, budget=budget, cells={BASELINE: hand_in("0.97")}, ran=self.ran)

    def reply(self, request: ModelRequest) -> str:
        """Return what the model says."""
        self.requests.append(request)
        return json.dumps(REPLIES[request.reply_name])
