"""Reference values of every metric: a library's function, or the formula of its definition.

Each takes tables of text, truth and prediction.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer

__all__ = ["REFERENCES"]

Reference = Callable[[pd.DataFrame, pd.DataFrame], float]


def _labels(statistic: Callable[..., float]) -> Reference:
    """Mean over the columns of a statistic of labels, where 1.0 is written 1."""

    def value(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
        one, other = truth.replace(r"\.0$", "", regex=True), guess.replace(r"\.0$", "", regex=True)
        return float(np.mean([statistic(one[name], other[name]) for name in one.columns]))

    return value


def _numbers(statistic: Callable[..., float]) -> Reference:
    """Mean over the columns of a statistic of numbers."""

    def value(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
        one, other = truth.astype(float), guess.astype(float)
        return float(np.mean([statistic(one[name], other[name]) for name in one.columns]))

    return value


def _cells(statistic: Callable[[str, str], float]) -> Reference:
    """Mean over all cells."""

    def value(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
        pairs = zip(truth.to_numpy().ravel(), guess.to_numpy().ravel(), strict=True)
        return float(np.mean([statistic(true, cell) for true, cell in pairs]))

    return value


def _sets(average: str) -> Reference:
    """Mean over the columns of the F1 score of sets of labels."""

    def column(true: "pd.Series[str]", guess: "pd.Series[str]") -> float:
        sets = [cell.split() for cell in [*true, *guess]]
        encoded = MultiLabelBinarizer(classes=["Yes", "a", "b", "c", "no"]).fit_transform(sets)
        halves = encoded[: len(true)], encoded[len(true) :]
        return float(metrics.f1_score(*halves, average=average, zero_division=0))

    return lambda truth, guess: float(np.mean([column(truth[c], guess[c]) for c in truth.columns]))


def _multiclass(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
    p = guess.astype(float).to_numpy()
    classes = truth.astype(int).to_numpy().argmax(axis=1)
    p /= p.sum(axis=1, keepdims=True)
    return float(metrics.log_loss(classes, p, labels=range(p.shape[1])))


def _lwlrap(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
    true = truth.astype(int).to_numpy()
    kept = true.any(axis=1)
    weights = true[kept].sum(axis=1)
    scores = guess.astype(float).to_numpy()[kept]
    return float(
        metrics.label_ranking_average_precision_score(true[kept], scores, sample_weight=weights)
    )


def _edits(true: str, guess: str) -> float:
    """Insertions, deletions and substitutions, by dynamic programming."""
    row = list(range(len(guess) + 1))
    for i, one in enumerate(true, start=1):
        above, row = row, [i]
        for j, other in enumerate(guess, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (one != other)))
    return float(row[-1])


def _word_jaccard(true: str, guess: str) -> float:
    one, other = set(true.lower().split()), set(guess.lower().split())
    return len(one & other) / len(one | other) if one | other else 1.0


def _pixel_f05(true: str, guess: str) -> float:
    images = []
    for mask in (true, guess):
        image = np.zeros(100, dtype=int)
        for start, length in np.array(mask.split(), dtype=int).reshape(-1, 2):
            image[start - 1 : start - 1 + length] = 1
        images.append(image)
    return float(metrics.fbeta_score(*images, beta=0.5, zero_division=0))


def _rmse(true: pd.Series, guess: pd.Series) -> float:
    return float(metrics.root_mean_squared_error(true, guess))


REFERENCES: dict[str, Reference] = {
    "accuracy": _labels(metrics.accuracy_score),
    "top-1-error": _labels(lambda t, p: 1 - metrics.accuracy_score(t, p)),
    "cohen-kappa": _labels(metrics.cohen_kappa_score),
    "quadratic-weighted-kappa": _labels(
        lambda t, p: metrics.cohen_kappa_score(t.astype(int), p.astype(int), weights="quadratic")
    ),
    "f1": _labels(lambda t, p: metrics.f1_score(t == "1", p == "1", zero_division=0)),
    "macro-f1": _labels(lambda t, p: metrics.f1_score(t, p, average="macro", zero_division=0)),
    "matthews-correlation": _labels(metrics.matthews_corrcoef),
    "balanced-accuracy": _labels(
        lambda t, p: metrics.recall_score(t, p, average="macro", labels=t.unique(), zero_division=0)
    ),
    "rmse": _numbers(_rmse),
    "mse": _numbers(metrics.mean_squared_error),
    "mae": _numbers(metrics.mean_absolute_error),
    "rmsle": _numbers(metrics.root_mean_squared_log_error),
    "rmse-of-log": _numbers(lambda t, p: _rmse(np.log(t), np.log(p))),
    "mape": _numbers(metrics.mean_absolute_percentage_error),
    "smape": _numbers(lambda t, p: (200 * abs(t - p) / (abs(t) + abs(p))).mean()),
    "pearson": _numbers(lambda t, p: stats.pearsonr(t, p).statistic),
    "spearman": _numbers(lambda t, p: stats.spearmanr(t, p).statistic),
    "r2": _numbers(metrics.r2_score),
    "roc-auc": _numbers(metrics.roc_auc_score),
    "average-precision": _numbers(metrics.average_precision_score),
    "log-loss": _numbers(metrics.log_loss),
    "multiclass-log-loss": _multiclass,
    "lwlrap": _lwlrap,
    "exact-match": _cells(lambda true, guess: float(true == guess)),
    "mean-levenshtein": _cells(_edits),
    "word-jaccard": _cells(_word_jaccard),
    "micro-f1": _sets("micro"),
    "samples-f1": _sets("samples"),
    "pixel-f05": _cells(_pixel_f05),
}
