"""Metrics of probabilities and rankings, such as ROC AUC; the mean over several target columns."""

from functools import partial

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import ColumnMetric, Metric, Names, RowMetric, Statistic
from comind.metrics.parsing import number_parser

_CLIP = 1e-15
_RANKING, _PROBABILITY = number_parser(), number_parser(at_least=0, at_most=1)
_ROWS_AT_ONCE = 100_000


def _positive(column: "pd.Series") -> np.ndarray:
    """Return which rows are positive; soft labels such as shares of votes are rounded."""
    return np.asarray(column.to_numpy(dtype=float) >= 0.5)  # noqa: PLR2004


def roc_auc(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
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


def _brier_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    return np.asarray((truth.to_numpy(dtype=float) - prediction.to_numpy(dtype=float)) ** 2)


def _balanced_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the loss of each row in the column of its class, and which class it is of."""
    true = truth.to_numpy(dtype=float)
    return np.concatenate([true * _multiclass_rows(truth, prediction), true], axis=1)


def _mean_of_classes(means: np.ndarray) -> float:
    losses, shares = np.split(means, 2)
    return float((losses[shares > 0] / shares[shares > 0]).mean())


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


_ranking_metric = partial(
    ColumnMetric,
    maximize=True,
    answer_kind=AnswerKind.PROBABILITY,
    parse=_RANKING,
    best=1.0,
    traits=MetricTraits(ranking=True, means=("rank", "mean")),
)
_row_metric = partial(RowMetric, answer_kind=AnswerKind.PROBABILITY)

PROBABILITY_METRICS: tuple[Metric, ...] = (
    _ranking_metric(
        "roc-auc",
        "sklearn.metrics.roc_auc_score",
        roc_auc,
        truth_parser=_PROBABILITY,
        called=Names(
            (
                "auc, auroc, auc roc, roc auc, roc auc score, area under receiver operating "
                "characteristic curve, area under the receiver operating characteristic curve, "
                "area under the roc curve, area under the curve, area under roc curve, area under "
                "roc, mean column wise auc, mean columnwise auc, mean column wise area under the "
                "roc curve, average of the individual aucs, mean columnwise area under receiver "
                "operating characteristic curve, mean column wise roc auc, mean columnwise roc "
                "auc, mc auc"
            ),
            names="macro roc auc, mean column roc auc",
            columns="any",
        ),
    ),
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
        answer_kind=AnswerKind.CLASS_PROBABILITIES,
        parse=number_parser(at_least=0),
        truth_parser=_PROBABILITY,
        best=0.0,
        traits=MetricTraits(means=("mean", "log")),
        called=Names(
            (
                "multiclass loss, multiclass log loss, multi class log loss, multiclass "
                "logarithmic loss, multi class logarithmic loss, multiclass cross entropy loss, "
                "multi class cross entropy, categorical cross entropy"
            ),
            names="multiclass logloss",
            columns="many",
        ),
    ),
    _row_metric(
        "brier-score",
        "sklearn.metrics.brier_score_loss",
        _brier_rows,
        maximize=False,
        parse=_PROBABILITY,
        finish=np.mean,
        best=0.0,
        by_column=True,
        called=Names("brier score, brier score loss", columns="any"),
    ),
    _row_metric(
        "balanced-log-loss",
        "mean over the classes of sklearn.metrics.log_loss of their rows, rescaled to sum to one",
        _balanced_rows,
        maximize=False,
        answer_kind=AnswerKind.CLASS_PROBABILITIES,
        parse=number_parser(at_least=0),
        truth_parser=_PROBABILITY,
        finish=_mean_of_classes,
        best=0.0,
        traits=MetricTraits(means=("mean", "log")),
        called=Names("balanced log loss, balanced logarithmic loss", columns="many"),
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
        called=Names("lwlrap", names="label weighted label ranking average precision", columns="any"),
    ),
)
