"""Grade submissions to past competitions, whose true answers are known."""

from pathlib import Path
from typing import Any

from comind.domain.competition import Competition
from comind.domain.value import Value
from comind.errors import CompetitionError, SubmissionError
from comind.evaluation.grading import AnswerSheet, SubmissionForm, keys_of
from comind.evaluation.leaderboard import Leaderboard, Medal, Thresholds
from comind.evaluation.metrics import Metric, find_metric
from comind.evaluation.splits.split_plan import SplitPlan
from comind.evaluation.tables import read_table

__all__ = ["PastGrade", "grade_past"]


class PastGrade(Value):
    """The score on the true answers; never shown to an agent."""

    score: float | None = None
    interval: tuple[float, float] | None = None
    metric: str
    maximize: bool
    valid: bool
    message: str
    rank: int | None = None
    teams: int | None = None
    win_rate: float | None = None
    medal: Medal | None = None
    above_median: bool | None = None
    thresholds: Thresholds | None = None
    """Of the leaderboard, where scores can be compared with it."""
    notes: tuple[str, ...] = ()
    """What to know of the leaderboard."""


def grade_past(competition: Competition, submission: Path) -> PastGrade:
    """Return how `submission` scores, and where that stands on the private leaderboard.

    Raises:
        CompetitionError: the competition has no answers, or they are broken.
        SubmissionError: the file is missing or not a table at all.
    """
    metric = find_metric(competition)
    if not competition.answers.is_file():
        raise CompetitionError(
            f"{competition.folder}: has no private/answers.csv",
            hint="only past competitions can be graded",
        )
    read_table(submission, SubmissionError)
    report = _answer_sheet(competition, metric).grade(submission)
    board, message = _leaderboard(competition, maximize=metric.maximize)
    told: dict[str, Any] = {"message": report.message or message}
    if board is not None:
        told |= {"teams": board.teams, "thresholds": board.thresholds}
    if report.score is not None:
        value, interval = report.score.value.value, report.score.interval
        told |= {"score": value, "interval": (interval.low, interval.high)}
        if board is not None:
            told |= board.place(value).model_dump() | {"notes": _notes(competition, board, metric)}
    return PastGrade(metric=metric.name, maximize=metric.maximize, valid=report.valid, **told)


def _answer_sheet(competition: Competition, metric: Metric) -> AnswerSheet:
    """Return the true answers, which are for the rows of test.csv and for each of them once."""
    where = competition.answers
    answers = read_table(where, CompetitionError)
    plan = SplitPlan(competition, seed=0)
    for column in (*plan.ids, *plan.targets):
        if column not in answers.columns:
            raise CompetitionError(f"{where}: has no column {column!r}")
    form = SubmissionForm(answers, plan.ids, plan.targets, metric)
    asked = keys_of(plan.test, list(plan.ids))
    if form.keys.has_duplicates or not len(asked) or set(form.keys) != set(asked):
        raise CompetitionError(
            f"{where}: does not have the ids of public/test.csv, each once",
            hint=f"{len(answers)} answers, {len(asked)} rows of test.csv",
        )
    try:
        return AnswerSheet(form, answers)
    except CompetitionError as error:
        raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None


def _leaderboard(competition: Competition, *, maximize: bool) -> tuple[Leaderboard | None, str]:
    """Return the leaderboard that scores can be compared with, or why there is none."""
    path = competition.folder / "leaderboard" / "private.csv"
    if not path.is_file():
        return None, "this competition has no leaderboard"
    if not competition.leaderboard_comparable:
        return None, "this competition's leaderboard was scored on other rows; no rank is given"
    return Leaderboard.read(path, maximize=maximize), ""


def _notes(competition: Competition, board: Leaderboard, metric: Metric) -> tuple[str, ...]:
    path = competition.folder / "leaderboard" / "public.csv"
    other = Leaderboard.read(path, maximize=metric.maximize) if path.is_file() else None
    return tuple(board.notes(best=metric.best, other=other))
