"""What a metric is, and the two ways to compute one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["Metric", "RowMetric", "TableMetric"]


@dataclass(frozen=True, slots=True)
class Metric(ABC):
    """A named way to compare predictions with the truth.

    `parse` turns the text of a target column into what the metric works on; it raises ValueError with
    a message for whoever wrote the submission. Truth and prediction have the same target columns and
    the same rows in the same order.
    """

    name: str
    maximize: bool
    parse: Callable[["pd.Series[str]"], "pd.Series"]

    @abstractmethod
    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows."""

    @abstractmethod
    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions, shape (draws,)."""


@dataclass(frozen=True, slots=True)
class RowMetric(Metric):
    """A metric that is a function of per-row values averaged over the rows.

    `rows` returns shape (rows, k); `finish` takes the means, shape (..., k), to the value, shape (...).
    """

    rows: Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]
    finish: Callable[[np.ndarray], np.ndarray] = lambda means: means[..., 0]

    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows."""
        return float(self.finish(self.rows(truth, prediction).mean(axis=0)))

    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions."""
        values = self.rows(truth, prediction)
        return self.finish(np.stack([values[draw].mean(axis=0) for draw in draws]))


@dataclass(frozen=True, slots=True)
class TableMetric(Metric):
    """A metric of the table as a whole, such as a rank correlation."""

    whole: Callable[[pd.DataFrame, pd.DataFrame], float]

    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows."""
        return float(self.whole(truth, prediction))

    def resampled(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions."""
        return np.array([self.whole(truth.iloc[d], prediction.iloc[d]) for d in draws])
