"""Metrics of free text and label sets."""

import operator
from functools import partial

import numpy as np
import pandas as pd
from rapidfuzz.distance import Levenshtein

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Metric, Names, RowMetric, mean_over_columns
from comind.metrics.parsing import parse_label_sets, parse_text


def _jaccard(true: str, pred: str) -> float:
    """Return the Jaccard index of the words; 1 for two empty texts."""
    one, other = set(true.lower().split()), set(pred.lower().split())
    return len(one & other) / len(one | other) if one | other else 1.0


def _shared_labels(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the numbers of shared labels of each column, then of labels on both sides."""
    both = [list(zip(truth[name], prediction[name], strict=True)) for name in truth.columns]
    shared = [[len(true & pred) for true, pred in pairs] for pairs in both]
    there = [[len(true) + len(pred) for true, pred in pairs] for pairs in both]
    return np.array(shared + there, dtype=float).T


def _f1_of_counts(means: np.ndarray) -> float:
    shared, there = np.split(means, 2)
    return float((2 * shared / np.where(there > 0, there, 1.0)).mean())


def _f_of_sets(true: frozenset[str], pred: frozenset[str], *, beta: float) -> float:
    there = beta**2 * len(true) + len(pred)
    return (1 + beta**2) * len(true & pred) / there if there else 0.0


_text_metric = partial(RowMetric, kind=AnswerKind.TEXT, parse=parse_text, by_column=True)
_label_set_metric = partial(
    RowMetric, maximize=True, kind=AnswerKind.LABEL_SET, parse=parse_label_sets, by_column=True
)
TEXT_METRICS: tuple[Metric, ...] = (
    _text_metric(
        "exact-match",
        "share of texts that are equal, character by character",
        mean_over_columns(operator.eq),
        maximize=True,
        row_bounds=(0.0, 1.0),
        best=1.0,
        traits=MetricTraits(similarity="whole", means=()),
        called=Names("exact match", names="text accuracy, string accuracy, exact string accuracy"),
    ),
    _text_metric(
        "mean-levenshtein",
        "mean of rapidfuzz.distance.Levenshtein.distance",
        mean_over_columns(Levenshtein.distance),
        maximize=False,
        best=0.0,
        called=Names(
            "levenshtein mean, mean levenshtein, mean levenshtein distance, levenshtein distance"
        ),
    ),
    _text_metric(
        "word-jaccard",
        "mean of shared words over all words of both",
        mean_over_columns(_jaccard),
        maximize=True,
        row_bounds=(0.0, 1.0),
        best=1.0,
        traits=MetricTraits(similarity="words", means=()),
        called=Names(
            "word jaccard, word level jaccard score, word level jaccard", names="mean word jaccard"
        ),
    ),
    _label_set_metric(
        "micro-f1",
        "sklearn.metrics.f1_score(average='micro') over label sets",
        _shared_labels,
        finish=_f1_of_counts,
        best=1.0,
        called=Names(
            ("micro f1, micro averaged f1, micro averaged f1 score, micro f1 score, f1 score micro"),
            names="f1 micro, multilabel micro f1",
        ),
    ),
    _label_set_metric(
        "samples-f1",
        "sklearn.metrics.f1_score(average='samples') over label sets",
        mean_over_columns(partial(_f_of_sets, beta=1)),
        row_bounds=(0.0, 1.0),
    ),
    _label_set_metric(
        "samples-f2",
        "sklearn.metrics.fbeta_score(beta=2, average='samples') over label sets",
        mean_over_columns(partial(_f_of_sets, beta=2)),
        row_bounds=(0.0, 1.0),
        called=Names("samples f2", names="f2 samples"),
    ),
)
