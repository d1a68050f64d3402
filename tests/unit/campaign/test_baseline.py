"""Attempt 0 is planned by the platform before everything else, and executed without a model."""

from pathlib import Path

import pytest

from comind.baseline.recipe_programs import Program
from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.log.campaign_events import CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import BASELINE_ROLE, Code, Decision, Done, Wait
from comind.campaign.log.work_events import WORK_EVENTS, CellEnded
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.script.cells import cells_of
from comind.campaign.worker import execute
from comind.eventlog.log import read_log
from comind.session.session_ports import CellStatus
from tests.unit.agents.rounds import state_of
from tests.unit.campaign.samples import code, failed, scored
from tests.unit.campaign.world import World


class _Nothing:
    """Plans nothing."""

    def plan(self, state: CampaignState) -> Decision:
        del state
        return Done(reason="nothing")

    def remainder(self, state: CampaignState) -> list[Code]:
        """Plan nothing here either."""
        del state
        return []

    def rejections(self, state: CampaignState) -> dict[str, str]:
        """Reject nothing."""
        del state
        return {}


_PLANNER = BaselineFirst(_Nothing())


def _planned(number: int = 0) -> WorkPlanned:
    return WorkPlanned(
        id=f"attempt-{number:03d}", work=code().model_copy(update={"role": BASELINE_ROLE})
    )


def _tried(outcome: CodeOutcome) -> list[CampaignEvent]:
    return [_planned(), WorkFinished(id="attempt-000", outcome=outcome)]


def test_the_baseline_comes_first() -> None:
    """Attempt 0 is the baseline unless the spec disables it; the agent plans after it has ended."""
    [first] = _PLANNER.plan(state_of())  # type: ignore[misc]
    assert isinstance(first, Code)
    assert (first.role, first.draft.title) == (BASELINE_ROLE, "baseline")
    assert isinstance(_PLANNER.plan(state_of(baseline=False)), Done)
    assert isinstance(_PLANNER.plan(state_of(_planned())), Wait)


def test_a_baseline_that_failed_is_not_retried() -> None:
    """With or without a score, the agent plans once the baseline has ended."""
    for outcome in (scored(0.7), failed()):
        assert isinstance(_PLANNER.plan(state_of(*_tried(outcome))), Done)


def _carry_out(
    root: Path, *programs: str, first: str = "", steps: int = 3
) -> tuple[CodeOutcome, list[str], list[str]]:
    world = World(root, cells={"for ever": lambda _: [(1e9, "too late")]})
    found = tuple(Program(name=name, code=name, first=name == first) for name in programs)
    planned = code(steps=steps)
    budget = planned.budget.model_copy(update={"cell_seconds": 3600})
    work = planned.model_copy(update={"role": BASELINE_ROLE, "budget": budget})
    folder = world.folder.work("attempt-000")
    dependencies = world.dependencies(baseline=lambda: found)
    outcome = execute(world.agent, work, folder, dependencies)
    assert isinstance(outcome, CodeOutcome)
    return outcome, world.ran, [record.event.type for record in read_log(folder.log, WORK_EVENTS)]


def test_its_programs_are_tried_in_turn(tmp_path: Path) -> None:
    """The next program runs only if those before it have no score; the log holds no model reply."""
    outcome, ran, events = _carry_out(tmp_path, "unknown", "good", "better")
    assert ran == ["unknown", "good"]
    assert outcome.code == "good"
    assert outcome.report == "The baseline: the recipe for good."
    assert outcome.spend.calls == 0
    assert not {"call-sent", "call-answered"} & set(events)


def test_a_program_that_takes_too_long_leaves_time_for_a_simpler_one(tmp_path: Path) -> None:
    """Programs before the last have a share of the time left; the last one has a score in time."""
    outcome, ran, _ = _carry_out(tmp_path, "for ever", "good")
    assert ran == ["for ever", "good"]
    assert outcome.score is not None
    log = CampaignFolder(tmp_path / "runs" / "demo-tiny-1").work("attempt-000").log
    events = [record.event for record in read_log(log, WORK_EVENTS)]
    first = next(each.result for each in events if isinstance(each, CellEnded))
    assert first.status is CellStatus.TIMEOUT
    assert first.seconds == pytest.approx(0.7 * code().budget.seconds, rel=0.01)


def test_a_first_answer_is_scored_before_the_recipe(tmp_path: Path) -> None:
    """What is scored within seconds is improved by the recipe, whose solution is without it."""
    outcome, ran, _ = _carry_out(tmp_path, "better", "good", first="good")
    assert ran == ["good", "better"]
    assert outcome.code == "better"
    assert outcome.report == "The baseline: the recipe for better."


def test_a_first_answer_is_what_is_left_of_recipes_that_take_too_long(tmp_path: Path) -> None:
    """Where every recipe is stopped, score and program are those of the first answer."""
    outcome, ran, _ = _carry_out(tmp_path, "for ever", "good", first="good")
    assert ran == ["good", "for ever"]
    assert outcome.score is not None
    assert outcome.code == "good"
    assert "a constant" in outcome.report
    log = CampaignFolder(tmp_path / "runs" / "demo-tiny-1").work("attempt-000").log
    assert [each.code for each in cells_of(WORK_LOG.read(log).cells, 1)] == ["good"]


def test_the_only_step_is_that_of_the_recipe(tmp_path: Path) -> None:
    """A first answer leaves a step for a better one."""
    _, ran, _ = _carry_out(tmp_path, "better", "good", first="good", steps=1)
    assert ran == ["better"]


def test_a_baseline_without_a_score_keeps_what_failed(tmp_path: Path) -> None:
    """Where no program has a score, the outcome holds the last one and its error."""
    outcome, _, _ = _carry_out(tmp_path, "unknown", "look")
    assert outcome.score is None
    assert outcome.last is not None
    assert outcome.last.program.endswith("look")
    assert outcome.last.output == "two columns"
