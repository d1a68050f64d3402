"""Regression metrics with a weight for each row, a column of train.csv and of the true answers."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Metric, Names, RowMetric
from comind.metrics.parsing import number_parser

WEIGHT, SCALE, QUANTILE = "weight", "scale", "quantile"

_Error = Callable[[np.ndarray, np.ndarray, dict[str, np.ndarray]], np.ndarray]
"""(true, predicted, further columns by name) -> errors of the rows, shape (rows,)."""


def _weighted(name: str, reference: str, error: _Error, *context: str, called: Names) -> Metric:
    """Create the mean of the rows' errors by their weights."""

    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        """Return weighted errors and weights, shape (rows, 2)."""
        given = {each: truth[each].to_numpy(dtype=float) for each in (WEIGHT, *context)}
        true = truth[list(prediction.columns)].to_numpy(dtype=float)
        values = error(true, prediction.to_numpy(dtype=float), given)
        return np.stack([given[WEIGHT] * values, given[WEIGHT]], axis=1)

    return RowMetric(
        name,
        reference,
        rows,
        maximize=False,
        kind=AnswerKind.NUMBER,
        parse=number_parser(),
        finish=lambda means: means[0] / means[1],
        context=(WEIGHT, *context),
        context_parser=number_parser(at_least=0),
        best=0.0,
        traits=MetricTraits(means=()),
        called=called,
        rare=True,
    )


def _absolute(true: np.ndarray, predicted: np.ndarray, _: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(np.abs(true - predicted).mean(axis=1))


def _scaled(true: np.ndarray, predicted: np.ndarray, given: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(np.sqrt(((true - predicted) ** 2).mean(axis=1) / given[SCALE]))


def _pinball(true: np.ndarray, predicted: np.ndarray, given: dict[str, np.ndarray]) -> np.ndarray:
    below, quantile = true - predicted, given[QUANTILE][:, None]
    return np.asarray(np.maximum(quantile * below, (quantile - 1) * below).mean(axis=1))


WEIGHTED_METRICS: tuple[Metric, ...] = (
    _weighted(
        "weighted-mae",
        "sklearn.metrics.mean_absolute_error(sample_weight=weight)",
        _absolute,
        called=Names(names="weighted mean absolute error, wmae, weighted mae", columns="any"),
    ),
    _weighted(
        "wrmsse",
        "sum of weight * sqrt(mean over the columns of (t - p)**2 / scale), over the sum of weights",
        _scaled,
        SCALE,
        called=Names(names="wrmsse, weighted root mean squared scaled error", columns="any"),
    ),
    _weighted(
        "weighted-pinball",
        "mean of max(q (t - p), (q - 1) (t - p)) by weight, q the row's quantile",
        _pinball,
        QUANTILE,
        called=Names(names="weighted pinball loss, weighted scaled pinball loss"),
    ),
)
