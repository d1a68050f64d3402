"""Use of the validation rows, read from a campaign's logs."""

from dataclasses import replace
from pathlib import Path

import pytest

from comind.campaign.log.campaign_events import ErrorsCompared, WorkFinished, WorkPlanned
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_events import CellEnded, CellStarted, Graded, WorkEvent
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.tuning import Tuning, tuning_of
from comind.domain.metric import Interval, Paired
from comind.domain.revealed_bits import PAIRED_BITS, grading_bits, table_bits
from comind.grading.grader_port import GradeReport
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.agents.rounds import state_of
from tests.unit.campaign.samples import code, score, scored, split_made
from tests.unit.campaign.work_logs import records_of
from tests.unit.campaign.world import World


def _attempt(
    *values: float, error: float = 0.02, folds: bool = False, maximize: bool = True
) -> AttemptState:
    """Return an attempt whose steps got these scores."""
    events: list[WorkEvent] = []
    best = None
    for step, value in enumerate(values, start=1):
        submitted = Submitted(step=step, validation_sha256=f"a{step}", test_sha256="b")
        paired = None
        if best is not None:
            around = Interval(low=value - best, high=value - best)
            paired = Paired(difference=value - best, standard_error=error, interval=around)
        report = GradeReport(valid=True, score=score(value, maximize=maximize))
        result = CellResult(status=CellStatus.OK)
        events += [
            CellStarted(ordinal=2 * step, step=step, goal="Fit.", code="fit()"),
            CellEnded(ordinal=2 * step, result=result, submitted=submitted),
            Graded(
                ordinal=2 * step + 1,
                submitted=submitted,
                report=report,
                gain=paired,
                out_of_fold=report if folds else None,
            ),
        ]
        best = value
    return WORK_LOG.fold(records_of(*events))


def _tuning(*attempts: AttemptState) -> Tuning:
    works = {f"attempt-{number:03d}": each for number, each in enumerate(attempts)}
    planned = [WorkPlanned(id=name, work=code()) for name in works]
    ended = [WorkFinished(id=name, outcome=scored(0.5)) for name in works]
    return tuning_of(state_of(split_made(validation_rows=300), *planned, *ended), works)


def test_every_graded_step_counts() -> None:
    """Graded steps of all attempts are counted, out-of-fold predictions apart."""
    found = _tuning(_attempt(0.7, 0.8, folds=True), _attempt(0.75))
    assert (found.gradings, found.out_of_fold, found.rows) == (3, 2, 300)
    assert str(found).startswith("3 gradings that could reveal 84 bits, optimism about 0.0")


def test_a_comparison_with_another_attempt_is_counted_in_bits() -> None:
    """The paired difference of an attempt to its reference reveals as much as one between steps."""
    around = Interval(low=0, high=0.1)
    gain = Paired(difference=0.05, standard_error=0.02, interval=around)
    outcome = scored(0.5).model_copy(update={"gain": gain})
    compared = replace(_attempt(0.5), outcome=outcome)
    assert _tuning(compared).bits == pytest.approx(_tuning(_attempt(0.5)).bits + PAIRED_BITS)


def test_what_agents_were_shown_is_counted_in_bits() -> None:
    """Each grading counts its score, its difference and its place among all; each table its figures."""
    found = _tuning(_attempt(0.7, 0.8), _attempt(0.75))
    expected = (grading_bits(1, 0, paired=False), grading_bits(2, 0, paired=True))
    assert found.bits == pytest.approx(sum(expected) + grading_bits(3, 0, paired=False))
    names = tuple(f"attempt-{number:03d}" for number in range(3))
    compared = ErrorsCompared(attempts=names, correlations=((), (0.5,), (0.5, 0.7)))
    state = state_of(split_made(validation_rows=300), compared, compared)
    assert tuning_of(state, {}).bits == pytest.approx(2 * table_bits(3))


def test_one_grading_chooses_nothing() -> None:
    """A campaign of the baseline alone has neither optimism nor warning."""
    found = _tuning(_attempt(0.7))
    assert (found.gradings, found.optimism, found.warnings) == (1, None, ())
    assert str(found) == "1 grading that could reveal 21 bits"
    assert _tuning() == Tuning(rows=300)


def test_attempts_within_the_noise_are_warned_of() -> None:
    """If half of the others, at least two, are within one standard error, there is a warning."""
    [rows, tuned] = _tuning(_attempt(0.80, 0.81), _attempt(0.80, 0.805), _attempt(0.79, 0.8)).warnings
    assert rows == (
        "300 validation rows cannot tell the best attempt from others: 2 of 2 are within one standard "
        "error (0.02)"
    )
    assert "as the best of 6 gradings on the same 300 rows; it leads by 0.005" in tuned


def test_a_clear_leader_is_not_warned_of() -> None:
    """If the best score leads by more than its optimism there is no warning."""
    found = _tuning(_attempt(0.5, 0.9, error=0.005), _attempt(0.6, 0.7), _attempt(0.65, 0.66))
    assert found.warnings == ()


def test_less_may_be_better() -> None:
    """Differences are in units of the metric, for losses as for scores."""
    more = _tuning(_attempt(0.80, 0.81), _attempt(0.79, 0.805))
    less = _tuning(_attempt(-0.80, -0.81, maximize=False), _attempt(-0.79, -0.805, maximize=False))
    assert (less.lead, less.near, less.optimism) == (more.lead, more.near, more.optimism)


def test_a_campaign_is_read_from_its_folder(tmp_path: Path) -> None:
    """Tuning is read from logs on disk; work without a log is ignored."""
    world = World(tmp_path)
    campaign = world.campaign()
    campaign.record(split_made())
    world.run(campaign)
    found = read_view(world.folder).tuning
    assert found.gradings == sum(len(_graded(log)) for log in world.folder.logs())
    assert found.gradings >= 3
    (world.folder.work("attempt-001").log).unlink()
    assert read_view(world.folder).tuning.gradings < found.gradings


def _graded(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if '"graded"' in line]
