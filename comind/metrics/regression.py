"""Regression metrics; over several target columns, the mean of the columns' values."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import PLAIN, ColumnMetric, Metric, Names, Parse, RowMetric, Statistic
from comind.metrics.parsing import number_parser

_CellError = Callable[[np.ndarray, np.ndarray], np.ndarray]
_SCALES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": np.asarray,
    "log": np.log,
    "log1p": np.log1p,
}
_ANY, _LOG1P, _LOG = number_parser(), number_parser(above=-1), number_parser(above=0)


def _error_metric(
    name: str,
    error: _CellError,
    reference: str,
    *,
    root: bool = False,
    parse: Parse = _ANY,
    traits: MetricTraits = PLAIN,
    called: Names | None = None,
) -> Metric:
    """Create a metric: the mean (or root mean) of a per-cell error, averaged over the columns.

    The traits' scale is that of truth and prediction before the error is computed.
    """
    scale = _SCALES[traits.scale]

    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        return error(*(scale(side.to_numpy(dtype=float)) for side in (truth, prediction)))

    def finish(means: np.ndarray) -> float:
        return float((np.sqrt(means) if root else means).mean())

    return RowMetric(
        name,
        reference,
        rows,
        maximize=False,
        answer_kind=AnswerKind.NUMBER,
        parse=parse,
        finish=finish,
        best=0.0,
        by_column=True,
        traits=traits,
        called=called,
    )


def _pearson(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    true, pred = truth.to_numpy(dtype=float), prediction.to_numpy(dtype=float)
    return lambda draw: _correlation(true[draw], pred[draw], truth.name)


def _spearman(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    sides = [np.unique(side.to_numpy(), return_inverse=True)[1] for side in (truth, prediction)]

    def statistic(draw: np.ndarray) -> float:
        true, pred = (_average_ranks(side[draw]) for side in sides)
        return _correlation(true, pred, truth.name)

    return statistic


def _average_ranks(places: np.ndarray) -> np.ndarray:
    """Return the rank of each row; ties get their mean rank."""
    counts = np.bincount(places)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def _correlation(true: np.ndarray, pred: np.ndarray, column: object) -> float:
    if np.ptp(pred) == 0:
        raise ValueError(f"column {column!r}: a constant prediction has no correlation")
    if np.ptp(true) == 0:
        raise ValueError(f"column {column!r}: the truth is constant on these rows")
    true, pred = true - true.mean(), pred - pred.mean()
    value = (true / np.linalg.norm(true)) @ (pred / np.linalg.norm(pred))
    return float(np.clip(value, -1, 1))


def _gini(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    """Return the Gini coefficient of the order of predictions, over that of the best order.

    It is the area between the Lorenz curve of the true values and the diagonal; of rows with equal
    predictions the first comes first, as on Kaggle.
    """
    true, pred = truth.to_numpy(dtype=float), prediction.to_numpy(dtype=float)

    def area(values: np.ndarray) -> float:
        rows = len(values)
        return float(np.cumsum(values).sum() / values.sum() - (rows + 1) / 2)

    def statistic(draw: np.ndarray) -> float:
        draw = np.sort(draw)  # a draw has no order of its own
        drawn = true[draw]
        if drawn.sum() == 0 or np.ptp(drawn) == 0:
            raise ValueError(f"column {truth.name!r}: the true values have no order on these rows")
        best = area(np.sort(drawn)[::-1])
        return area(drawn[np.argsort(-pred[draw], kind="stable")]) / best

    return statistic


def _median_error(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    errors = np.abs(truth.to_numpy(dtype=float) - prediction.to_numpy(dtype=float))
    return lambda draw: float(np.median(errors[draw]))


def _concordance(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    """Return the share of pairs with other true values that are predicted in their order."""
    true, pred = (np.unique(side, return_inverse=True)[1] for side in (truth, prediction))

    def statistic(draw: np.ndarray) -> float:
        from scipy.stats import somersd

        if np.ptp(true[draw]) == 0:
            raise ValueError(f"column {truth.name!r}: the true values are equal on these rows")
        if np.ptp(pred[draw]) == 0:
            return 0.5
        return float((1 + somersd(true[draw], pred[draw]).statistic) / 2)

    return statistic


def _pinball(true: np.ndarray, predicted: np.ndarray, *, quantile: float) -> np.ndarray:
    below = true - predicted
    return np.asarray(np.maximum(quantile * below, (quantile - 1) * below))


def _squared_percentage(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return squared relative errors; 0 where the truth is 0, which Kaggle does not score."""
    return np.asarray(np.where(true == 0, 0.0, (true - predicted) / np.where(true == 0, 1.0, true)) ** 2)


def _r2(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    true = truth.to_numpy(dtype=float)
    errors = (true - prediction.to_numpy(dtype=float)) ** 2

    def statistic(draw: np.ndarray) -> float:
        if len(draw) < 2:  # noqa: PLR2004 - one row has no variance
            raise ValueError("R squared needs two rows")
        lost, spread = errors[draw].sum(), ((true[draw] - true[draw].mean()) ** 2).sum()
        if spread == 0:
            return float(lost == 0)
        return float(1 - lost / spread)

    return statistic


def _squared(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.asarray((true - predicted) ** 2)


def _absolute(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(true - predicted))


def _percentage(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(true - predicted) / np.maximum(np.abs(true), np.finfo(float).eps))


def _symmetric_percentage(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    scale = np.abs(true) + np.abs(predicted)
    return np.asarray(200 * np.abs(true - predicted) / np.where(scale == 0, 1, scale))


_MEAN = "mean over the columns of sklearn.metrics."
_QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
_RANKED = MetricTraits(ranking=True, means=("rank", "mean"))
_ABSOLUTE = MetricTraits(absolute=True)
_OF_LOG1P = MetricTraits(scale="log1p", means=("log1p",))
_OF_RANKS = MetricTraits(means=("rank",))
_OF_LOG = MetricTraits(scale="log", means=("log",))
_correlation_metric = partial(
    ColumnMetric, maximize=True, answer_kind=AnswerKind.NUMBER, parse=_ANY, best=1.0
)

REGRESSION_METRICS: tuple[Metric, ...] = (
    _error_metric("rmse", _squared, f"{_MEAN}root_mean_squared_error", root=True),
    _error_metric("mse", _squared, "sklearn.metrics.mean_squared_error"),
    _error_metric("mae", _absolute, "sklearn.metrics.mean_absolute_error", traits=_ABSOLUTE),
    _error_metric(
        "rmsle",
        _squared,
        f"{_MEAN}root_mean_squared_log_error",
        root=True,
        parse=_LOG1P,
        traits=_OF_LOG1P,
    ),
    _error_metric(
        "rmse-of-log",
        _squared,
        "rmse of the natural logarithms",
        root=True,
        parse=_LOG,
        traits=_OF_LOG,
        called=Names("rmse of log", columns="any"),
    ),
    _error_metric(
        "mape", _percentage, "sklearn.metrics.mean_absolute_percentage_error", traits=_ABSOLUTE
    ),
    _error_metric(
        "smape",
        _symmetric_percentage,
        "mean of 200 abs(t - p) / (abs(t) + abs(p))",
        traits=_ABSOLUTE,
        called=Names("smape, symmetric mean absolute percentage error"),
    ),
    _error_metric(
        "rmspe",
        _squared_percentage,
        "square root of the mean of ((t - p) / t)**2, 0 for t = 0",
        root=True,
    ),
    ColumnMetric(
        "median-absolute-error",
        "sklearn.metrics.median_absolute_error",
        _median_error,
        maximize=False,
        answer_kind=AnswerKind.NUMBER,
        parse=_ANY,
        best=0.0,
        traits=_ABSOLUTE,
        called=Names("median absolute error, medae"),
    ),
    *(
        _error_metric(
            f"pinball-{round(100 * quantile)}",
            partial(_pinball, quantile=quantile),
            f"sklearn.metrics.mean_pinball_loss(alpha={quantile})",
            called=Names(f"pinball {100 * quantile:.0f}", names=f"pinball loss {100 * quantile:.0f}"),
        )
        for quantile in _QUANTILES
    ),
    _correlation_metric(
        "normalised-gini",
        "area between Lorenz curve and diagonal in the order of predictions, over that of the truth's",
        _gini,
        traits=_RANKED,
    ),
    _correlation_metric(
        "concordance-index",
        "(1 + scipy.stats.somersd) / 2: share of pairs in the right order, ties half",
        _concordance,
        traits=_RANKED,
    ),
    _correlation_metric("pearson", "scipy.stats.pearsonr", _pearson),
    _correlation_metric(
        "spearman",
        "scipy.stats.spearmanr",
        _spearman,
        traits=MetricTraits(means=("rank",)),
        called=Names(
            (
                "spearman s rank correlation coefficient, spearman correlation coefficient, "
                "spearman correlation, spearman, mean columnwise spearman s correlation "
                "coefficient, mean column wise spearman s correlation coefficient"
            ),
            names="mean columnwise spearman, mean column spearman",
            columns="any",
        ),
    ),
    _correlation_metric("r2", "sklearn.metrics.r2_score", _r2),
)

WEIGHT, SCALE, QUANTILE = "weight", "scale", "quantile"
"""Columns of train.csv and of the true answers that the weighted metrics read."""

_WeightedError = Callable[[np.ndarray, np.ndarray, dict[str, np.ndarray]], np.ndarray]
"""(true, predicted, further columns by name) -> errors of the rows, shape (rows,)."""


def _weighted(name: str, reference: str, error: _WeightedError, *context: str, called: Names) -> Metric:
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
        answer_kind=AnswerKind.NUMBER,
        parse=number_parser(),
        finish=lambda means: means[0] / means[1],
        context=(WEIGHT, *context),
        context_parser=number_parser(at_least=0),
        best=0.0,
        traits=MetricTraits(means=()),
        called=called,
        rare=True,
    )


def _weighted_absolute(true: np.ndarray, predicted: np.ndarray, _: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(np.abs(true - predicted).mean(axis=1))


def _weighted_scaled(
    true: np.ndarray, predicted: np.ndarray, given: dict[str, np.ndarray]
) -> np.ndarray:
    return np.asarray(np.sqrt(((true - predicted) ** 2).mean(axis=1) / given[SCALE]))


def _weighted_pinball(
    true: np.ndarray, predicted: np.ndarray, given: dict[str, np.ndarray]
) -> np.ndarray:
    below, quantile = true - predicted, given[QUANTILE][:, None]
    return np.asarray(np.maximum(quantile * below, (quantile - 1) * below).mean(axis=1))


WEIGHTED_METRICS: tuple[Metric, ...] = (
    _weighted(
        "weighted-mae",
        "sklearn.metrics.mean_absolute_error(sample_weight=weight)",
        _weighted_absolute,
        called=Names(names="weighted mean absolute error, wmae, weighted mae", columns="any"),
    ),
    _weighted(
        "wrmsse",
        "sum of weight * sqrt(mean over the columns of (t - p)**2 / scale), over the sum of weights",
        _weighted_scaled,
        SCALE,
        called=Names(names="wrmsse, weighted root mean squared scaled error", columns="any"),
    ),
    _weighted(
        "weighted-pinball",
        "mean of max(q (t - p), (q - 1) (t - p)) by weight, q the row's quantile",
        _weighted_pinball,
        QUANTILE,
        called=Names(names="weighted pinball loss, weighted scaled pinball loss"),
    ),
)
