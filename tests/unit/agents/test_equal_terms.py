"""Agents are told the same facts, have the same evaluations, and all or none see the baseline."""

from collections.abc import Callable
from pathlib import Path

import pytest

from comind.domain.environment import Environment, Machine, StoreItem
from comind.llm.model_ports import ModelRequest
from tests.unit.agents.arms import AGENTS, BASELINE, Arm
from tests.unit.agents.samples import PROBLEM

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


def _arm(root: Path, agent: str, baseline: str = "visible") -> Arm:
    return Arm(root, agent, _PROBLEM, _ENVIRONMENT, baseline)


def _prompts(arm: Arm, wanted: Callable[[ModelRequest], bool] = lambda request: True) -> list[str]:
    return ["\n".join(m.content for m in each.messages) for each in arm.requests if wanted(each)]


@pytest.mark.parametrize("agent", AGENTS)
def test_each_fact_is_in_the_prompts_of_every_agent(agent: str, tmp_path: Path) -> None:
    """Each prompt for a program has all that the platform knows; the view of the data is in some."""
    arm = _arm(tmp_path, agent)
    arm.run()
    asked = _prompts(arm, lambda each: each.reply_name in {"Program", "Solution", "CodingStep"})
    studies = ("writes no files", "corrected study")  # of ablations, which hand nothing in
    written = [each for each in asked if not any(words in each for words in studies)]
    for fact, texts in _FACTS.items():
        enough = any if fact == "data" else all
        assert enough(text in each for each in written for text in texts), fact


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_ends_with_the_same_number_of_evaluations(agent: str, tmp_path: Path) -> None:
    """Four submissions of each are graded where its own plan would go on; the baseline is none."""
    state = _arm(tmp_path, agent).run()
    assert state.spend.evaluations == 4
    assert state.ended is not None
    assert state.ended.detail == "4 of 4 evaluations are used up"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("baseline", ["visible", "hidden", "none"])
def test_the_baseline_is_seen_by_every_agent_or_by_none(
    agent: str, baseline: str, tmp_path: Path
) -> None:
    """Visible, its code and score are in a prompt; hidden, it is scored, and no prompt has either."""
    arm = _arm(tmp_path, agent, baseline)
    state = arm.run()
    shown = "\n".join(_prompts(arm))
    assert (BASELINE in shown) is (baseline == "visible")
    assert ("0.97" in shown) is (baseline == "visible")
    assert ("[attempt-000] The baseline ran 0.0 s" in shown) is (baseline == "visible")
    scored = [each for each in state.works.attempts() if each.outcome and BASELINE in each.outcome.code]
    assert len(scored[:1]) == (baseline != "none")


@pytest.mark.parametrize(
    ("agent", "seen"),
    [("aide", True), ("automind", True), ("greedy", True), ("funsearch", False), ("mlestar", False)],
)
def test_what_attempts_measured_is_told_where_they_are_shown(
    agent: str, seen: bool, tmp_path: Path
) -> None:
    """Islands and independent solutions are told the baseline's facts alone."""
    arm = _arm(tmp_path, agent)
    arm.run()
    assert ("[attempt-001] Step 1 ran" in "\n".join(_prompts(arm))) is seen


_TOLD = ("description", "metric", "machine", "packages", "store")


@pytest.mark.parametrize("baseline", ["visible", "hidden", "none"])
def test_a_program_of_others_is_told_the_same_facts(baseline: str, tmp_path: Path) -> None:
    """They are in the task that it reads, with validation rows among test rows; so is the baseline."""
    arm = _arm(tmp_path, "external", baseline)
    arm.run()
    [task] = [each for each in arm.ran if "work/task.md" in each]
    for fact in _TOLD:
        for text in _FACTS[fact]:
            assert text in task, fact
    for text in ("301 rows", "205 in all", "cell_id, state", "outline: 40 numbers, 3 % missing"):
        assert text in task
    assert ("baseline.py` was scored" in task and BASELINE in task) is (baseline == "visible")
    assert ("[attempt-000] The baseline ran 0.0 s" in task) is (baseline == "visible")
