"""Prompts of all agents make sense where submissions are programs, and their campaigns have a score."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.work.hand_in import ProgramHandedIn
from comind.domain.competition import ProgramLimits
from comind.domain.environment import Environment, Machine
from comind.domain.metric import Paired
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.domain.spend import Budget
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import ModelRequest
from comind.testing import ColumnGrader
from tests.unit.agents.arms import AGENTS, REPLIES, Arm
from tests.unit.campaign.samples import split_made
from tests.unit.campaign.world import World

_LIMITS = ProgramLimits(seconds=7, memory_mb=640)
_PROBLEM = Problem(
    competition="demo",
    title="Full boxes",
    description="Choose weights whose sum is as near to the capacity as possible.",
    metric="normalised score",
    maximize=True,
    answer_kind=AnswerKind.NUMBER,
    shape=DataShape.INSTANCES,
    id_columns=("instance",),
    train_id_columns=("instance",),
    label_columns=("score",),
    target_columns=("score",),
    train_rows=5,
    validation_rows=6,
    test_rows=9,
    program=_LIMITS,
    preview="- weights: list, 40 items, [3, 9 ...\n- capacity: int, 50",
)
_MACHINE = Machine(cores=6, memory_bytes=32 << 30)
_ENVIRONMENT = Environment(python="3.11.9", packages=("numpy==1.26.1",), machine=_MACHINE)
_FACTS = (
    "Full boxes",
    "as near to the capacity as possible",
    "7.0 s of processor time",
    "640 MB",
    "`solve`",
    "normalised score, higher is better",
    "6 sealed instances",
    "5 development instances",
    "`input/demo/`",
    "evaluate(solve)",
    "numpy 1.26.1",
    "stopped after 60 seconds",
)
_OF_TABLES = re.compile(
    r"\.csv|out.of.fold|cross.validat|\b(rows?|columns?|labels?|folds?|features?|"
    r"train(s|ed|ing)?|models?|predict(s|ions?)?|ensembles?|blends?|tables?|Kaggle|data scientist|"
    r"machine.learning|encoders?|held out|holds back|both (files|submissions)|pair of submissions)\b",
    re.IGNORECASE,
)
_SMALL = {"drafts": 1, "models": 2, "outer": 1, "inner": 2, "ensemble_rounds": 2, "debug_probability": 1}
_STUDY = "print('no program')"
_NAMES = {
    "ProgramStep": "CodingStep",
    "AlgorithmPlan": "Plan",
    "Algorithms": "Models",
    "Portfolio": "Strategy",
    "ProgramVerdict": "Verdict",
}


def _program(number: int) -> str:
    return f"def solve(weights, capacity):\n    return []  # 0.{number}"


def _code(number: int) -> str:
    """Return a program, each better than those before; or a cell that hands nothing in, or fails."""
    return {1: "fails", 2: _STUDY}.get(number % 6, _program(number))


class _ProgramScores(ColumnGrader):
    """Reads the score from the end of a program."""

    def grade(self, validation: Path, test: Path) -> GradeReport:
        report = super().grade(self._number(validation), test)
        return report.model_copy(update={"message": "score 0 on 1 of 6 sealed instances"})

    def compare(self, one: Path, other: Path) -> Paired:
        return super().compare(self._number(one), self._number(other))

    def _number(self, program: Path) -> Path:
        number = program.with_suffix(".score")
        number.write_text(program.read_text().rpartition("# ")[2])
        return number


@dataclass
class _ProgramArm(Arm):
    codes: Iterator[str] = field(default_factory=lambda: map(_code, itertools.count(500)))

    def world(self, budget: Budget) -> World:
        line = json.dumps({"component": "all", "score": 0.5})
        cells = {_program(number): lambda workspace: line for number in (4, *range(500, 999))}
        cells[_STUDY] = lambda workspace: line
        tried = ProgramHandedIn(lambda program: "mean score on 5 development instances: 0.7")
        grader = _ProgramScores()
        return World(self.root, budget=budget, cells=cells, grader=grader, hand_in=tried)

    def reply(self, request: ModelRequest) -> str:
        self.requests.append(request)
        found = dict(REPLIES[_NAMES.get(request.reply_name, request.reply_name)])
        if "code" in found:
            found["code"] = next(self.codes)
        if "drafts" in found:
            title = f"Draft {len(self.requests)}"
            found["drafts"] = [{"title": title, "method": "Swap.", "start_from": "attempt-001"}]
        if "block" in found:
            [program] = re.findall(r"# The program\n\n```python\n(.*?)\n```", _text(request), re.DOTALL)
            found["block"] = program
        return json.dumps(found)


def _text(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


def _run(root: Path, agent: str) -> tuple[CampaignState, list[ModelRequest]]:
    made = split_made(program=_LIMITS, metric=_PROBLEM.metric)
    arm = _ProgramArm(root, agent, _PROBLEM, _ENVIRONMENT, evaluations=20, first=_program(4))
    arm.parameters, arm.events = _SMALL, (made,)
    return arm.run(), arm.requests


@pytest.mark.parametrize("agent", AGENTS)
def test_prompts_are_about_programs_alone(agent: str, tmp_path: Path) -> None:
    """No prompt of a whole campaign has a word of tables, and each for code has what programs need."""
    _, requests = _run(tmp_path, agent)
    for request in requests:
        found = _OF_TABLES.search(_text(request))
        assert found is None, _text(request)[max(0, found.start() - 200) : found.end() + 200]
    coding = [r for r in requests if r.reply_name in ("ProgramStep", "Portfolio", "Program", "Solution")]
    written = [text for text in map(_text, coding) if "corrected study" not in text]
    for fact in _FACTS:
        assert all(fact in text for text in written), fact
    assert any(_PROBLEM.preview in text for text in written)


@pytest.mark.parametrize("agent", AGENTS)
def test_campaigns_end_with_a_better_program(agent: str, tmp_path: Path) -> None:
    """The best attempt is the agent's, and its code is one program, whatever ran before it."""
    state, _ = _run(tmp_path, agent)
    assert state.ended is not None
    assert state.best is not None
    assert state.best.score.value.value > 0.5
    [best] = [each for each in state.works.attempts() if each.id == state.best.work_id]
    assert not best.work.is_baseline
    assert best.outcome is not None
    assert re.fullmatch(r"def solve.*\n    return .*", best.outcome.code)
