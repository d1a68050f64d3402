"""Areas under ROC curves of past competitions, as defined by their evaluation pages."""

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import ColumnMetric, Statistic, TableMetric
from comind.metrics.parsing import number_parser
from comind.metrics.probabilities import roc_auc

_RANKING = number_parser()
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
        return roc_auc(*chosen)(np.arange(len(chosen[0])))
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


WEIGHTED_ROC_AUC = ColumnMetric(
    "weighted-roc-auc",
    "area of the ROC curve, weight 2 up to a true positive rate of 0.4, then 1, over 1.4",
    _weighted_auc,
    maximize=True,
    answer_kind=AnswerKind.PROBABILITY,
    parse=_RANKING,
    best=1.0,
    traits=MetricTraits(ranking=True, means=("rank", "mean")),
)

BIAS_AUC = TableMetric(
    "bias-auc",
    "mean of the ROC AUC and three power means (p = -5) of subgroup, BPSN and BNSP AUCs",
    _bias_auc,
    maximize=True,
    answer_kind=AnswerKind.PROBABILITY,
    parse=_RANKING,
    context=_IDENTITIES,
    best=1.0,
)
