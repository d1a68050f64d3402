"""What a metric is, and the two ways to compute one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind

__all__ = [
    "Column",
    "DrawMetric",
    "Metric",
    "MetricFacts",
    "Parse",
    "RowMetric",
    "Rows",
    "Statistic",
    "TableMetric",
    "columnwise",
    "f1_of_counts",
]


class MetricFacts(Protocol):
    """What a split has to know of a metric."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def maximize(self) -> bool:
        """Whether higher is better."""
        ...

    @property
    def kind(self) -> AnswerKind:
        """What the target columns of a submission hold."""
        ...


Parse = Callable[["pd.Series[str]"], "pd.Series"]
"""Turns the text of a column into what a metric works on; ValueError for whoever wrote the text."""

Rows = Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]
"""(truth, prediction) -> values of the rows, shape (rows, k)."""

Statistic = Callable[[np.ndarray], float]
"""Takes row positions, which may repeat, to the value over them; ValueError where it has none."""

Column = Callable[["pd.Series", "pd.Series"], Statistic]
"""(truth, prediction) of one column -> its statistic. What is the same for all draws is done here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(ABC):
    """A named way to compare predictions with the truth.

    Truth and prediction are tables with the same target columns and the same rows in the same order,
    parsed by `parse_truth` and `parse`. Metrics of one family are made by a partial application.
    """

    name: str
    maximize: bool
    kind: AnswerKind
    """What the target columns of a submission hold."""
    parse: Parse
    truth_parser: Parse | None = None
    """Of true values, where they are not written as predictions are."""
    reference: str
    """The library function that gives the same value, or the formula."""
    best: float | None = None
    """The value of a perfect submission, where it is the same for every competition."""
    context: tuple[str, ...] = ()
    """Columns of the truth, as text, that nobody predicts, such as the group of a row."""

    def parse_truth(self, column: "pd.Series[str]") -> "pd.Series":
        """Return what the metric works on for the text of a column of true values."""
        return (self.truth_parser or self.parse)(column)

    @abstractmethod
    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows.

        Raises:
            ValueError: the metric has no value on these rows, such as a ranking of one class.
        """

    @abstractmethod
    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions, shape (draws,); NaN where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMetric(Metric):
    """A metric that is a function of per-row values averaged over the rows.

    `rows` returns shape (rows, k); `finish` takes the means, shape (..., k), to the value, shape (...).
    """

    rows: Rows
    finish: Callable[[np.ndarray], np.ndarray] | None = None
    row_bounds: tuple[float, float] | None = None
    """Range of one row's value, where the metric is a plain mean of bounded values."""

    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows."""
        with np.errstate(all="ignore"):  # whoever asks looks whether the value is finite
            return float(self._finish(self.rows(truth, prediction).mean(axis=0)))

    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions."""
        with np.errstate(all="ignore"):
            values = self.rows(truth, prediction)
            return self._finish(np.stack([values[draw].mean(axis=0) for draw in draws]))

    def _finish(self, means: np.ndarray) -> np.ndarray:
        return means[..., 0] if self.finish is None else self.finish(means)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawMetric(Metric):
    """A metric of the rows as a whole, such as a rank correlation; the mean over the target columns.

    A library call for each of a thousand draws takes minutes, so these are written out and tested
    against the library.
    """

    column: Column

    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows."""
        return self._statistic(truth, prediction)(np.arange(len(truth)))

    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions."""
        return _values(self._statistic(truth, prediction), draws)

    def _statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        statistics = [self.column(truth[name], prediction[name]) for name in truth.columns]

        def mean(draw: np.ndarray) -> float:
            with np.errstate(all="ignore"):
                return float(np.mean([statistic(draw) for statistic in statistics]))

        return mean


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMetric(Metric):
    """A metric whose rows belong together, such as a mean over groups of rows, computed in one go."""

    value: Callable[[pd.DataFrame, pd.DataFrame], float]

    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows."""
        with np.errstate(all="ignore"):
            return float(self.value(truth, prediction))

    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions."""
        return _values(lambda draw: self.score(truth.iloc[draw], prediction.iloc[draw]), draws)


def _values(statistic: Statistic, draws: Iterable[np.ndarray]) -> np.ndarray:
    """Return the value over each draw of row positions; NaN where it has none."""
    values = []
    for draw in draws:
        try:
            values.append(statistic(draw))
        except ValueError:
            values.append(np.nan)
    return np.array(values, dtype=float)


def columnwise(cell: Callable[..., float]) -> Rows:
    """Return the values of rows for a function of (true cell, predicted cell), averaged over columns."""

    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        columns = [
            [cell(true, guess) for true, guess in zip(truth[name], prediction[name], strict=True)]
            for name in truth.columns
        ]
        return np.asarray(np.mean(np.array(columns, dtype=float), axis=0)[:, None])

    return rows


def f1_of_counts(means: np.ndarray) -> np.ndarray:
    """Return F1 for means of hits, false alarms and misses, shape (..., 3 and more); undefined: 0."""
    below = 2 * means[..., 0] + means[..., 1] + means[..., 2]
    return np.asarray(2 * means[..., 0] / np.where(below > 0, below, 1.0))
