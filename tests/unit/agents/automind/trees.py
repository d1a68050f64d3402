"""A campaign of AutoMind in this process, whose model replies by the words of each request."""

import json
from pathlib import Path
from typing import Any

from comind.agents.automind import AutoMind
from comind.agents.automind.planner import AutoMindParameters
from comind.campaign.log.campaign_state import CampaignState
from comind.domain.community import CommunityView
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.world import World

_EMPTY = CommunityView()
STEPS = [
    {"name": "Prepare", "details": "Read the tables."},
    {"name": "Train the forest", "details": "Fit 300 trees.", "trains": True},
    {"name": "Predict", "details": "Write both files."},
]
VERDICT = {"bug": False, "overfitting": False, "submission": True, "summary": "It ran."}


def answer(request: ModelRequest) -> str:
    """Return a reply that depends on the request alone.

    Draft 1 is complex and scored in its second step's second try; draft 2 is simple and fails; its debug
    is scored, and draft 1 is improved.
    """
    asked = request.messages[-1].content
    return json.dumps(_REPLIES[request.reply_name](asked))


def _plan(asked: str) -> dict[str, Any]:
    if "Plan one change" in asked:
        return {"title": "Average seeds", "plan": "METHOD-D: average seeds.", "used": [1]}
    if "Find the cause" in asked:
        return {"title": "Repaired", "plan": "METHOD-C: name the column.", "used": []}
    if "METHOD-A" in asked:
        return {"title": "A line", "plan": "METHOD-B: a line.", "used": [2, 99]}
    return {"title": "A forest", "plan": "METHOD-A: a forest of 300 trees.", "used": [1]}


def _complexity(asked: str) -> dict[str, Any]:
    return {"task": 4, "solution": 5} if "METHOD-A" in asked else {"task": 1, "solution": 2.5}


def _program(asked: str) -> dict[str, Any]:
    if "code of step 1" in asked:
        return {"code": "look"}
    if "code of step 2" in asked:
        return {"code": "good" if "# Your last try" in asked else "unknown"}
    for method, code in (("METHOD-D", "better"), ("METHOD-C", "poor")):
        if f"# The plan\n\n{method}" in asked:
            return {"code": code}
    return {"code": "unknown"}


_REPLIES = {
    "Labels": lambda asked: {"numbers": [6] if "Categories:" in asked else [1, 3]},
    "Plan": _plan,
    "Complexity": _complexity,
    "Steps": lambda _: {"steps": STEPS},
    "Program": _program,
    "Verdict": lambda _: VERDICT,
}


def grown(root: Path, said: Any = answer, coders: int = 1, **how: Any) -> tuple[World, CampaignState]:
    """Run a campaign of four nodes, two of them drafts; continue it if `root` has one."""
    given = {"nodes": 4, "drafts": 2, "greedy_probability": 1, "trick_probability": 1} | how
    parameters = AutoMindParameters.model_validate(given)
    world = World(root)
    world.agent = AutoMind(PROBLEM, parameters, seed=0, community=_EMPTY)  # type: ignore[assignment]
    world.model = ScriptedModel(said)
    begun = world.folder.log.exists()
    campaign = world.campaign(
        agent="automind", parameters=parameters.model_dump(mode="json"), coders=coders, steps=18
    )
    if begun:
        campaign.resume()
    return world, world.run(campaign)
