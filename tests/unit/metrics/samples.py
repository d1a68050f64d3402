"""Random truths and predictions for every metric, as text."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.metrics import Metric

__all__ = ["ONE_COLUMN", "Sample", "random_sample"]

ONE_COLUMN = ("multiclass-log-loss", "balanced-log-loss", "lwlrap")
"""Metrics of whole rows, which are not means over columns."""

_Cell = Callable[[np.random.Generator], str]

_WORDS = ("a", "b", "c", "Yes", "no")


@dataclass(frozen=True)
class Sample:
    """Truth and prediction of a metric as tables of text."""

    metric: Metric
    truth: pd.DataFrame
    prediction: pd.DataFrame

    def parsed(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The parsed truth and prediction."""
        return (
            self.truth.apply(self.metric.parse_truth),
            self.prediction.apply(self.metric.parse),
        )

    def score(self) -> float:
        """The metric's value over all rows."""
        return self.metric.score(*self.parsed())

    def predict(self, prediction: pd.DataFrame) -> "Sample":
        """The same truth with another prediction."""
        return Sample(self.metric, self.truth, prediction)


def random_sample(metric: Metric, seed: int, *, rows: int = 20, columns: int = 2) -> Sample:
    """Return a sample on which the metric is defined."""
    random = np.random.default_rng(seed)
    names = [f"c{number}" for number in range(3 if metric.name in ONE_COLUMN else columns)]
    if metric.answer_kind is AnswerKind.CLASS_PROBABILITIES:
        classes = np.eye(len(names), dtype=int)[random.integers(0, len(names), rows)]
        truth = pd.DataFrame(classes.astype(str), columns=names)
        guess = pd.DataFrame(random.uniform(0.01, 3, truth.shape).astype(str), columns=names)
        return Sample(metric, truth, guess)
    true, predicted = _cells(metric)
    truth = pd.DataFrame({name: [true(random) for _ in range(rows)] for name in names})
    guess = pd.DataFrame({name: [predicted(random) for _ in range(rows)] for name in names})
    if metric.answer_kind is AnswerKind.PROBABILITY:
        truth.iloc[0], truth.iloc[1] = "1", "0"  # a ranking needs both classes
    if metric.answer_kind is AnswerKind.NUMBER:
        truth.iloc[0] = "0.5"  # never constant
        truth.iloc[1] = "2.5"
    return Sample(metric, truth, guess)


def _cells(metric: Metric) -> tuple[_Cell, _Cell]:
    """Return generators of true and predicted cells."""
    match metric.answer_kind:
        case AnswerKind.LABEL if metric.name == "quadratic-weighted-kappa":
            return _one_of("0", "1", "2", "5"), _one_of("0", "1", "2.0", "3")
        case AnswerKind.LABEL if metric.name in ("f1", "f05", "f2"):
            return _one_of("0", "1"), _one_of("0", "1", "1.0", "other")
        case AnswerKind.LABEL:
            return _one_of("x", "y", "1"), _one_of("x", "y", "1.0", "z")
        case AnswerKind.NUMBER:
            return _number, _number
        case AnswerKind.PROBABILITY:
            return _one_of("0", "1"), lambda random: str(round(random.uniform(0.01, 0.99), 2))
        case AnswerKind.LABEL_SET | AnswerKind.TEXT:
            return _words, _words
    return _mask, _mask


def _one_of(*cells: str) -> _Cell:
    return lambda random: str(random.choice(cells))


def _number(random: np.random.Generator) -> str:
    return repr(round(float(random.lognormal()), 3) + 0.001)


def _words(random: np.random.Generator) -> str:
    return " ".join(random.choice(_WORDS, random.integers(0, 4)))


def _mask(random: np.random.Generator) -> str:
    lengths = random.integers(1, 5, 2 * random.integers(0, 4))
    runs, pixel = [], 1
    for gap, length in lengths.reshape(-1, 2):
        runs += [pixel + gap, length]
        pixel += gap + length
    return " ".join(map(str, runs))
