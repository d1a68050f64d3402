"""Every agent hands in programs for every problem that ships; they are run and scored in sandboxes."""

import importlib.util
import itertools
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.work.hand_in import ProgramHandedIn
from comind.competitions.competition_folder import load_competition
from comind.demos import problems
from comind.domain.environment import Environment, Machine
from comind.domain.spend import Budget
from comind.llm.model_ports import ModelRequest
from comind.profile.problem_description import describe_problem
from comind.programs.program_grader import ProgramGrader
from comind.programs.program_split import make_program_split
from comind.session.process import ProcessSandbox
from comind.splits.split_folder import SplitFolder
from tests.unit.agents.arms import AGENTS, REPLIES, Arm
from tests.unit.campaign.samples import split_made
from tests.unit.campaign.world import World

_EVALUATIONS = 2
_ENVIRONMENT = Environment(python="3.11.9", packages=(), machine=Machine(cores=2, memory_bytes=8 << 30))
_SMALL = {"drafts": 1, "models": 1, "outer": 1, "inner": 1, "ensemble_rounds": 1, "islands": 2}
_NAMES = {"AlgorithmPlan": "Plan", "Algorithms": "Models", "Portfolio": "Strategy"}
_NAMES |= {"ProgramVerdict": "Verdict", "ProgramStep": "CodingStep"}


@cache
def _smallest(name: str) -> str:
    """Return the four smallest instances of a problem, as JSON."""
    file = problems()[name] / "generator.py"
    spec = importlib.util.spec_from_file_location(f"generator_{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = sorted(module.generate(), key=lambda each: len(json.dumps(each)))[:4]
    return json.dumps([{**each, "case": "", "part": ""} for each in made])


def _split(name: str, root: Path) -> SplitFolder:
    """Return the split of a problem with the four smallest of its instances."""
    folder = root / "problem"
    shutil.copytree(problems()[name], folder, ignore=shutil.ignore_patterns("generator.py", "__*"))
    (folder / "instances.json").write_text(_smallest(name))
    return make_program_split(
        load_competition(folder), root / "splits", seed=0, sandbox=ProcessSandbox()
    )


@dataclass
class _ProblemArm(Arm):
    grader: ProgramGrader = field(init=False)
    codes: Iterator[str] = field(init=False)

    def world(self, budget: Budget) -> World:
        cells: dict[str, Any] = {self._code(number): lambda workspace: "" for number in range(99)}
        self.codes = map(self._code, itertools.count(1))
        tried = ProgramHandedIn(self.grader.try_out)
        return World(self.root, budget=budget, cells=cells, grader=self.grader, hand_in=tried)

    def _code(self, number: int) -> str:
        return f"{self.first}\n# version {number}" if number else self.first

    def reply(self, request: ModelRequest) -> str:
        found = dict(REPLIES[_NAMES.get(request.reply_name, request.reply_name)])
        if "code" in found:
            found["code"] = next(self.codes)
        if "block" in found:
            text = "\n".join(message.content for message in request.messages)
            [found["block"]] = re.findall(r"# The program\n\n```python\n(.*?)\n```", text, re.DOTALL)
        return json.dumps(found)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("name", problems())
def test_agents_have_programs_scored(name: str, agent: str, tmp_path: Path) -> None:
    """All programs of a small campaign are scored as the first one is, on sealed instances."""
    split = _split(name, tmp_path)
    problem, first = describe_problem(split), (split.public / "solver.py").read_text()
    arm = _ProblemArm(tmp_path, agent, problem, _ENVIRONMENT, evaluations=_EVALUATIONS, first=first)
    arm.grader = ProgramGrader(split, ProcessSandbox(), tmp_path / "scores")
    arm.parameters = _SMALL
    arm.events = (split_made(program=problem.program, metric=problem.metric),)
    state = arm.run()
    expected = arm.grader.grade(split.public / "solver.py", split.public / "solver.py").score
    assert expected is not None
    assert 0 < expected.value.value < 1.2
    scored = [each.score for each in state.works.attempts() if each.score is not None]
    assert len(scored) > 1
    assert {each.value.value for each in scored} == {expected.value.value}
