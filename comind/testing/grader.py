"""A grader without labels."""

from collections.abc import Sequence
from pathlib import Path

from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.evaluation.report import BlendReport, GradeReport

__all__ = ["ColumnGrader"]


class ColumnGrader:
    """Takes the number in the validation submission for its score."""

    def __init__(self, *, maximize: bool = True) -> None:
        self._maximize = maximize

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the number that the file holds."""
        try:
            value = float(validation.read_text())
        except ValueError:
            return GradeReport(valid=False, message=f"{validation.name} is not a number")
        if not test.read_text():
            return GradeReport(valid=False, message=f"{test.name} is empty")
        score = ValidationScore(
            metric="written",
            value=MetricValue(value=value, maximize=self._maximize),
            interval=Interval(low=value, high=value),
            rows=1,
        )
        return GradeReport(valid=True, score=score)

    def check(self, test: Path) -> GradeReport:
        """Return whether the file holds anything."""
        valid = bool(test.read_text())
        return GradeReport(valid=valid, message="" if valid else f"{test.name} is empty")

    def compare(self, one: Path, other: Path) -> Paired:
        """Return the difference of the two numbers, known exactly."""
        sign = 1 if self._maximize else -1
        difference = sign * (float(one.read_text()) - float(other.read_text()))
        around = Interval(low=difference, high=difference)
        return Paired(difference=difference, standard_error=0.0, interval=around)

    def blend(self, candidates: Sequence[Path]) -> BlendReport:  # noqa: ARG002 - as the port has it
        """Return no blend: there are no rows to average."""
        return BlendReport(reason="a number has no rows")
