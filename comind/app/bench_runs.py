"""Grade one run of a bench: a campaign's delivered submission, and those that were best on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comind.app.benches import BenchCell
from comind.app.reporting import CampaignGrader
from comind.bench.results import RunResult, ScorePoint
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.code_metrics import measure
from comind.errors import CompetitionError
from comind.eventlog.store import StateTail
from comind.grading.benchmarks import known_competition
from comind.grading.past_competition import PastGrade
from comind.system.files import hash_file

_NOT_BEGUN, _NOT_ENDED = "not begun", "not ended"


def run_result(cell: BenchCell, curve: "GradedCurve | None", reason: str) -> RunResult:
    """Return the result of a cell.

    A campaign that has not ended counts as failed, without a valid submission, if there is a reason, and
    as missing if it was only not run to its end.
    """
    named: dict[str, Any] = {
        "arm": cell.cell.arm,
        "competition": cell.spec.competition,
        "seed": cell.cell.seed,
        "campaign": cell.spec.id,
        **benchmark_fields(cell.spec.competition),
    }
    if curve is None or (curve.state.ended is None and not reason):
        why = reason or (_NOT_BEGUN if curve is None else _NOT_ENDED)
        return RunResult(**named, status="missing", reason=why, valid=False, maximize=True)
    state = curve.state
    ended, grade = state.ended is not None, curve.grade_file(cell.folder.submission)
    if not ended:
        grade = grade.model_copy(update={"valid": False, "message": reason})
    view = read_view(cell.folder)
    best, spend, (attempts, scored) = view.best, view.spend, view.attempts
    return RunResult(
        **named,
        status="ended" if ended else "failed",
        reason="" if grade.valid else grade.message,
        **graded_fields(grade),
        validation_score=best.score.value.value if best else None,
        seconds=round(spend.seconds, 1),
        usd=round(spend.usd, 6),
        prompt_tokens=spend.prompt_tokens,
        completion_tokens=spend.completion_tokens,
        attempts=attempts,
        valid_attempts=scored,
        curve=tuple(curve.points),
    )


def benchmark_fields(competition: str) -> dict[str, Any]:
    """Return the fields of a result that a benchmark states, where one knows the competition."""
    entry = known_competition(competition)
    return {"category": entry.category, "complexity": entry.complexity} if entry else {}


def graded_fields(grade: PastGrade) -> dict[str, Any]:
    """Return the fields of a result that come from its grade; an invalid submission beats no team."""
    judged = grade.thresholds is not None
    return {
        "valid": grade.valid,
        "maximize": grade.maximize,
        "leaderboard_teams": grade.teams,
        "win_rate": _win_rate(grade),
        "score": grade.score if grade.valid else None,
        "medal": grade.medal if grade.valid else None,
        "above_median": (bool(grade.above_median) and grade.valid) if judged else None,
    }


def _win_rate(grade: PastGrade) -> float | None:
    """Return the share of teams that are beaten, 0 for an invalid submission; None without teams."""
    if grade.valid:
        return grade.win_rate
    return None if grade.teams is None else 0.0


class GradedCurve:
    """The submissions of a campaign that were best by validation, graded on the true answers."""

    def __init__(self, folder: CampaignFolder, grader: CampaignGrader) -> None:
        """Read the log, and grade each new best submission and the delivered one."""
        self._folder, self._grader = folder, grader
        self._tail = StateTail(folder.log, CAMPAIGN_LOG)
        self._graded = dict[str, PastGrade]()
        self.points = list(self._read())

    @property
    def state(self) -> CampaignState:
        """State after what was read."""
        return self._tail.state

    def _read(self) -> Iterator[ScorePoint]:
        known = None
        for record in self._tail.read():
            best = self.state.delivered()
            chosen = (best.id, best.submitted) if best is not None else None
            if best is not None and chosen != known:
                yield self._point(best, record.elapsed)
                known = chosen

    def _point(self, best: Attempt, seconds: float) -> ScorePoint:
        assert best.submitted is not None
        assert best.outcome is not None
        grade = self.grade_file(self._folder.work(best.id).test_submission(best.submitted.step))
        metrics, scored = measure(best.outcome.code), self.state.chosen()
        assert scored is not None  # a refit has no score of its own: its pick has
        assert scored.score is not None
        return ScorePoint(
            seconds=seconds,
            usd=self.state.spend.usd,
            validation_score=scored.score.value.value,
            win_rate=_win_rate(grade),
            code_lines=metrics.source_lines,
            complexity=metrics.cyclomatic_complexity,
        )

    def grade_file(self, submission: Path) -> PastGrade:
        """Grade a file, each content once; one that cannot be graded is invalid, with the reason."""
        key = hash_file(submission) if submission.is_file() else ""
        if key not in self._graded:
            try:
                self._graded[key] = self._grader.grade(self.state, submission)[0]
            except CompetitionError as error:
                split = self.state.split
                self._graded[key] = PastGrade(
                    metric=split.metric if split else "",
                    maximize=split.maximize if split else True,
                    valid=False,
                    message=str(error),
                )
        return self._graded[key]
