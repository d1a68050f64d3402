"""Errors are compared when the planner asks for it, recorded, and replayed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from comind.campaign.comparison import compare_errors
from comind.campaign.log.campaign_events import ErrorsCompared
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Compare, Decision, Done
from comind.campaign.loop import run
from comind.errors import CampaignError, GraderError
from comind.grading.grader_port import ErrorReport
from comind.testing import ColumnGrader, ThreadExecutor, TinyAgent
from tests.unit.agents.rounds import attempt, baseline, state_of
from tests.unit.campaign.samples import code, scored
from tests.unit.campaign.world import World


class _Errors(ColumnGrader):
    """Reports a correlation of one half; records its calls."""

    def __init__(self, *, gone: bool = False) -> None:
        super().__init__()
        self.asked: list[list[str]] = []
        self._gone = gone

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        if self._gone:
            raise GraderError("the grader does not answer")
        self.asked.append([each.parts[-4] for each in submissions])
        return ErrorReport(correlations=tuple((0.5,) * before for before in range(len(submissions))))


class _Comparing(TinyAgent):
    """Plans a comparison whenever it is allowed, and once more at the end if `insists`."""

    def __init__(self, *, insists: bool = False) -> None:
        super().__init__()
        self._insists = insists

    def plan(self, state: CampaignState) -> Decision:
        if state.may_compare():
            return Compare()
        planned = super().plan(state)
        return Compare() if isinstance(planned, Done) and self._insists else planned


def _run(world: World, grader: _Errors, agent: TinyAgent) -> CampaignState:
    campaign = world.campaign(ensemble=True, coders=1)
    executor = ThreadExecutor(world.folder, agent, world.dependencies())
    try:
        run(campaign, agent, executor, grader=grader)
        return campaign.state
    finally:
        campaign.close()


def test_a_planner_has_errors_compared(tmp_path: Path) -> None:
    """Each comparison covers what was scored by then; any prefix of the log resumes to the same."""
    grader, world = _Errors(), World(tmp_path)
    state = _run(world, grader, _Comparing())
    assert grader.asked == [
        ["attempt-001", "attempt-000"],
        ["attempt-001", "attempt-002", "attempt-000"],
    ]
    assert state.compared is not None
    assert state.compared.correlation("attempt-000", "attempt-002") == 0.5
    lines = world.folder.log.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        world.folder.log.write_bytes(b"".join(lines[:cut]))
        recorded = sum(b"errors-compared" in line for line in lines[:cut])
        again = _Errors()
        resumed = _run(World(tmp_path), again, _Comparing())
        assert resumed.compared == state.compared
        assert len(again.asked) == 2 - recorded


def test_a_grader_that_is_gone_halts_the_campaign(tmp_path: Path) -> None:
    """Work in flight finishes, then the error is raised; with a grader the campaign resumes."""
    with pytest.raises(GraderError):
        _run(World(tmp_path), _Errors(gone=True), _Comparing())
    state = _run(World(tmp_path), _Errors(), _Comparing())
    assert len(state.works.attempts()) == 3
    assert not state.works.in_flight()


def test_a_planner_that_insists_is_told_in_a_line(tmp_path: Path) -> None:
    """A comparison that is not allowed is an error that names the agent."""
    with pytest.raises(CampaignError, match="asks for a comparison that is not allowed"):
        _run(World(tmp_path), _Errors(), _Comparing(insists=True))


def test_a_submission_that_was_changed_is_not_compared(tmp_path: Path) -> None:
    """A submission that was changed after grading is an error."""
    world = World(tmp_path)
    state = _run(world, _Errors(), TinyAgent())
    world.folder.work("attempt-001").validation_submission(1).write_text("0.2")
    with pytest.raises(CampaignError, match="was changed after it was graded"):
        compare_errors(state, world.folder, _Errors())


def test_when_errors_may_be_compared() -> None:
    """A comparison needs the option, two scores, a new attempt, and fewer than ten before it."""
    two = [*baseline(), *attempt(1, code(), scored(0.8))]
    assert not state_of(*two).may_compare()
    assert not state_of(*baseline(), ensemble=True).may_compare()
    state = state_of(*two, ensemble=True)
    assert state.may_compare()
    known = ErrorsCompared(attempts=state.comparable(), correlations=((), (0.5,)))
    assert known.attempts == ("attempt-001", "attempt-000")
    assert not state_of(*two, known, ensemble=True).may_compare()
    assert state_of(*two, known, *attempt(2, code(), scored(0.5)), ensemble=True).may_compare()
    never = known.model_copy(update={"correlations": (), "reason": "too few rows"})
    assert not state_of(*two, never, *attempt(2, code(), scored(0.5)), ensemble=True).may_compare()
    often = [known] * 10
    assert not state_of(*two, *often, *attempt(2, code(), scored(0.5)), ensemble=True).may_compare()


def test_a_table_says_itself_in_a_line() -> None:
    """The text has the number of attempts and the lowest correlation."""
    table = ErrorsCompared(attempts=("a", "b", "c"), correlations=((), (0.9,), (0.8, 0.85)))
    assert str(table) == "3 attempts, lowest 0.8 (a and c)"
    assert table.correlation("c", "b") == table.correlation("b", "c") == 0.85
    assert table.correlation("a", "a") is table.correlation("a", "d") is None
    assert str(ErrorsCompared(attempts=("a", "b"), reason="few rows")) == "not compared: few rows"
