"""What the grader answers, and the port through which it is asked."""

from pathlib import Path
from typing import Protocol

from comind.domain.metric import Paired, ValidationScore
from comind.domain.value import Value

__all__ = ["GradeReport", "Grader", "Part", "Parts"]


class Part(Value):
    """The score over one target column, or over some of the rows, alone."""

    name: str
    """One short line."""
    value: float
    """In units of the metric, rounded."""
    share: float
    """Of the columns, or of the rows, from 0 to 1."""


class Parts(Value):
    """How a score divides; rounded and bounded, as each part says something of sealed labels."""

    by: str
    """`target`, or the column of validation.csv whose values or blocks of time the parts are."""
    count: int
    """How many parts there are in all."""
    worst: tuple[Part, ...]
    """The worst first; where there are many, these alone."""


class GradeReport(Value):
    """The verdict on one submission: a score, or the one line that says what is wrong with it."""

    valid: bool
    message: str = ""
    score: ValidationScore | None = None
    parts: tuple[Parts, ...] = ()
    """How the score divides, where that can be told; nothing in old logs."""


class Grader(Protocol):
    """Scores submissions against labels that only it can read.

    Each method raises GraderError where the grader is gone or answers nonsense.
    """

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the verdict on a pair of submissions from one step.

        The validation submission is scored; the test submission is only checked for its form, as
        its score is nobody's to know. Something wrong with either is a report, not an error.
        """
        ...

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Return the score of predictions for rows of train.csv, over the rows that are there.

        These labels are no secret: who hands them in says that no model had seen the row it predicts.
        Something wrong with them is a report, not an error.
        """
        ...

    def check(self, test: Path) -> GradeReport:
        """Return whether a test submission has the right form; the report has no score."""
        ...

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better one valid validation submission is than another.

        Raises:
            GraderError: also where it cannot read one of them.
        """
        ...
