"""Grade submissions to past competitions, whose true answers are known."""

from pathlib import Path

from comind.domain.competition import Competition
from comind.domain.value import Value
from comind.errors import CompetitionError, SubmissionError
from comind.evaluation.grading import AnswerSheet, SubmissionForm
from comind.evaluation.leaderboard import Leaderboard, Standing
from comind.evaluation.metrics import find_metric
from comind.evaluation.splitting import target_columns
from comind.evaluation.tables import read_table

__all__ = ["PastGrade", "grade_past"]


class PastGrade(Value):
    """The score on the true answers; never shown to an agent."""

    score: float | None
    metric: str
    maximize: bool
    valid: bool
    message: str
    rank: int | None = None
    teams: int | None = None
    win_rate: float | None = None
    medal: str | None = None
    above_median: bool | None = None


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
    answers = read_table(competition.answers, CompetitionError)
    targets = target_columns(competition, read_table(_sample(competition), CompetitionError))
    for column in (*competition.id_columns, *targets):
        if column not in answers.columns:
            raise CompetitionError(f"{competition.answers}: has no column {column!r}")
    form = SubmissionForm(answers, competition.id_columns, targets, metric)
    report = AnswerSheet(form, answers).grade(submission)
    if report.score is None:
        return PastGrade(
            score=None,
            metric=metric.name,
            maximize=metric.maximize,
            valid=False,
            message=report.message,
        )
    value = report.score.value.value
    standing, message = _standing(competition, value, maximize=metric.maximize)
    return PastGrade(
        score=value,
        metric=metric.name,
        maximize=metric.maximize,
        valid=True,
        message=message,
        **(standing.model_dump() if standing else {}),
    )


def _sample(competition: Competition) -> Path:
    return competition.public / "sample_submission.csv"


def _standing(competition: Competition, value: float, *, maximize: bool) -> tuple[Standing | None, str]:
    path = competition.folder / "leaderboard" / "private.csv"
    if not path.is_file():
        return None, "this competition has no leaderboard"
    if not competition.leaderboard_comparable:
        return None, "this competition's leaderboard was scored on other rows; no rank is given"
    return Leaderboard.read(path, maximize=maximize).place(value), ""
