"""Metrics of ranked lists, orders and sequences, such as MAP@k and Kendall's tau."""

from bisect import bisect_right

import numpy as np
import pandas as pd
from rapidfuzz.distance import Levenshtein

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.metric_types import Metric, RowMetric, Rows
from comind.evaluation.metrics.parsing import parse_label_sets, reject_cells

__all__ = ["SEQUENCE_METRICS"]

_Items = tuple[str, ...]


def _parse_items(column: "pd.Series[str]") -> "pd.Series":
    """Parse the words of each cell as a tuple; an empty cell is an empty tuple."""
    return column.map(lambda cell: tuple(cell.split())).astype(object)


def _parse_sequences(column: "pd.Series[str]") -> "pd.Series":
    """Parse the integers of each cell as a tuple.

    Raises:
        ValueError: a cell holds something else.
    """

    def parse(cell: str) -> tuple[int, ...] | None:
        try:
            return tuple(int(word) for word in cell.split())
        except ValueError:
            return None

    sequences = column.map(parse).astype(object)
    reject_cells(sequences.isna(), column, "no whole numbers with spaces between them")
    return sequences


def _average_precision_at(true: frozenset[str], preds: _Items, k: int) -> float:
    """Return Kaggle's average precision at k: sum of hit * precision at its rank, over min(truths, k).

    A duplicate guess is a hit once. The divisor is the number of possible hits, not of actual ones.
    """
    hits, total = 0, 0.0
    for place, pred in enumerate(preds[:k], start=1):
        if pred in true and pred not in preds[: place - 1]:
            hits += 1
            total += hits / place
    return total / min(len(true), k) if true else 0.0


def _mean_average_precision(k: int) -> Rows:
    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        both = zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True)
        return np.array([[_average_precision_at(true, preds, k)] for true, preds in both])

    return rows


def _inversions(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the inverted pairs and n (n - 1) of each row, shape (rows, 2)."""
    values = []
    for true, pred in zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True):
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
        values.append((wrong, len(true) * (len(true) - 1)))
    return np.array(values, dtype=float)


def _edits(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the edit distance and the true length of each row, shape (rows, 2)."""
    both = zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True)
    return np.array([(Levenshtein.distance(t, p), len(t)) for t, p in both], dtype=float)


def _map_at(k: int) -> Metric:
    return RowMetric(
        name=f"map-at-{k}",
        maximize=True,
        kind=AnswerKind.LABEL_SET,
        parse=_parse_items,
        truth_parser=parse_label_sets,
        rows=_mean_average_precision(k),
        row_bounds=(0.0, 1.0),
        best=1.0,
        reference=f"mean of sum over i <= {k} of hit(i) * hits(i) / i, over min(truths, {k})",
    )


SEQUENCE_METRICS: tuple[Metric, ...] = (
    _map_at(5),
    _map_at(12),
    RowMetric(
        name="pooled-kendall-tau",
        maximize=True,
        kind=AnswerKind.TEXT,
        parse=_parse_items,
        rows=_inversions,
        finish=lambda means: 1 - 4 * means[0] / means[1],
        best=1.0,
        reference="1 - 4 * inversions of all rows / sum of n (n - 1); one row: scipy.stats.kendalltau",
    ),
    RowMetric(
        name="normalised-levenshtein",
        maximize=False,
        kind=AnswerKind.TEXT,
        parse=_parse_sequences,
        rows=_edits,
        finish=lambda means: means[0] / means[1],
        best=0.0,
        reference="sum of rapidfuzz.distance.Levenshtein.distance / sum of true lengths",
    ),
)
