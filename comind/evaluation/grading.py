"""Compare a submission with answers: right form first, then the score."""

import math
from pathlib import Path

import pandas as pd

from comind.domain.metric import MetricValue, ValidationScore
from comind.errors import SubmissionError
from comind.evaluation.interval import bootstrap_interval
from comind.evaluation.metrics import Metric
from comind.evaluation.report import GradeReport
from comind.evaluation.tables import read_table

__all__ = ["AnswerSheet"]


class AnswerSheet:
    """Answers for a set of rows, and everything that a submission for these rows must have."""

    def __init__(
        self, answers: pd.DataFrame, ids: tuple[str, ...], targets: tuple[str, ...], metric: Metric
    ) -> None:
        """Take `answers`, a table of text in the shape of a submission."""
        self._ids = list(ids)
        self._targets = list(targets)
        self._metric = metric
        self._keys = _keys(answers, self._ids)
        self._truth = pd.DataFrame(
            {name: metric.parse(answers[name]) for name in self._targets}
        ).set_axis(self._keys, axis="index")

    def grade(self, path: Path) -> GradeReport:
        """Return the verdict on the submission in a file; what is wrong with it is a report."""
        try:
            prediction = self._read(path)
            value = self._metric.score(self._truth, prediction)
        except (SubmissionError, ValueError) as error:
            return GradeReport(valid=False, message=str(error))
        if not math.isfinite(value):
            return GradeReport(valid=False, message=f"{self._metric.name} is not a finite number")
        score = MetricValue(value=value, maximize=self._metric.maximize)
        bounds = bootstrap_interval(self._metric, self._truth, prediction, value)
        return GradeReport(
            valid=True,
            score=ValidationScore(
                metric=self._metric.name, value=score, interval=bounds, rows=len(self._truth)
            ),
        )

    def _read(self, path: Path) -> pd.DataFrame:
        """Return the predictions of a submission in the order of the answers.

        Raises:
            SubmissionError: the file is no submission for these rows.
        """
        table = read_table(path, SubmissionError)
        expected = [*self._ids, *self._targets]
        if list(table.columns) != expected:
            _explain_columns(list(table.columns), expected)
        keys = _keys(table, self._ids)
        _check_ids(keys, self._keys, self._ids)
        columns = {}
        for name in self._targets:
            try:
                columns[name] = self._metric.parse(table[name])
            except ValueError as error:
                raise SubmissionError(f"column {name!r}: {error}") from None
        return pd.DataFrame(columns).set_axis(keys, axis="index").loc[self._keys]


def _keys(table: pd.DataFrame, ids: list[str]) -> pd.Index:
    """Return one key a row; `7`, `7.0` and ` 7` are the same key."""
    parts = [table[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True) for name in ids]
    return pd.Index(parts[0] if len(parts) == 1 else list(zip(*parts, strict=True)), tupleize_cols=False)


def _explain_columns(found: list[str], expected: list[str]) -> None:
    missing = [name for name in expected if name not in found]
    surplus = [name for name in found if name not in expected]
    if missing:
        raise SubmissionError(f"the column {missing[0]!r} is missing; expected {', '.join(expected)}")
    if surplus:
        raise SubmissionError(
            f"the column {surplus[0]!r} is not expected; expected {', '.join(expected)}"
        )


def _check_ids(found: pd.Index, expected: pd.Index, names: list[str]) -> None:
    label = " and ".join(names)
    if found.has_duplicates:
        raise SubmissionError(f"the id {found[found.duplicated()][0]!r} ({label}) appears twice")
    missing = expected.difference(found, sort=False)
    surplus = found.difference(expected, sort=False)
    if len(missing):
        raise SubmissionError(
            f"{len(missing)} of {len(expected)} ids ({label}) are missing, for instance {missing[0]!r}"
        )
    if len(surplus):
        raise SubmissionError(
            f"{len(surplus)} ids ({label}) are not among those asked for, for instance {surplus[0]!r}"
        )
