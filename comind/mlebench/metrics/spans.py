"""Spans of tokens that answer a question, as TensorFlow 2.0 Question Answering defines them."""

import re
from functools import partial

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import RowMetric, f1_of_counts
from comind.metrics.parsing import reject_cells

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


_span_metric = partial(
    RowMetric,
    maximize=True,
    answer_kind=AnswerKind.TEXT,
    parse=_parse,
    truth_parser=_parse_truth,
    best=1.0,
)

SPAN_F1 = _span_metric(
    "span-f1", "2 right / (2 right + wrong + missed), over all rows", _counts, finish=f1_of_counts
)

SPAN_ACCURACY = _span_metric(
    "span-accuracy",
    "share of rows right, MLE-bench's F1: f1_score(average='micro') of 0 and 1",
    _counts,
    finish=lambda means: means[0] + means[3],
)
