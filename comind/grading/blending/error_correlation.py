"""Correlate the errors of submissions; few rounded figures bound what they reveal of the labels."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from comind.grading.blending.averaging import scaled
from comind.grading.blending.selection import cells_of, supported_means
from comind.grading.grader_port import ErrorReport
from comind.metrics.metric_types import Metric

MOST_COMPARED = 8
"""Most submissions in one table, to bound what it reveals of the labels."""
_STEP = 0.05
_LEAST_ROWS = 50
_LEAST_DIFFERENT = 20  # rows; errors in fewer are not revealed
_CELLS = 50_000_000  # of all submissions


def error_correlations(
    metric: Metric, truth: pd.DataFrame, predictions: Iterable[pd.DataFrame]
) -> ErrorReport:
    """Return the pairwise error correlations of submissions, or the reason why there are none.

    `predictions` are parsed tables in the shape of `truth`. Values are Pearson correlations, clipped at
    0 and rounded to twentieths; 1 for submissions that differ in fewer than 20 rows, whatever the
    labels are.
    """
    means = supported_means(metric)
    if not means:
        return ErrorReport(reason=f"predictions for {metric.name} have no errors that can be correlated")
    if len(truth) < _LEAST_ROWS:
        return ErrorReport(reason=f"{len(truth)} validation rows are too few")
    tables = list(predictions)
    if len(tables) > MOST_COMPARED or len(tables) * truth.size > _CELLS:
        return ErrorReport(reason=f"{len(tables)} submissions of {len(truth)} rows are too many")
    errors = [prediction_errors(means[0], truth, table) for table in tables]
    rows = [
        tuple(
            _rounded(correlation(errors[one], errors[other]))
            if _differ(tables[one], tables[other])
            else 1.0
            for other in range(one)
        )
        for one in range(len(tables))
    ]
    return ErrorReport(correlations=tuple(rows))


def prediction_errors(mean: str, truth: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Return the error of each cell on the scale of `mean`, shape (cells,); of labels 0 or 1.

    Cells whose true value is not known have none.
    """
    truth = truth[list(table.columns)]
    known = truth.notna().to_numpy()
    true, guess = (cells_of(mean, each) for each in (truth, table))
    if mean == "vote":
        wrong = np.asarray(true != guess, dtype=float)
    else:  # ranks are those among the known cells of a column
        numbers = [np.where(known, np.asarray(each, dtype=float), np.nan) for each in (guess, true)]
        wrong = np.asarray(np.subtract(*(scaled(mean, each) for each in numbers)))
    return np.asarray(wrong[known])


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Pearson correlation; of constant errors, 1 if they are equal, else 0."""
    if one.std() == 0 or other.std() == 0:
        return float(np.array_equal(one, other))
    return float(np.corrcoef(one, other)[0, 1])


def _differ(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether two submissions differ in at least 20 rows."""
    differ = (one.to_numpy() != other.to_numpy()).any(axis=1)
    return int(np.count_nonzero(differ)) >= _LEAST_DIFFERENT


def _rounded(value: float) -> float:
    """Clip a correlation at 0 and round it to twentieths; 0 if not finite."""
    if not np.isfinite(value):
        return 0.0
    return round(max(0.0, round(value / _STEP) * _STEP), 2)
