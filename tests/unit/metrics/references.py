"""Reference values of every metric: a library's function, or the formula of its definition.

Each takes tables of text, truth and prediction.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer

__all__ = ["RANKED_REFERENCES", "REFERENCES"]

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


def _ranks(value: Callable[[list[bool], int], float]) -> Reference:
    """Mean over the rows of a value of which guesses are right, each once, and how many labels are."""

    def row(true: str, guess: str) -> float:
        right, guesses = set(true.split()), guess.split()
        return value([g in right and g not in guesses[:n] for n, g in enumerate(guesses)], len(right))

    return lambda truth, guess: float(
        np.mean([row(*pair) for pair in zip(truth.iloc[:, 0], guess.iloc[:, 0], strict=True)])
    )


def _ndcg(k: int) -> Callable[[list[bool], int], float]:
    def value(hits: list[bool], labels: int) -> float:
        gains = 1 / np.log2(np.arange(2, k + 2))
        best = gains[: min(labels, k)].sum()
        return float(gains[: len(hits[:k])] @ np.array(hits[:k], dtype=float) / best) if labels else 0.0

    return value


def _sets_beta(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
    values = []
    for name in truth.columns:
        for true, given in zip(truth[name], guess[name], strict=True):
            one, other = set(true.split()), set(given.split())
            precision = len(one & other) / len(other) if other else 0.0
            recall = len(one & other) / len(one) if one else 0.0
            below = 4 * precision + recall
            values.append(5 * precision * recall / below if below else 0.0)
    return float(np.mean(values))


def _f(beta: float) -> Reference:
    return _labels(lambda t, p: metrics.fbeta_score(t == "1", p == "1", beta=beta, zero_division=0))


def _balanced(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
    p = guess.astype(float).to_numpy()
    p /= p.sum(axis=1, keepdims=True)
    classes = truth.astype(int).to_numpy().argmax(axis=1)
    losses = -np.log(p[np.arange(len(p)), classes])
    return float(np.mean([losses[classes == each].mean() for each in np.unique(classes)]))


def _gini(true: pd.Series, guess: pd.Series) -> float:
    def area(values: pd.Series) -> float:
        curve = values.cumsum() / values.sum()
        return float((curve - np.arange(1, len(values) + 1) / len(values)).sum())

    order = sorted(range(len(true)), key=lambda row: (-guess.iloc[row], row))
    return area(true.iloc[order]) / area(true.sort_values(ascending=False))


def _pairs(true: pd.Series, guess: pd.Series) -> float:
    other = [(i, j) for i in range(len(true)) for j in range(i) if true.iloc[i] != true.iloc[j]]
    values = []
    for i, j in other:
        product = (true.iloc[i] - true.iloc[j]) * (guess.iloc[i] - guess.iloc[j])
        values.append(1.0 if product > 0 else 0.5 if product == 0 else 0.0)
    return float(np.mean(values))


def _rmspe(true: pd.Series, guess: pd.Series) -> float:
    pairs = zip(true, guess, strict=True)
    return float(np.sqrt(np.mean([0.0 if t == 0 else ((t - p) / t) ** 2 for t, p in pairs])))


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
    "hamming-loss": _labels(metrics.hamming_loss),
    "f05": _f(0.5),
    "f2": _f(2),
    "brier-score": _numbers(metrics.brier_score_loss),
    "balanced-log-loss": _balanced,
    "rmspe": _numbers(_rmspe),
    **{
        f"pinball-{percent}": _numbers(partial(metrics.mean_pinball_loss, alpha=percent / 100))
        for percent in (5, 10, 25, 50, 75, 90, 95)
    },
    "normalised-gini": _numbers(_gini),
    "concordance-index": _numbers(_pairs),
    "samples-f2": _sets_beta,
    "rmse": _numbers(_rmse),
    "mse": _numbers(metrics.mean_squared_error),
    "mae": _numbers(metrics.mean_absolute_error),
    "rmsle": _numbers(metrics.root_mean_squared_log_error),
    "rmse-of-log": _numbers(lambda t, p: _rmse(np.log(t), np.log(p))),
    "median-absolute-error": _numbers(metrics.median_absolute_error),
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

RANKED_REFERENCES: dict[str, Reference] = {
    "top-3-accuracy": _ranks(lambda hits, _: float(any(hits[:3]))),
    "top-5-accuracy": _ranks(lambda hits, _: float(any(hits[:5]))),
    "ndcg-at-5": _ranks(_ndcg(5)),
    "ndcg-at-10": _ranks(_ndcg(10)),
    "mrr": _ranks(lambda hits, _: 1 / (1 + hits.index(True)) if any(hits) else 0.0),
}
"""Of metrics of ranked guesses."""
