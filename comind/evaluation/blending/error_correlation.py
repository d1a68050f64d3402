"""How far the errors of submissions go together; what is told of that is few rounded figures."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from comind.evaluation.blending.averaging import scaled
from comind.evaluation.blending.means import supported_means
from comind.evaluation.metrics.base import Metric
from comind.evaluation.report import ErrorReport

__all__ = ["MOST_COMPARED", "correlated", "correlation", "prediction_errors"]

MOST_COMPARED = 8
"""Submissions in one table; the more there are, the more it tells of the labels."""
_STEP = 0.05
_LEAST_ROWS = 50
_LEAST_APART = 20  # rows: the errors in fewer of them are told of nobody
_CELLS = 50_000_000  # of all submissions together


def correlated(metric: Metric, truth: pd.DataFrame, predictions: Iterable[pd.DataFrame]) -> ErrorReport:
    """Return how far the errors of each two submissions go together, or why that is not told.

    `predictions` are parsed tables in the shape of `truth`. A figure is a Pearson correlation, rounded
    to twentieths, and 0 where it is negative; 1 for two submissions that differ in less than 20 rows,
    whatever the labels say.
    """
    means = supported_means(metric)
    if not means:
        return ErrorReport(reason=f"predictions for {metric.name} have no errors that can be correlated")
    if len(truth) < _LEAST_ROWS:
        return ErrorReport(reason=f"{len(truth)} validation rows are too few to tell of")
    tables = list(predictions)
    if len(tables) > MOST_COMPARED or len(tables) * truth.size > _CELLS:
        return ErrorReport(reason=f"{len(tables)} submissions of {len(truth)} rows are too many")
    wrong = [prediction_errors(means[0], truth, table) for table in tables]
    rows = [
        tuple(
            _told(correlation(wrong[one], wrong[other])) if _apart(tables[one], tables[other]) else 1.0
            for other in range(one)
        )
        for one in range(len(tables))
    ]
    return ErrorReport(correlations=tuple(rows))


def prediction_errors(mean: str, truth: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Return how far off each cell is, shape (cells,); of labels, whether it is wrong."""
    true, guess = truth.to_numpy(), table.to_numpy()
    if mean == "vote":
        return np.asarray(true != guess, dtype=float).ravel()
    numbers = (scaled(mean, np.asarray(each, dtype=float)) for each in (guess, true))
    return np.asarray(np.subtract(*numbers)).ravel()


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Pearson correlation of errors; of constant ones, 1 where they are the same, else 0."""
    if one.std() == 0 or other.std() == 0:
        return float(np.array_equal(one, other))
    return float(np.corrcoef(one, other)[0, 1])


def _apart(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two submissions differ in enough rows; no label is needed for that."""
    differ = (one.to_numpy() != other.to_numpy()).any(axis=1)
    return int(np.count_nonzero(differ)) >= _LEAST_APART


def _told(value: float) -> float:
    """Return a correlation as it is told; what is not finite counts as none."""
    if not np.isfinite(value):
        return 0.0
    return round(max(0.0, round(value / _STEP) * _STEP), 2)
