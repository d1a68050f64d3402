"""Grade submissions to past competitions with known answers."""

from functools import cached_property
from pathlib import Path
from typing import Any

from comind.domain.competition import Competition
from comind.domain.value import Value
from comind.errors import SubmissionError
from comind.grading.leaderboard import Leaderboard, Medal, Thresholds
from comind.grading.true_answers import Answers, check_answers_exist
from comind.metrics import Metric, find_metric
from comind.tables.csv_tables import read_table

NO_SUBMISSION = "there is no submission"


class PastGrade(Value):
    """The score on the true answers; not visible to agents."""

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
    """Of the leaderboard, if it is comparable."""
    notes: tuple[str, ...] = ()
    """Warnings about the form of the predictions, and about the leaderboard."""


class PastAnswers:
    """Grades submissions to one past competition; answers and leaderboard are read once."""

    def __init__(self, competition: Competition) -> None:
        """Check that there are answers; they are read with the first submission.

        Raises:
            CompetitionError: there are none, or the metric is unknown.
        """
        find_metric(competition)  # its line comes before those on the tables
        check_answers_exist(competition)
        self.competition = competition

    def grade(self, submission: Path) -> PastGrade:
        """Score `submission` and rank it on the private leaderboard.

        Raises:
            CompetitionError: the answers are invalid.
            SubmissionError: the file is missing or not a table.
        """
        table = read_table(submission, SubmissionError)
        metric, report = self._answers.metric, self._answers.grade(submission)
        board, message = self._board
        fields: dict[str, Any] = {"message": report.message or message}
        if board is not None:
            fields |= {"teams": board.teams, "thresholds": board.thresholds}
        if report.score is not None:
            value, interval = report.score.value.value, report.score.interval
            fields |= {"score": value, "interval": (interval.low, interval.high)}
            notes = self._answers.schema.form_notes(table)
            if board is not None:
                notes += _notes(self.competition, board, metric)
                fields |= board.place(value).model_dump()
            fields |= {"notes": notes}
        return PastGrade(metric=metric.name, maximize=metric.maximize, valid=report.valid, **fields)

    @cached_property
    def _answers(self) -> Answers:
        return Answers.of_test(self.competition)

    @cached_property
    def _board(self) -> tuple[Leaderboard | None, str]:
        return leaderboard_of(self.competition, maximize=self._answers.metric.maximize)


def grade_past(competition: Competition, submission: Path) -> PastGrade:
    """Score one submission and rank it; see `PastAnswers`."""
    return PastAnswers(competition).grade(submission)


def grade_published(competition: Competition, score: float) -> PastGrade:
    """Rank a score on the public part of the test rows on the public leaderboard.

    Without a public leaderboard it is ranked on the private one.
    """
    metric = find_metric(competition)
    files = [competition.folder / "leaderboard" / f"{name}.csv" for name in ("public", "private")]
    known = [file for file in files if file.is_file()] if competition.leaderboard_comparable else []
    grade = PastGrade(score=score, metric=metric.name, maximize=metric.maximize, valid=True, message="")
    if not known:
        return grade
    board = Leaderboard.read(known[0], maximize=metric.maximize)
    standing = board.place(score).model_dump() | {"thresholds": board.thresholds}
    return grade.model_copy(update=standing)


def leaderboard_of(competition: Competition, *, maximize: bool) -> tuple[Leaderboard | None, str]:
    """Return the leaderboard, or None and the reason why scores cannot be ranked."""
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
