"""Grade one run of a bench: the agent's own choice, those before it, and what the platform delivers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comind.app.benches import BenchCell
from comind.app.reporting import CampaignGrader
from comind.bench.results import RunResult, ScorePoint
from comind.campaign.log.campaign_events import AttemptRejected, WorkFinished
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.code_metrics import measure
from comind.campaign.reports.lint_score import LintScores
from comind.domain.code_metrics import RatedProgram
from comind.domain.problem import DataShape
from comind.errors import CompetitionError
from comind.eventlog.store import StateTail
from comind.grading.benchmarks import known_competition
from comind.grading.past_competition import PastGrade
from comind.profile.problem_description import describe_problem
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_file
from comind.wiring.agents import WITHOUT_MODEL, runs_foreign_programs

_CATEGORIES = {
    DataShape.TABLE: "tabular",
    DataShape.TEXT: "text",
    DataShape.TEXT_TO_TEXT: "seq2seq",
    DataShape.IMAGES: "image",
    DataShape.MASKS: "segmentation",
    DataShape.PIXELS: "image to image",
    DataShape.AUDIO: "audio",
    DataShape.PANEL: "time series",
    DataShape.INSTANCES: "optimisation",
}
"""Kinds of data in the words of MLE-bench's catalog; some are followed by the kind of answer."""
_WHOLE = ("seq2seq", "segmentation", "image to image", "time series", "optimisation")
_NOT_BEGUN, _NOT_ENDED = "not begun", "not ended"


def run_result(cell: BenchCell, curve: "GradedCurve | None", reason: str, lint: LintScores) -> RunResult:
    """Return the result of a cell.

    A campaign that has not ended counts as failed, without a valid submission, if there is a reason, and
    as missing if it was only not run to its end.
    """
    named: dict[str, Any] = {
        "arm": cell.cell.arm,
        "competition": cell.spec.competition,
        "seed": cell.cell.seed,
        "campaign": cell.spec.id,
        **(benchmark_fields(cell.spec.competition) or _inferred_fields(cell, curve)),
    }
    if curve is None or (curve.state.ended is None and not reason):
        why = reason or (_NOT_BEGUN if curve is None else _NOT_ENDED)
        return RunResult(**named, status="missing", reason=why, valid=False, maximize=True)
    own, ended = own_choice(curve.state), curve.state.ended is not None
    grade = curve.grade_attempt(own) if own else curve.no_grade("no attempt of the agent has a score")
    if not ended:
        grade = grade.model_copy(update={"valid": False, "message": reason})
    delivered, view = curve.grade_file(cell.folder.submission), read_view(cell.folder)
    foreign = runs_foreign_programs(curve.state.spec)  # its cells are ours
    spend, (attempts, scored) = view.spend, view.attempts
    return RunResult(
        **named,
        status="ended" if ended else "failed",
        reason="" if grade.valid else grade.message,
        **graded_fields(grade),
        normalised_score=_normalised(curve.state, grade),
        validation_score=own.score.value.value if own and own.score else None,
        platform_score=delivered.score if delivered.valid and ended else None,
        platform_win_rate=_win_rate(delivered) if ended else None,
        seconds=round(spend.seconds, 1),
        usd=round(spend.usd, 6),
        prompt_tokens=spend.prompt_tokens,
        cached_tokens=spend.cached_tokens,
        completion_tokens=spend.completion_tokens,
        evaluations=spend.evaluations,
        attempts=attempts,
        valid_attempts=scored,
        program=_rated(own.outcome.code, lint) if own and own.outcome and not foreign else None,
        curve=tuple(curve.points),
    )


def _normalised(state: CampaignState, grade: PastGrade) -> float | None:
    """Return the score of a competition of programs, 0 without a valid program; None of tables."""
    if not state.submits_programs:
        return None
    return grade.score if grade.valid and grade.score is not None else 0.0


def _rated(code: str, lint: LintScores) -> RatedProgram:
    return RatedProgram(**dict(measure(code)), pylint_score=lint.of(code))


def own_choice(state: CampaignState) -> Attempt | None:
    """Return the attempt of the agent that validation scores best, without what the platform adds.

    Attempts that it rejected are no choice of its own, and neither is the baseline, unless it is the
    agent.
    """
    platform = state.spec.agent == WITHOUT_MODEL
    tried = state.works.best_first()
    own = (each for each in tried if platform or not each.work.is_baseline)
    return next((each for each in own if not each.rejected), None)


def _inferred_fields(cell: BenchCell, curve: "GradedCurve | None") -> dict[str, Any]:
    """Return the kind of a competition that no benchmark describes, by the data of its split."""
    split = curve.state.split if curve is not None else None
    if split is None:
        return {}
    folder = SplitFolder(ProjectFolder(cell.folder.root.parent.parent).splits / split.key)
    if not folder.is_complete:
        return {}
    problem = describe_problem(folder)
    data, answer = _CATEGORIES[problem.shape], "cls" if problem.answer_kind.of_classes else "reg"
    return {"category": data if data in _WHOLE else f"{data} {answer}"}


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
        """Read the log, and grade each new best submission of the agent."""
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
            if not isinstance(record.event, WorkFinished | AttemptRejected):
                continue
            best = own_choice(self.state)
            if best is not None and best.id != known:
                yield self._point(best)
                known = best.id

    def _point(self, best: Attempt) -> ScorePoint:
        assert best.outcome is not None
        assert best.score is not None
        own = not runs_foreign_programs(self.state.spec)
        metrics = measure(best.outcome.code) if own else None
        return ScorePoint(
            seconds=self.state.spend.seconds,
            usd=self.state.spend.usd,
            tokens=self.state.spend.tokens,
            validation_score=best.score.value.value,
            win_rate=_win_rate(self.grade_attempt(best)),
            code_lines=metrics.source_lines if metrics else None,
            complexity=metrics.cyclomatic_complexity if metrics else None,
        )

    def grade_attempt(self, attempt: Attempt) -> PastGrade:
        """Grade the best test submission of an attempt."""
        assert attempt.submitted is not None, "it has a score"
        return self.grade_file(self._folder.work(attempt.id).test_submission(attempt.submitted.step))

    def no_grade(self, reason: str) -> PastGrade:
        """Return the grade of a submission that does not exist, or cannot be graded."""
        split = self.state.split
        return PastGrade(
            metric=split.metric if split else "",
            maximize=split.maximize if split else True,
            valid=False,
            message=reason,
        )

    def grade_file(self, submission: Path) -> PastGrade:
        """Grade a file, each content once; one that cannot be graded is invalid, with the reason."""
        key = hash_file(submission) if submission.is_file() else ""
        if key not in self._graded:
            try:
                self._graded[key] = self._grader.grade(self.state, submission)[0]
            except CompetitionError as error:
                self._graded[key] = self.no_grade(str(error))
        return self._graded[key]
