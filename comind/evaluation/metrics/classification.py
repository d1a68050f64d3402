"""Metrics that compare one class label with another; the mean over several target columns."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.base import Column, ColumnMetric, Metric, RowMetric, Statistic
from comind.evaluation.metrics.parsing import parse_binary_labels, parse_integers, parse_labels

__all__ = ["LABEL_METRICS"]

Counted = Callable[[np.ndarray, np.ndarray, int], float]
"""(true classes, predicted classes, how many classes) -> value; classes numbered in their order."""


def _agreement(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the share of target columns told right in each row, shape (rows, 1)."""
    same = np.asarray(truth.to_numpy() == prediction.to_numpy(), dtype=float)
    return np.asarray(same.mean(axis=1, keepdims=True))


def _disagreement(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    return np.asarray(1.0 - _agreement(truth, prediction))


def _first_of_several(column: "pd.Series[str]") -> "pd.Series":
    """Return the first label of a list of guesses; only that one counts."""
    return parse_labels(column.str.strip().str.split().str[0].fillna(""))


def _of_classes(counted: Counted) -> Column:
    """Return a statistic of numbered classes; memory grows with the classes, not with their pairs."""

    def column(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
        numbers, classes = pd.factorize(pd.concat([truth, prediction]), sort=True)
        true, guess = numbers[: len(truth)], numbers[len(truth) :]
        return lambda draw: counted(true[draw], guess[draw], len(classes))

    return column


def _counts(true: np.ndarray, guess: np.ndarray, classes: int) -> tuple[np.ndarray, ...]:
    """Return how often each class is told right, is true, is predicted; as floats."""
    right = np.bincount(true[true == guess], minlength=classes)
    counts = right, np.bincount(true, minlength=classes), np.bincount(guess, minlength=classes)
    return tuple(count.astype(float) for count in counts)


def _kappa(true: np.ndarray, guess: np.ndarray, classes: int) -> float:
    _, trues, guesses = _counts(true, guess, classes)
    place = np.cumsum(trues + guesses > 0) - 1.0  # the weights count the classes that appear
    rows = float(len(true))
    observed = ((place[true] - place[guess]) ** 2).sum()
    squares = rows * (place**2 * (trues + guesses)).sum()
    expected = (squares - 2 * (place * trues).sum() * (place * guesses).sum()) / rows
    return float(1 - observed / expected) if expected else 1.0  # all rows right, and of one class


def _macro_f1(true: np.ndarray, guess: np.ndarray, classes: int) -> float:
    right, trues, guesses = _counts(true, guess, classes)
    seen = trues + guesses > 0
    return float((2 * right[seen] / (trues + guesses)[seen]).mean())


def _matthews(true: np.ndarray, guess: np.ndarray, classes: int) -> float:
    right, trues, guesses = _counts(true, guess, classes)
    rows = float(len(true))
    covariance = right.sum() * rows - (trues * guesses).sum()
    spread = (rows**2 - (trues**2).sum()) * (rows**2 - (guesses**2).sum())
    return float(covariance / np.sqrt(spread)) if spread else 0.0


def _balanced_accuracy(true: np.ndarray, guess: np.ndarray, classes: int) -> float:
    right, trues, _ = _counts(true, guess, classes)
    return float((right[trues > 0] / trues[trues > 0]).mean())


def _f1(truth: "pd.Series", prediction: "pd.Series") -> Statistic:
    true, guess = np.asarray(truth == "1"), np.asarray(prediction == "1")

    def statistic(draw: np.ndarray) -> float:
        below = int(true[draw].sum() + guess[draw].sum())
        return 2 * int((true & guess)[draw].sum()) / below if below else 0.0

    return statistic


_of_rows = partial(
    RowMetric,
    kind=AnswerKind.LABEL,
    truth_parser=parse_labels,
    row_bounds=(0.0, 1.0),
    by_column=True,
)
_of_draws = partial(ColumnMetric, maximize=True, kind=AnswerKind.LABEL, parse=parse_labels, best=1.0)

LABEL_METRICS: tuple[Metric, ...] = (
    _of_rows(
        name="accuracy",
        maximize=True,
        parse=parse_labels,
        rows=_agreement,
        best=1.0,
        reference="sklearn.metrics.accuracy_score",
    ),
    _of_rows(
        name="top-1-error",
        maximize=False,
        parse=_first_of_several,
        rows=_disagreement,
        best=0.0,
        reference="1 - sklearn.metrics.accuracy_score of the first guess",
    ),
    _of_draws(
        name="quadratic-weighted-kappa",
        parse=parse_integers,
        column=_of_classes(_kappa),
        reference="sklearn.metrics.cohen_kappa_score(weights='quadratic')",
    ),
    _of_draws(
        name="f1",
        truth_parser=parse_binary_labels,
        column=_f1,
        reference="sklearn.metrics.f1_score of class 1, 0 where undefined",
    ),
    _of_draws(
        name="macro-f1",
        column=_of_classes(_macro_f1),
        reference="sklearn.metrics.f1_score(average='macro')",
    ),
    _of_draws(
        name="matthews-correlation",
        column=_of_classes(_matthews),
        reference="sklearn.metrics.matthews_corrcoef",
    ),
    _of_draws(
        name="balanced-accuracy",
        column=_of_classes(_balanced_accuracy),
        reference="sklearn.metrics.balanced_accuracy_score",
    ),
)
