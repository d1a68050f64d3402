"""Metrics of free text, label sets and token spans."""

import operator
import re
from functools import partial

import numpy as np
import pandas as pd
from rapidfuzz.distance import Levenshtein

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Metric, RowMetric, f1_of_counts, mean_over_columns
from comind.metrics.parsing import parse_label_sets, parse_text, reject_cells


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


def _f1_of_sets(true: frozenset[str], pred: frozenset[str]) -> float:
    there = len(true) + len(pred)
    return 2 * len(true & pred) / there if there else 0.0


_SPAN = re.compile(r"-?\d+:-?\d+")


def _parse(column: "pd.Series[str]") -> "pd.Series":
    """Parse cells that are `start:end`, `YES`, `NO` or empty.

    Raises:
        ValueError: a cell holds something else.
    """
    text = column.str.strip()
    known = text.isin(["", "YES", "NO"]) | text.map(lambda cell: bool(_SPAN.fullmatch(cell)))
    reject_cells(~known, column, "neither start:end nor YES nor NO")
    return text.map(_plain)


def _parse_truth(column: "pd.Series[str]") -> "pd.Series":
    """Parse the correct answers of each cell, separated by `|`; an empty set if there is none."""
    return column.map(lambda cell: frozenset(_plain(part) for part in cell.split("|") if part.strip()))


def _plain(cell: str) -> str:
    return ":".join(str(int(part)) for part in cell.split(":")) if ":" in cell else cell.strip()


def _counts(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return TP, FP, FN and TN of each row, shape (rows, 4)."""
    true, pred = truth.iloc[:, 0], prediction.iloc[:, 0]
    given = (pred != "").to_numpy(dtype=bool)
    right = np.array([cell in answers for cell, answers in zip(pred, true, strict=True)], dtype=bool)
    there = np.array([bool(answers) for answers in true], dtype=bool)
    return np.stack([given & right, given & ~right, ~given & there, ~given & ~there], axis=1).astype(
        float
    )


_text_metric = partial(RowMetric, kind=AnswerKind.TEXT, parse=parse_text, by_column=True)
_label_set_metric = partial(
    RowMetric, maximize=True, kind=AnswerKind.LABEL_SET, parse=parse_label_sets, by_column=True
)
_span_metric = partial(
    RowMetric,
    maximize=True,
    kind=AnswerKind.TEXT,
    parse=_parse,
    truth_parser=_parse_truth,
    best=1.0,
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
    ),
    _text_metric(
        "mean-levenshtein",
        "mean of rapidfuzz.distance.Levenshtein.distance",
        mean_over_columns(Levenshtein.distance),
        maximize=False,
        best=0.0,
    ),
    _text_metric(
        "word-jaccard",
        "mean of shared words over all words of both",
        mean_over_columns(_jaccard),
        maximize=True,
        row_bounds=(0.0, 1.0),
        best=1.0,
        traits=MetricTraits(similarity="words", means=()),
    ),
    _label_set_metric(
        "micro-f1",
        "sklearn.metrics.f1_score(average='micro') over label sets",
        _shared_labels,
        finish=_f1_of_counts,
        best=1.0,
    ),
    _label_set_metric(
        "samples-f1",
        "sklearn.metrics.f1_score(average='samples') over label sets",
        mean_over_columns(_f1_of_sets),
        row_bounds=(0.0, 1.0),
    ),
    _span_metric(
        "span-f1",
        "2 right / (2 right + wrong + missed), over all rows",
        _counts,
        finish=f1_of_counts,
    ),
    _span_metric(
        "span-accuracy",
        "share of rows right, MLE-bench's F1: f1_score(average='micro') of 0 and 1",
        _counts,
        finish=lambda means: means[0] + means[3],
    ),
)
