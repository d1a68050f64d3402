"""Agents are told the same facts, have the same evaluations, and all or none see the baseline."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

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
from comind.campaign.log.campaign_events import EnvironmentRead
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import run
from comind.domain.community import CommunityView
from comind.domain.environment import Environment, Machine, StoreItem
from comind.domain.problem import Problem
from comind.domain.spend import Budget
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel, ThreadExecutor
from tests.unit.agents.samples import ANALYSIS, PROBLEM
from tests.unit.campaign.world import World, hand_in

_AGENTS: dict[str, type[Agent]] = {
    "aide": Aide,
    "automind": AutoMind,
    "comind": CoMind,
    "funsearch": FunSearch,
    "greedy": Greedy,
    "mlestar": MleStar,
}
_PROBLEM = PROBLEM.model_copy(
    update={
        "title": "Which cells are ill",
        "description": "Tell ill cells from others by their outlines.",
        "metric": "f1",
        "positive_class": "ill",
        "id_columns": ("cell_id",),
        "train_id_columns": ("cell_id",),
        "label_columns": ("state",),
        "target_columns": ("state",),
        "train_rows": 301,
        "validation_rows": 102,
        "test_rows": 103,
        "preview": "outline: 40 numbers, 3 % missing",
    }
)
_ENVIRONMENT = Environment(
    python="3.11.9",
    packages=("numpy==1.26.1", "lightgbm==4.3.0", "not-of-the-toolbox==1"),
    machine=Machine(cores=6, memory_bytes=32 << 30, gpus=("NVIDIA T4",)),
    models=(StoreItem(name="own/net", path="input/models/own", format="timm", load="timm.own()"),),
)
_FACTS = {
    "description": ("Which cells are ill", "Tell ill cells from others by their outlines."),
    "metric": ("f1, higher is better", "ill counts as 1"),
    "rows": ("301 rows", "102 rows", "103 rows"),
    "data": ("outline: 40 numbers, 3 % missing", "`input/demo/`"),
    "machine": ("3.11.9", "3 threads", "25.8 GB", "NVIDIA T4"),
    "packages": ("numpy 1.26.1", "lightgbm 4.3.0"),
    "store": ("input/models/own: timm.own()",),
    "folds": ("`input/folds/folds.csv`", "5 folds"),
    "hand-in": (
        "`validation_submission.csv`",
        "`submission.csv`",
        "cell_id, state",
        "`out_of_fold.csv`",
    ),
    "fitted models": ("`input/fitted/`",),
    "clock": ("stopped after 60 seconds",),
}
_BASELINE = "the platform's own forest"
_PLAN = {"title": "A forest", "plan": "Fit trees.", "used": []}
_REPLIES: dict[str, dict[str, Any]] = {
    "Analysis": ANALYSIS,
    "AblationStudy": {"code": "good"},
    "AttemptReport": {"summary": "It works."},
    "Brainstorm": {"paths": [{"approach": "Trees.", "ideas": ["Grow a forest."]}]},
    "CodingStep": {"goal": "try", "code": "good"},
    "Complexity": {"task": 1, "solution": 1},
    "Drafts": {"drafts": [{"title": "A forest", "kind": "novel", "method": "Trees."}]},
    "Labels": {"numbers": [1]},
    "Leakage": {"leaks": False, "reason": "none"},
    "Models": {"models": [{"name": "Forest", "description": "Trees.", "example": "fit()"}]},
    "NextPlan": {"plan": "More."},
    "Plan": _PLAN,
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
class _Arm:
    """A campaign of one agent after the baseline, whose model always replies the same."""

    root: Path
    agent: str
    baseline: str = "visible"
    evaluations: int = 4
    requests: list[ModelRequest] = field(default_factory=list)

    ran: list[str] = field(default_factory=list)
    """Code of the cells."""

    def run(self) -> CampaignState:
        kind = _AGENTS.get(self.agent, External)
        small = {"drafts": 1, "command": "true"}.items()
        small = {name: value for name, value in small if name in kind.parameters.model_fields}
        parameters = kind.parameters.model_validate(small)
        given = parameters.model_dump(mode="json")
        budget = Budget(seconds=3600.0, evaluations=self.evaluations)
        world = World(self.root, budget=budget, cells={_BASELINE: hand_in("0.97")}, ran=self.ran)
        agent = kind(_problem(), parameters, seed=0, community=CommunityView())
        world.model = ScriptedModel(self._reply)
        programs = (Program(name="forest", code=_BASELINE),)
        dependencies = world.dependencies(baseline=lambda: programs)
        campaign = world.campaign(
            agent=self.agent, parameters=given, steps=9, iterations=9,
            baseline=self.baseline, evaluations=self.evaluations,
        )  # fmt: skip
        campaign.record(EnvironmentRead(environment=_ENVIRONMENT))
        executor = ThreadExecutor(world.folder, agent, dependencies)
        limit = dependencies.ledger.limit_reached
        try:
            campaign.record(run(campaign, BaselineFirst(agent), executor, limit_reached=limit))
            return campaign.state
        finally:
            campaign.close()

    def _reply(self, request: ModelRequest) -> str:
        self.requests.append(request)
        return json.dumps(_REPLIES[request.reply_name])


def _problem() -> Problem:
    return _PROBLEM


def _prompts(arm: _Arm, wanted: Callable[[ModelRequest], bool] = lambda request: True) -> list[str]:
    return ["\n".join(m.content for m in each.messages) for each in arm.requests if wanted(each)]


@pytest.mark.parametrize("agent", _AGENTS)
def test_each_fact_is_in_the_prompts_of_every_agent(agent: str, tmp_path: Path) -> None:
    """Each prompt for a program has all that the platform knows; the view of the data is in some."""
    arm = _Arm(tmp_path, agent)
    arm.run()
    asked = _prompts(arm, lambda each: each.reply_name in {"Program", "Solution", "CodingStep"})
    studies = ("writes no files", "corrected study")  # of ablations, which hand nothing in
    written = [each for each in asked if not any(words in each for words in studies)]
    for fact, texts in _FACTS.items():
        enough = any if fact == "data" else all
        assert enough(text in each for each in written for text in texts), fact


@pytest.mark.parametrize("agent", _AGENTS)
def test_every_agent_ends_with_the_same_number_of_evaluations(agent: str, tmp_path: Path) -> None:
    """Four submissions of each are graded where its own plan would go on; the baseline is none."""
    state = _Arm(tmp_path, agent).run()
    assert state.spend.evaluations == 4
    assert state.ended is not None
    assert state.ended.detail == "4 of 4 evaluations are used up"


@pytest.mark.parametrize("agent", _AGENTS)
@pytest.mark.parametrize("baseline", ["visible", "hidden", "none"])
def test_the_baseline_is_seen_by_every_agent_or_by_none(
    agent: str, baseline: str, tmp_path: Path
) -> None:
    """Visible, its code and score are in a prompt; hidden, it is scored, and no prompt has either."""
    arm = _Arm(tmp_path, agent, baseline)
    state = arm.run()
    shown = "\n".join(_prompts(arm))
    assert (_BASELINE in shown) is (baseline == "visible")
    assert ("0.97" in shown) is (baseline == "visible")
    scored = [each for each in state.works.attempts() if each.outcome and _BASELINE in each.outcome.code]
    assert len(scored[:1]) == (baseline != "none")


_TOLD = ("description", "metric", "machine", "packages", "store")


@pytest.mark.parametrize("baseline", ["visible", "hidden", "none"])
def test_a_program_of_others_is_told_the_same_facts(baseline: str, tmp_path: Path) -> None:
    """They are in the task that it reads, with validation rows among test rows; so is the baseline."""
    arm = _Arm(tmp_path, "external", baseline)
    arm.run()
    [task] = [each for each in arm.ran if "work/task.md" in each]
    for fact in _TOLD:
        for text in _FACTS[fact]:
            assert text in task, fact
    for text in ("301 rows", "205 in all", "cell_id, state", "outline: 40 numbers, 3 % missing"):
        assert text in task
    assert ("baseline.py` was scored" in task and _BASELINE in task) is (baseline == "visible")
