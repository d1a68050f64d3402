"""Attempts whose validation score cannot be trusted are flagged at the end, and not picked."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from comind.campaign.closing.flags import flag_before_folds
from comind.campaign.log.campaign_events import Flag, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_events import WORK_EVENTS, CellEnded, CellStarted, Graded
from comind.campaign.loop import Campaign
from comind.campaign.reports.tuning import tuning_of
from comind.domain.draft import Operator
from comind.domain.metric import Interval, MetricValue, ValidationScore
from comind.eventlog.log import EventLog
from comind.grading.grader_port import CodedReport, GradeReport
from comind.session.session_ports import CellResult, CellStatus
from comind.testing.grader import ColumnGrader
from tests.unit.campaign.blending import BlendingWorld, program
from tests.unit.campaign.samples import code, scored, split_made
from tests.unit.campaign.world import World

_CHEAT = program(0, 0.5).replace(
    "draw.gauss(0, 0.5)", "draw.gauss(0, 3 if float(row['id']) >= 1000 else 0.4)"
)
_STEPS = 5


class _Suspicious(ColumnGrader):
    """Flags the last step of the attempts whose files it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sequence[tuple[Path, Path]]] = []

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:
        self.asked.append(steps)
        return CodedReport(reasons=(*[""] * (len(steps) - 1), "it reads labels"))


def _score(value: float) -> ValidationScore:
    around = Interval(low=value - 0.04, high=value + 0.04)
    metric = MetricValue(value=value, maximize=True)
    return ValidationScore(metric="accuracy", value=metric, interval=around, rows=300)


def _ended(campaign: Campaign, name: str, value: float, own: float | None = None) -> None:
    """Record an attempt whose last of five steps is its result."""
    place = campaign.folder.work(name)
    campaign.record(WorkPlanned(id=name, work=code()))
    with EventLog(place.log, WORK_EVENTS) as log:
        for step in range(1, _STEPS + 1):
            hashes = []
            for file in (place.validation_submission(step), place.test_submission(step)):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(str(value))
                hashes.append(hashlib.sha256(file.read_bytes()).hexdigest())
            submitted = Submitted(step=step, validation_sha256=hashes[0], test_sha256=hashes[1])
            report = GradeReport(valid=True, score=_score(value))
            result = CellResult(status=CellStatus.OK)
            log.append(CellStarted(ordinal=2 * step, step=step, goal="Fit.", code="fit()"))
            log.append(CellEnded(ordinal=2 * step, result=result, submitted=submitted))
            log.append(Graded(ordinal=2 * step + 1, submitted=submitted, report=report))
    changed = {
        "score": _score(value),
        "submitted": submitted,
        "out_of_fold": None if own is None else _score(own),
    }
    campaign.record(WorkFinished(id=name, outcome=scored(value).model_copy(update=changed)))


def _closing(root: Path, *own: float | None) -> tuple[CampaignState, _Suspicious]:
    """Return the state of a campaign with flags; attempts by their out-of-fold scores."""
    grader = _Suspicious()
    world = World(root, grader=grader)
    campaign = world.campaign()
    campaign.record(split_made())
    for number, score in enumerate(own):
        _ended(campaign, f"attempt-{number:03d}", 0.98 - 0.01 * number, score)
    flag_before_folds(campaign, grader)
    campaign.close()
    return campaign.state, grader


def test_an_attempt_that_reads_labels_is_no_candidate(tmp_path: Path) -> None:
    """The grader sees all graded steps of an attempt; what it flags is left out, and is a warning."""
    state, grader = _closing(tmp_path, None)
    assert [len(steps) for steps in grader.asked] == [_STEPS]
    assert state.flags == (Flag(work_id="attempt-000", reason="it reads labels", excludes=True),)
    [warning] = tuning_of(state, {}).warnings
    assert warning == "attempt-000 is rejected: it reads labels"
    assert [each.id for each in state.works.best_first()] == ["attempt-000"], "nothing else has a score"


def test_a_flagged_attempt_gives_way_to_any_other(tmp_path: Path) -> None:
    """It is rejected without the reason, which agents of a resumed campaign might see, and once."""
    grader = _Suspicious()
    campaign = World(tmp_path, grader=grader).campaign()
    campaign.record(split_made())
    _ended(campaign, "attempt-000", 0.98)
    flag_before_folds(campaign, grader)
    _ended(campaign, "attempt-001", 0.7)
    state = campaign.state
    assert state.flags == (), "the final phase looks again"
    assert [each.id for each in state.works.best_first()] == ["attempt-001"]
    assert state.works.attempt("attempt-000").rejected.endswith("cannot be trusted")
    assert state.best is not None
    assert state.best.work_id == "attempt-001"
    campaign.close()


@pytest.mark.parametrize(
    ("own", "flagged"),
    [
        ((0.6,), True),
        ((0.95,), False),
        ((0.6, 0.6), False),
        ((0.6, 0.97), True),
    ],
)
def test_a_score_far_from_its_out_of_fold_score_is_said(
    tmp_path: Path, own: tuple[float, ...], flagged: bool
) -> None:
    """Such an attempt stays a candidate, as its file may be wrong; a gap that others have is usual."""
    state, _ = _closing(tmp_path, *own)
    found = [each for each in state.flags if "out-of-fold" in each.reason]
    assert [each.work_id for each in found] == (["attempt-000"] if flagged else [])
    assert not any(each.excludes for each in found)


def test_a_script_that_knows_the_validation_rows_is_not_picked(tmp_path: Path) -> None:
    """An attempt with validation labels in its code is flagged by its scores on folds."""
    programs = [_CHEAT, _CHEAT, *[program(7, 0.42)] * 2, *[program(8, 0.45)] * 2]
    world = BlendingWorld.of(tmp_path, programs, 2)
    campaign = world.campaign(blend=True, coders=1, refit=False, folds="auto", pick="best")
    campaign.record(split_made(metric="rmse", maximize=False))
    state = world.run(campaign)
    assert state.picked is not None
    cheat = state.works.attempt("attempt-000")
    assert state.works.runs_of(cheat.id, Operator.FOLD)
    [flag] = state.flags
    assert (flag.work_id, flag.excludes) == (cheat.id, True)
    assert "is far from the score of its script on folds" in flag.reason
    assert state.picked.leaderboard[-1].work_id == cheat.id
    assert state.picked.work_id != cheat.id
    assert state.picked.folds > 0
