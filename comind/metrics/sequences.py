"""Metrics of ranked lists, sequences, free text and label sets, such as MAP@k and Kendall's tau."""

import math
import operator
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pandas as pd
from rapidfuzz.distance import Levenshtein

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Metric, Names, RowMetric, mean_over_columns, per_row
from comind.metrics.parsing import cell_parser, parse_label_sets, parse_text

_Items = tuple[str, ...]
_WORDS = {2: "two", 3: "three", 5: "five", 10: "ten"}
_GUESSES = 10  # that a model makes where any number counts


def _parse_items(column: "pd.Series[str]") -> "pd.Series":
    """Parse the words of each cell as a tuple; an empty cell is an empty tuple."""
    return column.map(lambda cell: tuple(cell.split())).astype(object)


def _parse_integers(cell: str) -> tuple[int, ...] | None:
    try:
        return tuple(int(word) for word in cell.split())
    except ValueError:
        return None


_parse_sequences = cell_parser(_parse_integers, "no whole numbers with spaces between them")


def _average_precision_at(true: frozenset[str], preds: _Items, *, k: int) -> float:
    """Return Kaggle's average precision at k: sum of hit * precision at its rank, over min(truths, k).

    A duplicate guess is a hit once. The divisor is the number of possible hits, not of actual ones.
    """
    hits, total = 0, 0.0
    for place, pred in enumerate(preds[:k], start=1):
        if pred in true and pred not in preds[: place - 1]:
            hits += 1
            total += hits / place
    return total / min(len(true), k) if true else 0.0


def _first_hit(true: frozenset[str], preds: _Items, *, k: int | None = None) -> int:
    """Return the rank of the first right guess among the first k, from 1; 0 if none is right."""
    return next((place for place, pred in enumerate(preds[:k], start=1) if pred in true), 0)


def _hit(true: frozenset[str], preds: _Items, *, k: int) -> float:
    return float(_first_hit(true, preds, k=k) > 0)


def _reciprocal_rank(true: frozenset[str], preds: _Items) -> float:
    place = _first_hit(true, preds)
    return 1 / place if place else 0.0


def _ndcg_at(true: frozenset[str], preds: _Items, *, k: int) -> float:
    """Return the discounted cumulative gain of k guesses over the best possible one.

    A right guess gains 1 / log2(1 + rank); a duplicate one gains once.
    """
    gains = [
        1 / math.log2(1 + place)
        for place, pred in enumerate(preds[:k], start=1)
        if pred in true and pred not in preds[: place - 1]
    ]
    best = sum(1 / math.log2(1 + place) for place in range(1, min(len(true), k) + 1))
    return sum(gains) / best if true else 0.0


def _inversions(true: _Items, pred: _Items) -> tuple[int, int]:
    """Return the number of inverted pairs, and n (n - 1)."""
    if sorted(true) != sorted(pred):
        # The message must not reveal the length of the true order.
        raise ValueError(f"an order of cells does not name each once: {' '.join(pred)[:60]!r}")
    place = {item: number for number, item in enumerate(true)}
    seen: list[int] = []
    wrong = 0
    for number in (place[item] for item in pred):
        below = bisect_right(seen, number)
        wrong += len(seen) - below
        seen.insert(below, number)
    return wrong, len(true) * (len(true) - 1)


def _ranked(name: str, formula: str, value: Callable[..., float], guesses: int, called: Names) -> Metric:
    """Create the mean over rows of a value of the right labels and a list of guesses, best first."""
    return RowMetric(
        name,
        formula,
        per_row(value),
        maximize=True,
        answer_kind=AnswerKind.LABEL_SET,
        parse=_parse_items,
        truth_parser=parse_label_sets,
        row_bounds=(0.0, 1.0),
        best=1.0,
        traits=MetricTraits(guesses=guesses, means=()),
        called=called,
        rare=True,
    )


def _map_at(k: int) -> Metric:
    formula = f"mean of sum over i <= {k} of hit(i) * hits(i) / i, over min(truths, {k})"
    long = "mean average precision"
    called = f"map {k}, map at {k}, {long} {k}, {long} at {k}, {long} map {k}, "
    called += f"map at k {k}, map k {k}, {long} at k {k}"
    value = partial(_average_precision_at, k=k)
    return _ranked(f"map-at-{k}", formula, value, k, Names(called))


def _top_k(k: int) -> Metric:
    formula = f"share of rows with a right label among the first {k} guesses"
    called = f"top {k} accuracy, accuracy at {k}, top {_WORDS.get(k, k)} accuracy"
    return _ranked(f"top-{k}-accuracy", formula, partial(_hit, k=k), k, Names(called))


def _ndcg(k: int) -> Metric:
    formula = f"mean of sum over hits i <= {k} of 1 / log2(1 + i), over that of the best order"
    long = "normalized discounted cumulative gain"
    called = f"ndcg {k}, ndcg at {k}, {long} {k}, {long} at {k}"
    return _ranked(f"ndcg-at-{k}", formula, partial(_ndcg_at, k=k), k, Names(called))


@cache
def ranked_metrics(k: int) -> tuple[Metric, ...]:
    """Return the metrics of a list of k guesses; none for a single one."""
    return (_map_at(k), _ndcg(k), _top_k(k)) if k > 1 else ()


def ranked_metric(name: str) -> Metric | None:
    """Return the metric of a list of guesses with this name, such as `map-at-15`; None for others."""
    found = re.search(r"-([1-9]\d{0,3})(?=-|$)", name)
    made = ranked_metrics(int(found[1])) if found else ()
    return next((metric for metric in made if metric.name == name), None)


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


_text_metric = partial(RowMetric, answer_kind=AnswerKind.TEXT, parse=parse_text, by_column=True)
_label_set_metric = partial(
    RowMetric, maximize=True, answer_kind=AnswerKind.LABEL_SET, parse=parse_label_sets, by_column=True
)

SEQUENCE_METRICS: tuple[Metric, ...] = (
    *map(_map_at, (2, 3, 4, 5, 7, 10, 12, 20)),
    *map(_top_k, (3, 5)),
    *map(_ndcg, (5, 10)),
    _ranked(
        "mrr",
        "mean of 1 / rank of the first right guess, or 0",
        _reciprocal_rank,
        _GUESSES,
        called=Names("mean reciprocal rank, mrr"),
    ),
    RowMetric(
        "pooled-kendall-tau",
        "1 - 4 * inversions of all rows / sum of n (n - 1); one row: scipy.stats.kendalltau",
        per_row(_inversions),
        maximize=True,
        answer_kind=AnswerKind.TEXT,
        parse=_parse_items,
        finish=lambda means: 1 - 4 * means[0] / means[1],
        best=1.0,
        rare=True,
    ),
    RowMetric(
        "normalised-levenshtein",
        "sum of rapidfuzz.distance.Levenshtein.distance / sum of true lengths",
        per_row(lambda true, pred: (Levenshtein.distance(true, pred), len(true))),
        maximize=False,
        answer_kind=AnswerKind.TEXT,
        parse=_parse_sequences,
        finish=lambda means: means[0] / means[1],
        best=0.0,
        rare=True,
    ),
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
