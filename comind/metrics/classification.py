"""Classification metrics on class labels; the mean over several target columns."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import (
    ColumnMetric,
    ColumnStatistic,
    Metric,
    Names,
    RowMetric,
    Statistic,
)
from comind.metrics.parsing import parse_binary_labels, parse_integers, parse_labels

_FromClasses = Callable[[np.ndarray, np.ndarray, int], float]
"""(true class numbers, predicted class numbers, number of classes) -> value."""


def _accuracy_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the share of correct target columns in each row, shape (rows, 1)."""
    same = np.asarray(truth.to_numpy() == prediction.to_numpy(), dtype=float)
    return np.asarray(same.mean(axis=1, keepdims=True))


def _error_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    return np.asarray(1.0 - _accuracy_rows(truth, prediction))


def _parse_first_label(column: "pd.Series[str]") -> "pd.Series":
    return parse_labels(column.str.strip().str.replace(r"(?s)\s.*", "", regex=True))


def _class_statistic(counted: _FromClasses) -> ColumnStatistic:
    """Return a statistic of numbered classes; its memory is linear in the number of classes."""

    def column(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
        numbers, classes = pd.factorize(pd.concat([truth, prediction]), sort=True)
        true, pred = numbers[: len(truth)], numbers[len(truth) :]
        return lambda draw: counted(true[draw], pred[draw], len(classes))

    return column


def _counts(true: np.ndarray, pred: np.ndarray, classes: int) -> tuple[np.ndarray, ...]:
    """Return the true positives, true rows and predicted rows of each class, as floats."""
    right = np.bincount(true[true == pred], minlength=classes)
    counts = right, np.bincount(true, minlength=classes), np.bincount(pred, minlength=classes)
    return tuple(count.astype(float) for count in counts)


def _cohen_kappa(true: np.ndarray, pred: np.ndarray, classes: int) -> float:
    right, trues, preds = _counts(true, pred, classes)
    rows = float(len(true))
    by_chance = float((trues * preds).sum()) / rows
    return float((right.sum() - by_chance) / (rows - by_chance)) if by_chance < rows else 1.0


def _quadratic_kappa(true: np.ndarray, pred: np.ndarray, classes: int) -> float:
    _, trues, preds = _counts(true, pred, classes)
    place = np.cumsum(trues + preds > 0) - 1.0  # weights are distances between occurring classes
    rows = float(len(true))
    observed = ((place[true] - place[pred]) ** 2).sum()
    squares = rows * (place**2 * (trues + preds)).sum()
    expected = (squares - 2 * (place * trues).sum() * (place * preds).sum()) / rows
    return float(1 - observed / expected) if expected else 1.0  # all rows are correct and of one class


def _macro_f1(true: np.ndarray, pred: np.ndarray, classes: int) -> float:
    right, trues, preds = _counts(true, pred, classes)
    seen = trues + preds > 0
    return float((2 * right[seen] / (trues + preds)[seen]).mean())


def _matthews(true: np.ndarray, pred: np.ndarray, classes: int) -> float:
    right, trues, preds = _counts(true, pred, classes)
    rows = float(len(true))
    covariance = right.sum() * rows - (trues * preds).sum()
    spread = (rows**2 - (trues**2).sum()) * (rows**2 - (preds**2).sum())
    return float(covariance / np.sqrt(spread)) if spread else 0.0


def _balanced_accuracy(true: np.ndarray, pred: np.ndarray, classes: int) -> float:
    right, trues, _ = _counts(true, pred, classes)
    return float((right[trues > 0] / trues[trues > 0]).mean())


def _f_beta(truth: "pd.Series", prediction: "pd.Series", *, beta: float) -> Statistic:
    true, pred = np.asarray(truth == "1"), np.asarray(prediction == "1")
    right, weight = true & pred, beta**2

    def statistic(draw: np.ndarray) -> float:
        below = weight * int(true[draw].sum()) + int(pred[draw].sum())
        return (1 + weight) * int(right[draw].sum()) / below if below else 0.0

    return statistic


_VOTE = MetricTraits(means=("vote",))
_row_metric = partial(
    RowMetric,
    answer_kind=AnswerKind.LABEL,
    truth_parser=parse_labels,
    row_bounds=(0.0, 1.0),
    by_column=True,
    traits=_VOTE,
)
_column_metric = partial(
    ColumnMetric, maximize=True, answer_kind=AnswerKind.LABEL, parse=parse_labels, best=1.0, traits=_VOTE
)

CLASSIFICATION_METRICS: tuple[Metric, ...] = (
    _row_metric(
        "accuracy",
        "sklearn.metrics.accuracy_score",
        _accuracy_rows,
        maximize=True,
        parse=parse_labels,
        best=1.0,
        of_texts="exact-match",
        called=Names(
            (
                "accuracy, accuracy score, categorization accuracy, classification accuracy, "
                "percentage of correctly classified, percentage of correct predictions, fraction "
                "of correct predictions, multiclass accuracy, multi class accuracy, multi class "
                "classification accuracy"
            ),
            names="acc, top 1 accuracy",
        ),
    ),
    _row_metric(
        "top-1-error",
        "1 - sklearn.metrics.accuracy_score of the first guess",
        _error_rows,
        maximize=False,
        parse=_parse_first_label,
        best=0.0,
        traits=MetricTraits(means=()),  # cells may have further guesses
        called=Names("top 1 error", names="error rate, classification error"),
    ),
    _row_metric(
        "hamming-loss",
        "sklearn.metrics.hamming_loss: share of wrong cells",
        _error_rows,
        maximize=False,
        parse=parse_labels,
        best=0.0,
        called=Names("hamming loss", columns="any"),
    ),
    _column_metric("cohen-kappa", "sklearn.metrics.cohen_kappa_score", _class_statistic(_cohen_kappa)),
    _column_metric(
        "quadratic-weighted-kappa",
        "sklearn.metrics.cohen_kappa_score(weights='quadratic')",
        _class_statistic(_quadratic_kappa),
        parse=parse_integers,
        traits=MetricTraits(ordered=True, means=("rounded", "vote")),
        called=Names(
            "quadratic weighted kappa, quadraticweightedkappa, qwk, cohen kappa score quadratic, "
            "quadratically weighted kappa, quadratic weighted cohen s kappa, "
            "kappa with quadratic weights, "
            "cohen s kappa with quadratic weights, quadratic weighted cohen kappa",
            names="quadratic kappa",
        ),
    ),
    _column_metric(
        "f1",
        "sklearn.metrics.f1_score of class 1, 0 where undefined",
        partial(_f_beta, beta=1),
        truth_parser=parse_binary_labels,
        called=Names("f1", names="binary f1"),
    ),
    _column_metric(
        "f05",
        "sklearn.metrics.fbeta_score(beta=0.5) of class 1, 0 where undefined",
        partial(_f_beta, beta=0.5),
        truth_parser=parse_binary_labels,
    ),
    _column_metric(
        "f2",
        "sklearn.metrics.fbeta_score(beta=2) of class 1, 0 where undefined",
        partial(_f_beta, beta=2),
        truth_parser=parse_binary_labels,
    ),
    _column_metric(
        "macro-f1",
        "sklearn.metrics.f1_score(average='macro')",
        _class_statistic(_macro_f1),
        called=Names(
            (
                "macro f1, macro f1 score, macro averaged f1, macro averaged f1 score, f1 score "
                "macro, macro f score, mean f1 score macro"
            ),
            names="f1 macro",
            understood="class classes",
        ),
    ),
    _column_metric(
        "matthews-correlation",
        "sklearn.metrics.matthews_corrcoef",
        _class_statistic(_matthews),
        called=Names(
            "matthews correlation coefficient, matthews correlation, mcc", names="matthews corrcoef"
        ),
    ),
    _column_metric(
        "balanced-accuracy",
        "sklearn.metrics.balanced_accuracy_score",
        _class_statistic(_balanced_accuracy),
        called=Names(
            "balanced accuracy, balanced accuracy score, mean class accuracy, mean per class accuracy, "
            "average per class accuracy, average class accuracy, class averaged accuracy, "
            "mean per class recall, macro averaged recall, macro recall, unweighted average recall",
            understood="class classes averaged average",
        ),
    ),
)
