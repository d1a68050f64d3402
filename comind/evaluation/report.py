"""What the grader answers, and the port through which it is asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from comind.domain.metric import Paired, ValidationScore
from comind.domain.value import Value

__all__ = [
    "NO_FOLDS",
    "BlendReport",
    "ClosingGrader",
    "ErrorReport",
    "GradeReport",
    "Grader",
    "Part",
    "Parts",
]

NO_FOLDS: Mapping[int, Sequence[Path]] = MappingProxyType({})
"""Of a blend that is judged on the split's own validation rows alone."""


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


class BlendReport(Value):
    """A weighted average of submissions, or the one line that says why there is none.

    It is all that a blend tells of the labels: few members, small whole weights, three rounded numbers.
    """

    reason: str = ""
    """Why the average is not worth having; empty where it is."""
    candidates: int = 0
    """How many of the submissions differ from each other."""
    mean: str = ""
    """What is averaged (`blending/averaging.py`)."""
    ids: tuple[str, ...] = ()
    """The columns of a submission that name its rows."""
    targets: tuple[str, ...] = ()
    """The columns that are averaged."""
    members: tuple[int, ...] = ()
    """Places in the request, the heaviest first."""
    weights: tuple[tuple[int, ...], ...] = ()
    """Of each member: one for all target columns, or one for each."""
    gain: Paired | None = None
    """Over the best single submission, on rows that neither of the two was selected on."""


class ErrorReport(Value):
    """How far the errors of submissions go together, or the one line that says why it is not told."""

    reason: str = ""
    correlations: tuple[tuple[float, ...], ...] = ()
    """Of each submission with each one before it in the request: twentieths from 0 to 1."""


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


class ClosingGrader(Grader, Protocol):
    """What only the campaign itself may ask; no attempt has a grader that answers it."""

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return how far the errors of valid validation submissions go together; asked between rounds.

        Raises:
            GraderError: also where it cannot read one of them.
        """
        ...

    def fold(self, number: int) -> Grader:
        """Return who grades submissions for fold `number`, from 1, of the split.

        Raises:
            CompetitionError: the labelled rows do not bear so many folds.
            GraderError: the split has no folds at all.
        """
        ...

    def blend(
        self, candidates: Sequence[Path], folds: Mapping[int, Sequence[Path]] = NO_FOLDS
    ) -> BlendReport:
        """Return the best average of valid validation submissions, given the best first.

        With `folds`, the same candidates' submissions for these: it is selected and judged over the rows
        of all of them.

        Raises:
            GraderError: also where it cannot read one of them.
        """
        ...
