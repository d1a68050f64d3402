"""Metrics of answers that are spans of tokens, or yes or no, or nothing."""

import re
from functools import partial

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.base import Metric, RowMetric, f1_of_counts
from comind.evaluation.metrics.parsing import refuse

__all__ = ["SPAN_METRICS"]

_SPAN = re.compile(r"-?\d+:-?\d+")


def _parse(column: "pd.Series[str]") -> "pd.Series":
    """Return `start:end`, `YES`, `NO` or nothing for each cell.

    Raises:
        ValueError: a cell holds something else.
    """
    text = column.str.strip()
    known = text.isin(["", "YES", "NO"]) | text.map(lambda cell: bool(_SPAN.fullmatch(cell)))
    refuse(~known, column, "neither start:end nor YES nor NO")
    return text.map(_plain)


def _parse_truth(column: "pd.Series[str]") -> "pd.Series":
    """Return all right answers of each cell, which stand between bars; none where there is no answer."""
    return column.map(lambda cell: frozenset(_plain(part) for part in cell.split("|") if part.strip()))


def _plain(cell: str) -> str:
    return ":".join(str(int(part)) for part in cell.split(":")) if ":" in cell else cell.strip()


def _counts(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return true positive, false positive, false negative and true negative of each row."""
    true, guess = truth.iloc[:, 0], prediction.iloc[:, 0]
    given = (guess != "").to_numpy(dtype=bool)
    right = np.array([cell in answers for cell, answers in zip(guess, true, strict=True)], dtype=bool)
    there = np.array([bool(answers) for answers in true], dtype=bool)
    return np.stack([given & right, given & ~right, ~given & there, ~given & ~there], axis=1).astype(
        float
    )


_of_spans = partial(
    RowMetric,
    maximize=True,
    kind=AnswerKind.TEXT,
    parse=_parse,
    truth_parser=_parse_truth,
    rows=_counts,
    best=1.0,
)

SPAN_METRICS: tuple[Metric, ...] = (
    _of_spans(
        name="span-f1",
        finish=f1_of_counts,
        reference="2 right / (2 right + wrong + missed), over all rows",
    ),
    _of_spans(
        name="span-accuracy",
        finish=lambda means: means[0] + means[3],
        reference="share of rows right, MLE-bench's F1: f1_score(average='micro') of 0 and 1",
    ),
)
