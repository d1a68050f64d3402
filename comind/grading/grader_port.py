"""Define the grader's interface and the reports that it returns."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import Field

from comind.domain.metric import Paired, ValidationScore
from comind.domain.value import Value


class SubsetScore(Value):
    """The score over one target column or over a subset of the rows."""

    name: str
    """Name of the target, group or block; one short line."""
    value: float
    """In units of the metric, rounded."""
    share: float
    """Share of the columns or rows, from 0 to 1."""


class ScoreBreakdown(Value):
    """The scores of subsets; rounded and few, because each reveals something about sealed labels."""

    by: str
    """`target`, or the column of validation.csv whose values or time blocks define the subsets."""
    public: bool = Field(default=False, exclude_if=lambda public: not public)
    """Whether agents have the true values, so that nothing sealed is revealed."""
    count: int
    """Number of subsets in total."""
    worst: tuple[SubsetScore, ...]
    """The worst subsets, worst first."""


class GradeReport(Value):
    """The result of grading a submission: a score, or a one-line reason why it is invalid."""

    valid: bool
    message: str = ""
    score: ValidationScore | None = None
    parts: tuple[ScoreBreakdown, ...] = ()
    """Scores of subsets, if available; empty in old logs."""


class BlendCandidate(NamedTuple):
    """A solution that may be a member of a blend."""

    validation: Path
    """Its submission for validation.csv."""
    folds: tuple[Path, ...] = ()
    """Those of its runs on further folds, in the order of the request."""
    out_of_fold: tuple[Path, ...] = ()
    """Files with its predictions for rows of train.csv, by models that were not fitted on them."""
    beside: tuple[Path, ...] = ()
    """Its probabilities for validation.csv, and for rows of train.csv where it has some."""
    seconds: float = 0.0
    """Running time of its program."""


class BlendReport(Value):
    """A weighted average of submissions, or a one-line reason why there is none.

    This bounds what a blend reveals about labels: of weights that were selected on validation rows there
    are few, small integers; others were learned on labels that are public. Other numbers are rounded.
    """

    reason: str = ""
    """Why no average is recommended; otherwise empty."""
    candidates: int = 0
    """Number of distinct submissions."""
    mean: str = ""
    """The type of mean (`blending/averaging.py`)."""
    ids: tuple[str, ...] = ()
    """The id columns of a submission."""
    targets: tuple[str, ...] = ()
    """The averaged columns."""
    members: tuple[int, ...] = ()
    """Indices into the request, largest weight first."""
    weights: tuple[tuple[int | float, ...], ...] = ()
    """For each member: one weight for all target columns, or one for each; integers if not stacked."""
    offsets: tuple[float, ...] = ()
    """What is added to a weighted sum, for each target column, or what decides between labels."""
    labels: tuple[str, ...] = ()
    """The labels of what is averaged, if that is kept beside them."""
    stacked: bool = False
    """Whether the weights were learned on out-of-fold rows."""
    out_of_fold_rows: int = 0
    """Rows of train.csv that the blend was judged on besides."""
    gain: Paired | None = None
    """Gain over the best single submission, on rows that neither was selected on."""


class ErrorReport(Value):
    """Correlations of the errors of submissions, or a one-line reason why there are none."""

    reason: str = ""
    correlations: tuple[tuple[float, ...], ...] = ()
    """Of each submission with each earlier one in the request, from 0 to 1 in steps of 0.05."""


class CodedReport(Value):
    """For each step why its submission looks like a query of labels; empty if it does not."""

    reasons: tuple[str, ...] = ()


class Grader(Protocol):
    """Scores submissions against labels that only it can read.

    Each method raises GraderError if the grader does not answer; submissions cannot cause that.
    """

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Score a validation submission and validate the test submission of the same step.

        The test submission is not scored. An invalid submission yields a report, not an error.
        """
        ...

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Score out-of-fold predictions for rows of train.csv, over the predicted rows.

        The caller asserts that each row was predicted by models not fitted on it; these labels are not
        sealed. Invalid predictions yield a report, not an error.
        """
        ...

    def sample(self, predictions: Path) -> GradeReport:
        """Score predictions for validation rows of a step on the sample; the report has no parts.

        Invalid predictions yield a report, not an error.
        """
        ...

    def probabilities(self, files: Sequence[Path]) -> GradeReport:
        """Check the probabilities beside labels of one step, in files of their usual names.

        The report has no score.
        """
        ...

    def check(self, test: Path) -> GradeReport:
        """Validate a test submission; the report has no score."""
        ...

    def compare(self, one: Path, other: Path) -> Paired:
        """Compare two valid validation submissions; positive if the first one is better.

        Raises:
            SubmissionError: they cannot be compared.
        """
        ...


class CampaignGrader(Grader, Protocol):
    """Requests reserved to the campaign; attempts get a `Grader` only."""

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return the pairwise correlations of the errors of valid validation submissions."""
        ...

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:
        """Return which scored steps of an attempt look like queries of labels.

        `steps` are their valid validation and test submissions, oldest first. No reasons if this cannot
        be found for the metric.
        """
        ...

    def fold(self, number: int) -> Grader:
        """Return the grader of fold `number` of the split, counted from 1.

        Raises:
            CompetitionError: there are too few labelled rows for so many folds.
            GraderError: the split supports no folds.
        """
        ...

    def blend(
        self,
        candidates: Sequence[BlendCandidate],
        folds: Sequence[int] = (),
        most_seconds: float = math.inf,
    ) -> BlendReport:
        """Select the best weighted average of valid submissions, or learn a weighted sum of them.

        Args:
            candidates: the best first.
            folds: the further folds on which all candidates ran, whose rows are then used as well.
            most_seconds: what the programs of its members may take together.
        """
        ...
