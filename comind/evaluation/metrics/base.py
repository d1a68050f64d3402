"""What a metric is, and the two ways to compute one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind

__all__ = [
    "Column",
    "ColumnMetric",
    "Metric",
    "MetricInfo",
    "Parse",
    "RowMetric",
    "Rows",
    "Statistic",
    "TableMetric",
    "columnwise",
    "f1_of_counts",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """What a split has to know of a metric."""

    name: str
    maximize: bool
    kind: AnswerKind
    """What the target columns of a submission hold."""


Parse = Callable[["pd.Series[str]"], "pd.Series"]
"""Turns the text of a column into what a metric works on; ValueError for whoever wrote the text."""

Rows = Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]
"""(truth, prediction) -> values of the rows, shape (rows, k)."""

Statistic = Callable[[np.ndarray], float]
"""Takes row positions, which may repeat, to the value over them; ValueError where it has none."""

Column = Callable[["pd.Series", "pd.Series"], Statistic]
"""(truth, prediction) of one column -> its statistic. What is the same for all draws is done here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(MetricInfo, ABC):
    """A named way to compare predictions with the truth.

    Truth and prediction are tables with the same target columns and the same rows in the same order,
    parsed by `parse_truth` and `parse`. Metrics of one family are made by a partial application.
    """

    parse: Parse
    truth_parser: Parse | None = None
    """Of true values, where they are not written as predictions are."""
    reference: str
    """The library function that gives the same value, or the formula."""
    best: float | None = None
    """The value of a perfect submission, where it is the same for every competition."""
    context: tuple[str, ...] = ()
    """Columns of the truth, as text, that nobody predicts, such as the group of a row."""
    by_column: bool = False
    """Whether it is the mean of the values that each target column has alone."""

    def parse_truth(self, column: "pd.Series[str]") -> "pd.Series":
        """Return what the metric works on for the text of a column of true values."""
        return (self.truth_parser or self.parse)(column)

    @abstractmethod
    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return what takes rows of these tables to the value over them.

        Raises:
            ValueError: the metric has no value on these tables.
        """

    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows.

        Raises:
            ValueError: the metric has no value on these rows, such as a ranking of one class.
        """
        with np.errstate(all="ignore"):  # whoever asks looks whether the value is finite
            return self.statistic(truth, prediction)(np.arange(len(truth)))

    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions, shape (draws,); NaN where it has none."""
        values = []
        with np.errstate(all="ignore"):
            statistic = self.statistic(truth, prediction)
            for draw in draws:
                try:
                    values.append(statistic(draw))
                except ValueError:
                    values.append(np.nan)
        return np.array(values, dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMetric(Metric):
    """A metric that is a function of per-row values averaged over the rows.

    `rows` returns shape (rows, k); `finish` takes the means, shape (k,), to the value.
    """

    rows: Rows
    finish: Callable[[np.ndarray], float] = itemgetter(0)
    row_bounds: tuple[float, float] | None = None
    """Range of one row's value, where the metric is a plain mean of bounded values."""

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return the value for the means over some rows."""
        values = self.rows(truth, prediction)
        return lambda draw: float(self.finish(values[draw].mean(axis=0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMetric(Metric):
    """A metric of the rows as a whole, such as a rank correlation; the mean over the target columns.

    A library call for each of a thousand draws takes minutes, so these are written out and tested
    against the library.
    """

    column: Column
    by_column: bool = True

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return the mean of the columns' statistics."""
        statistics = [self.column(truth[name], prediction[name]) for name in truth.columns]
        return lambda draw: float(np.mean([statistic(draw) for statistic in statistics]))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMetric(Metric):
    """A metric whose rows belong together, such as a mean over groups of rows, computed in one go."""

    value: Callable[[pd.DataFrame, pd.DataFrame], float]

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return the value of the tables' rows."""
        return lambda draw: float(self.value(truth.iloc[draw], prediction.iloc[draw]))


def columnwise(cell: Callable[..., float]) -> Rows:
    """Return the values of rows for a function of (true cell, predicted cell), averaged over columns."""

    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        columns = [
            [cell(true, guess) for true, guess in zip(truth[name], prediction[name], strict=True)]
            for name in truth.columns
        ]
        return np.asarray(np.mean(np.array(columns, dtype=float), axis=0)[:, None])

    return rows


def f1_of_counts(means: np.ndarray) -> float:
    """Return F1 for means of hits, false alarms and misses, shape (3 and more,); undefined: 0."""
    below = 2 * means[0] + means[1] + means[2]
    return float(2 * means[0] / below) if below > 0 else 0.0
