"""A campaign of MLE-STAR in this process: programs of a few lines, and a model that replies by words.

A program is a line `NAME = POINTS` for each component, and `submit`; its score is the sum of the points
in hundredths. A line `leaky = POINTS` is leakage, `crash` raises.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from comind.agents.mlestar import MleStar
from comind.agents.mlestar.star_requests import MleStarParameters
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code
from comind.domain.community import CommunityView
from comind.llm.model_ports import ModelRequest
from comind.session.session_ports import Session
from comind.testing import ScriptedModel, ScriptedSession
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.world import World, hand_in

_EMPTY = CommunityView()
_PART = re.compile(r"^(\w+) = (\d+)$", re.MULTILINE)
_STUDY = "study"
SMALL: dict[str, Any] = {
    "models": 2, "outer": 2, "inner": 2, "solutions": 2, "ensemble_rounds": 2, "debug_rounds": 1,
}  # fmt: skip


class _Programs(dict[str, Callable[[Path], str]]):
    """Runs any program."""

    def get(self, code: str, default: object = None) -> Any:
        del default

        def cell(workspace: Path) -> str:
            if "crash" in code:
                raise ValueError("it crashed")
            if code.startswith(_STUDY):
                return "reading\n" + "\n".join(_rows(code))
            points = sum(int(found) for _, found in _PART.findall(code))
            if "submit" in code:
                hand_in(str(points / 100))(workspace)  # type: ignore[operator]
            return f"held-out score {points / 100}"

        return cell


def _rows(study: str) -> Iterator[str]:
    for name, points in _PART.findall(study):
        yield json.dumps({"component": name, "score": -int(points)})


class Star(World):
    """A world whose sessions run any program."""

    def session(self, work: Code, folder: WorkFolder, *_: object) -> Session:
        """Return a script session."""
        return ScriptedSession(
            folder.workspace, _Programs(), self.ran, persistent=work.session == "notebook"
        )


def _programs_in(asked: str) -> list[str]:
    return re.findall(r"```python\n(.*?)\n```", asked, re.DOTALL)


def _program(asked: str) -> str:
    task = asked.rpartition("# Your task")[2]
    if "with this model" in task:
        name = asked.partition("<<<\n")[2].partition(":")[0]
        return {"Forest": "data = 1\nforest = 10\nsubmit", "Net": "crash"}[name]
    if "Find the cause" in task:
        return "data = 1\nnet = 8\nsubmit"
    first = _programs_in(asked)[0]
    if "integrates the second" in task:
        return f"{first.removesuffix('submit')}mean = 3\nsubmit"
    if "ablation study" in task:
        return f"{_STUDY}\n{first.removesuffix('submit')}"
    assert "new version of the block" in task
    block, plan = _programs_in(asked)[1], asked.partition("# The plan\n\n")[2]
    [(name, points)] = _PART.findall(block)
    more = 5 if plan.startswith("More") else -1
    return f"{name} = {int(points) + more}"


def _target(asked: str) -> dict[str, Any]:
    history = asked.partition("# Earlier refinements")[2]
    program, known = _programs_in(asked)[0], _programs_in(history)
    parts = [f"{name} = {points}" for name, points in _PART.findall(program)]
    names = [each.partition(" ")[0] for each in known]
    best = next(each for each in reversed(parts) if each.partition(" ")[0] not in names)
    return {"block": best, "summary": f"{best} matters.", "plan": f"Less of {best}."}


def _leakage(asked: str) -> dict[str, Any]:
    leak = re.search(r"^leaky = \d+$", asked, re.MULTILINE)
    if leak is None:
        return {"leaks": False, "reason": "Fitted on train alone."}
    return {"leaks": True, "reason": "It sees labels.", "block": leak[0], "corrected": "clean = 1"}


_REPLIES: dict[str, Callable[[str], dict[str, Any]]] = {
    "Labels": lambda asked: {"numbers": [6] if "Categories:" in asked else [1]},
    "Models": lambda _: {
        "models": [
            {"name": "Forest", "description": "Trees.", "example": "fit()", "used": [1, 99]},
            {"name": "Net", "description": "Layers."},
            {"name": "Third", "description": "One too many."},
        ]
    },
    "Program": lambda asked: {"code": _program(asked)},
    "Leakage": _leakage,
    "Usage": lambda _: {"complete": True},
    "Target": _target,
    "NextPlan": lambda _: {"plan": "More of it."},
    "Strategy": lambda asked: {
        "plan": "Weights." if "Strategies so far" in asked else "A mean.",
        "code": f"combined = {40 if 'Strategies so far' in asked else 30}\nsubmit",
    },
}


def answer(request: ModelRequest) -> str:
    """Return a reply that depends on the request alone."""
    return json.dumps(_REPLIES[request.reply_name](request.messages[-1].content))


def run_star(
    root: Path, said: Any = answer, coders: int = 1, view: CommunityView = _EMPTY, **how: Any
) -> tuple[World, CampaignState]:
    """Run a campaign with few models and rounds; continue it if `root` has one."""
    parameters = MleStarParameters.model_validate(SMALL | how)
    world = Star(root)
    world.agent = MleStar(PROBLEM, parameters, seed=0, community=view)  # type: ignore[assignment]
    world.model = ScriptedModel(said)
    begun = world.folder.log.exists()
    campaign = world.campaign(
        agent="mlestar", parameters=parameters.model_dump(mode="json"), coders=coders, steps=10
    )
    if begun:
        campaign.resume()
    return world, world.run(campaign)
