"""Grade submissions without labels."""

import math
from collections.abc import Sequence
from pathlib import Path

from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.grading.grader_port import (
    BlendCandidate,
    BlendReport,
    CodedReport,
    ErrorReport,
    Grader,
    GradeReport,
)

__all__ = ["ColumnGrader"]


class ColumnGrader:
    """Reads the score from the validation submission, which is one number."""

    def __init__(self, *, maximize: bool = True, noise: float = 0.0) -> None:
        """Create the grader; `noise` is the standard error of each difference."""
        self._maximize = maximize
        self._noise = noise

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the number in the file as its score."""
        report = self._score(validation)
        if report.valid and not test.read_text():
            return GradeReport(valid=False, message=f"{test.name} is empty")
        return report

    def _score(self, path: Path) -> GradeReport:
        try:
            value = float(path.read_text())
        except ValueError:
            return GradeReport(valid=False, message=f"{path.name} is not a number")
        score = ValidationScore(
            metric="written",
            value=MetricValue(value=value, maximize=self._maximize),
            interval=Interval(low=value, high=value),
            rows=1,
        )
        return GradeReport(valid=True, score=score)

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Return the number in the file as its score."""
        return self._score(predictions)

    def sample(self, predictions: Path) -> GradeReport:
        """Return the number in the file as its score."""
        return self._score(predictions)

    def probabilities(self, files: Sequence[Path]) -> GradeReport:
        """Check that the files are not empty."""
        reports = (self.check(path) for path in files)
        return next((each for each in reports if not each.valid), GradeReport(valid=True))

    def check(self, test: Path) -> GradeReport:
        """Check that the file is not empty."""
        valid = bool(test.read_text())
        return GradeReport(valid=valid, message="" if valid else f"{test.name} is empty")

    def compare(self, one: Path, other: Path) -> Paired:
        """Return the difference of the two numbers."""
        sign = 1 if self._maximize else -1
        difference = sign * (float(one.read_text()) - float(other.read_text()))
        around = Interval(low=difference, high=difference)
        return Paired(difference=difference, standard_error=self._noise, interval=around)

    def fold(self, number: int) -> Grader:
        """Return the same grader for every fold."""
        del number
        return self

    def blend(
        self,
        candidates: Sequence[BlendCandidate],  # noqa: ARG002 - as the port has it
        folds: Sequence[int] = (),  # noqa: ARG002
        most_seconds: float = math.inf,  # noqa: ARG002
    ) -> BlendReport:
        """Return no blend: there are no rows to average."""
        return BlendReport(reason="a number has no rows")

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:  # noqa: ARG002 - as the port has it
        """Return no reasons: a number has no rows."""
        return CodedReport()

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:  # noqa: ARG002 - as the port has it
        """Return no correlations: there are no rows to be wrong about."""
        return ErrorReport(reason="a number has no rows")
