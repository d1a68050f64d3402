"""Metrics of probabilities and rankings, such as ROC AUC; the mean over several target columns."""

from functools import partial

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import (
    ColumnMetric,
    Metric,
    RowMetric,
    Statistic,
    TableMetric,
)
from comind.metrics.parsing import number_parser

_CLIP = 1e-15
_RANKING, _PROBABILITY = number_parser(), number_parser(at_least=0, at_most=1)
_ROWS_AT_ONCE = 100_000


def _positive(column: "pd.Series") -> np.ndarray:
    """Return which rows are positive; soft labels such as shares of votes are rounded."""
    return np.asarray(column.to_numpy(dtype=float) >= 0.5)  # noqa: PLR2004


def _roc_auc(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    """Return the area under the ROC curve: the share of ordered pairs, ties counted half."""
    positive, places = _positive(truth), np.unique(prediction, return_inverse=True)[1]

    def statistic(draw: np.ndarray) -> float:
        drawn, most = positive[draw], len(positive)
        positives = np.bincount(places[draw][drawn], minlength=most)
        negatives = np.bincount(places[draw][~drawn], minlength=most)
        pairs = int(positives.sum()) * int(negatives.sum())
        if not pairs:
            raise ValueError(f"column {truth.name!r}: the rows are all of one class")
        # Each positive beats the negatives below it, and half of those beside it.
        return float((positives * (np.cumsum(negatives) - negatives / 2)).sum() / pairs)

    return statistic


def average_precision(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    """Return the mean precision at the ranks of the positive rows."""
    positive, places = _positive(truth), np.unique(-prediction, return_inverse=True)[1]

    def statistic(draw: np.ndarray) -> float:
        found = np.bincount(places[draw][positive[draw]], minlength=len(positive))
        looked_at = np.cumsum(np.bincount(places[draw], minlength=len(positive)))
        if not found.any():
            raise ValueError(f"column {truth.name!r}: no row is positive")
        precision = np.cumsum(found) / np.maximum(looked_at, 1)
        return float((found * precision).sum() / found.sum())

    return statistic


def _log_loss_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    true = truth.to_numpy(dtype=float)
    p = np.clip(prediction.to_numpy(dtype=float), _CLIP, 1 - _CLIP)
    return np.asarray(-(true * np.log(p) + (1 - true) * np.log(1 - p)))


def _multiclass_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the loss of each row; predictions are rescaled to sum to one, as on Kaggle."""
    p = prediction.to_numpy(dtype=float)
    total = p.sum(axis=1, keepdims=True)
    if (total <= 0).any():
        raise ValueError(f"no probability at all in {int((total <= 0).sum())} of {len(p)} rows")
    p = np.clip(p / total, _CLIP, 1 - _CLIP)
    loss = -(truth.to_numpy(dtype=float) * np.log(p)).sum(axis=1, keepdims=True)
    return np.asarray(loss)


def _lwlrap_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the summed precision at the true labels, and their number, of each row; shape (rows, 2)."""
    true, scores = truth.to_numpy(dtype=float) > 0, prediction.to_numpy(dtype=float)
    if not true.any():
        raise ValueError("no row has a label")
    parts = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(true), _ROWS_AT_ONCE)]
    return np.concatenate([_precisions(true[part], scores[part]) for part in parts])


def _precisions(true: np.ndarray, scores: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    among_all = rankdata(-scores, method="max", axis=1)
    among_true = rankdata(np.where(true, -scores, np.inf), method="max", axis=1)
    precisions = np.where(true, among_true / among_all, 0.0)
    return np.stack([precisions.sum(axis=1), true.sum(axis=1)], axis=1)


_BANDS = ((0.0, 0.4, 2.0), (0.4, 1.0, 1.0))
"""(lowest, highest true positive rate, weight) of ALASKA2's evaluation page."""

_IDENTITIES = (
    "male",
    "female",
    "homosexual_gay_or_lesbian",
    "christian",
    "jewish",
    "muslim",
    "black",
    "white",
    "psychiatric_or_mental_illness",
)
"""The identities of the Jigsaw competition's evaluation page."""

_POWER = -5.0
_HALF = 0.5


def _roc_curve(positive: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return false and true positive rates at all thresholds, from (0, 0) to (1, 1)."""
    places = np.unique(-scores, return_inverse=True)[1]
    found = np.cumsum(np.bincount(places, weights=positive))
    false = np.cumsum(np.bincount(places, weights=~positive))
    if not found[-1] or not false[-1]:
        raise ValueError("the rows are all of one class")
    return np.concatenate([[0.0], false / false[-1]]), np.concatenate([[0.0], found / found[-1]])


def _area_in_band(fpr: np.ndarray, tpr: np.ndarray, low: float, high: float) -> float:
    """Return the area right of the curve between two true positive rates, by the trapezoidal rule."""
    rise = np.diff(tpr)
    slope = np.diff(fpr) / np.where(rise > 0, rise, 1.0)
    bottom, top = np.clip(tpr[:-1], low, high), np.clip(tpr[1:], low, high)
    right = 2 - 2 * fpr[:-1] - slope * (bottom - tpr[:-1] + top - tpr[:-1])
    return float(((top - bottom) * right / 2).sum())


def _weighted_auc(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    positive, scores = truth.to_numpy(dtype=float) >= _HALF, prediction.to_numpy(dtype=float)

    def statistic(draw: np.ndarray) -> float:
        fpr, tpr = _roc_curve(positive[draw], scores[draw])
        total = sum(weight * _area_in_band(fpr, tpr, low, high) for low, high, weight in _BANDS)
        return total / sum(weight * (high - low) for low, high, weight in _BANDS)

    return statistic


def _auc(rows: np.ndarray, toxic: np.ndarray, scores: np.ndarray, what: str) -> float:
    chosen = pd.Series(toxic[rows].astype(float)), pd.Series(scores[rows])
    try:
        return _roc_auc(*chosen)(np.arange(len(chosen[0])))
    except ValueError:
        raise ValueError(f"{what}: the rows are all of one class") from None


def _bias_auc(truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
    """Return the mean of the overall AUC and of three power means of AUCs over the identities.

    The three AUCs are those of the subgroup, of background positives and subgroup negatives (BPSN), and
    of background negatives and subgroup positives (BNSP); Borkan et al. 2019.
    """
    toxic = truth.iloc[:, 0].to_numpy(dtype=float) >= _HALF
    scores = prediction.iloc[:, 0].to_numpy(dtype=float)
    parts: list[list[float]] = [[], [], []]
    for identity in _IDENTITIES:
        shares = pd.to_numeric(truth[identity], errors="coerce").to_numpy(dtype=float)
        named = np.nan_to_num(shares) >= _HALF
        for part, rows in zip(parts, (named, named != toxic, named == toxic), strict=True):
            part.append(_auc(rows, toxic, scores, f"identity {identity!r}"))
    means = [np.mean(np.power(part, _POWER)) ** (1 / _POWER) for part in parts]
    return float(np.mean([_auc(np.full(len(toxic), True), toxic, scores, "all rows"), *means]))


_ranking_metric = partial(
    ColumnMetric,
    maximize=True,
    kind=AnswerKind.PROBABILITY,
    parse=_RANKING,
    best=1.0,
    traits=MetricTraits(ranking=True, means=("rank", "mean")),
)
_row_metric = partial(RowMetric, kind=AnswerKind.PROBABILITY)

PROBABILITY_METRICS: tuple[Metric, ...] = (
    _ranking_metric("roc-auc", "sklearn.metrics.roc_auc_score", _roc_auc, truth_parser=_PROBABILITY),
    _ranking_metric(
        "average-precision",
        "sklearn.metrics.average_precision_score",
        average_precision,
        truth_parser=_PROBABILITY,
    ),
    _row_metric(
        "log-loss",
        "sklearn.metrics.log_loss",
        _log_loss_rows,
        maximize=False,
        parse=_PROBABILITY,
        finish=np.mean,
        best=0.0,
        by_column=True,
        traits=MetricTraits(means=("mean", "logit")),
    ),
    _row_metric(
        "multiclass-log-loss",
        "sklearn.metrics.log_loss of rows rescaled to sum to one",
        _multiclass_rows,
        maximize=False,
        kind=AnswerKind.CLASS_PROBABILITIES,
        parse=number_parser(at_least=0),
        truth_parser=_PROBABILITY,
        best=0.0,
        traits=MetricTraits(means=("mean", "log")),
    ),
    _row_metric(
        "lwlrap",
        "sklearn.metrics.label_ranking_average_precision_score weighted by labels",
        _lwlrap_rows,
        maximize=True,
        parse=_RANKING,
        truth_parser=_PROBABILITY,
        finish=lambda means: means[0] / means[1],
        best=1.0,
    ),
    _ranking_metric(
        "weighted-roc-auc",
        "area of the ROC curve, weight 2 up to a true positive rate of 0.4, then 1, over 1.4",
        _weighted_auc,
    ),
    TableMetric(
        "bias-auc",
        "mean of the ROC AUC and three power means (p = -5) of subgroup, BPSN and BNSP AUCs",
        _bias_auc,
        maximize=True,
        kind=AnswerKind.PROBABILITY,
        parse=_RANKING,
        context=_IDENTITIES,
        best=1.0,
    ),
)
