"""Compare a submission with answers: right form first, then the score."""

import math
from pathlib import Path
from typing import NoReturn

import pandas as pd

from comind.domain.metric import MetricValue, ValidationScore
from comind.errors import SubmissionError
from comind.evaluation.interval import bootstrap_interval
from comind.evaluation.metrics import Metric
from comind.evaluation.report import GradeReport
from comind.evaluation.tables import read_table

__all__ = ["AnswerSheet", "SubmissionForm"]


class SubmissionForm:
    """What every submission for a set of rows must look like."""

    def __init__(
        self, rows: pd.DataFrame, ids: tuple[str, ...], targets: tuple[str, ...], metric: Metric
    ) -> None:
        """Take `rows`, a table of text that has the id columns of every row asked for."""
        self.metric = metric
        self.targets = list(targets)
        self._ids = list(ids)
        self.keys = _keys(rows, self._ids)

    def read(self, path: Path) -> pd.DataFrame:
        """Return the predictions in a file, parsed, in the order of the rows asked for.

        Raises:
            SubmissionError: the file is no submission for these rows.
        """
        table = read_table(path, SubmissionError)
        expected = [*self._ids, *self.targets]
        if list(table.columns) != expected and set(table.columns) != set(expected):
            _refuse_columns(list(table.columns), expected)
        keys = _keys(table, self._ids)
        _check_keys(keys, self.keys, " and ".join(self._ids))
        return self.parse(table).set_axis(keys, axis="index").loc[self.keys]

    def parse(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the target columns of `table`, as the metric works on them.

        Raises:
            SubmissionError: a value is not of the metric's kind.
        """
        columns = {}
        for name in self.targets:
            try:
                columns[name] = self.metric.parse(table[name])
            except ValueError as error:
                raise SubmissionError(f"column {name!r}: {error}") from None
        return pd.DataFrame(columns)

    def check(self, path: Path) -> GradeReport:
        """Return whether the file in `path` has this form; it is not scored."""
        try:
            self.read(path)
        except SubmissionError as error:
            return GradeReport(valid=False, message=str(error))
        return GradeReport(valid=True)


class AnswerSheet:
    """The true values for a set of rows."""

    def __init__(self, form: SubmissionForm, answers: pd.DataFrame) -> None:
        """Take `answers`, a table of text in the shape of a submission, rows as in `form`."""
        self._form = form
        self._truth = form.parse(answers).set_axis(form.keys, axis="index")

    def grade(self, path: Path) -> GradeReport:
        """Return the verdict on the submission in a file; what is wrong with it is a report."""
        metric = self._form.metric
        try:
            prediction = self._form.read(path)
            value = metric.score(self._truth, prediction)
        except (SubmissionError, ValueError) as error:
            return GradeReport(valid=False, message=str(error))
        if not math.isfinite(value):
            return GradeReport(valid=False, message=f"its {metric.name} is not a finite number")
        score = ValidationScore(
            metric=metric.name,
            value=MetricValue(value=value, maximize=metric.maximize),
            interval=bootstrap_interval(metric, self._truth, prediction, value),
            rows=len(self._truth),
        )
        return GradeReport(valid=True, score=score)


def _keys(table: pd.DataFrame, ids: list[str]) -> pd.Index:
    """Return one key a row; `7`, `7.0` and ` 7` are the same key."""
    parts = [table[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True) for name in ids]
    if len(parts) == 1:
        return pd.Index(parts[0])
    return pd.Index(list(zip(*parts, strict=True)), tupleize_cols=False)


def _refuse_columns(found: list[str], expected: list[str]) -> NoReturn:
    wanted = f"expected {', '.join(expected)}"
    for name in expected:
        if name not in found:
            raise SubmissionError(f"the column {name!r} is missing; {wanted}")
    surplus = next(name for name in found if name not in expected)
    raise SubmissionError(f"the column {surplus!r} is not asked for; {wanted}")


def _check_keys(found: pd.Index, expected: pd.Index, label: str) -> None:
    if found.has_duplicates:
        raise SubmissionError(f"the id {found[found.duplicated()][0]!r} ({label}) appears twice")
    missing = expected.difference(found, sort=False)
    if len(missing):
        raise SubmissionError(
            f"{len(missing)} of {len(expected)} ids ({label}) are missing, for instance {missing[0]!r}"
        )
    surplus = found.difference(expected, sort=False)
    if len(surplus):
        raise SubmissionError(
            f"{len(surplus)} ids ({label}) are not asked for, for instance {surplus[0]!r}"
        )
