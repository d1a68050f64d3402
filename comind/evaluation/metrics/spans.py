"""Metrics of answers that are spans of tokens, or yes or no, or nothing."""

import re

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.base import Metric, RowMetric

__all__ = ["SPAN_METRICS"]

_SPAN = re.compile(r"-?\d+:-?\d+")


def _parse(column: "pd.Series[str]") -> "pd.Series":
    """Return `start:end`, `YES`, `NO` or nothing for each cell.

    Raises:
        ValueError: a cell holds something else.
    """
    text = column.str.strip()
    known = text.isin(["", "YES", "NO"]) | text.map(lambda cell: bool(_SPAN.fullmatch(cell)))
    if not known.all():
        raise ValueError(
            f"neither start:end nor YES nor NO in {int((~known).sum())} of {len(column)} rows, "
            f"for instance {str(column[~known].iloc[0])[:40]!r}"
        )
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


def _f1(means: np.ndarray) -> np.ndarray:
    below = 2 * means[..., 0] + means[..., 1] + means[..., 2]
    return np.asarray(2 * means[..., 0] / np.where(below > 0, below, 1.0))


SPAN_METRICS: tuple[Metric, ...] = (
    RowMetric(
        name="span-f1",
        maximize=True,
        kind=AnswerKind.TEXT,
        parse=_parse,
        parse_truth=_parse_truth,
        rows=_counts,
        finish=_f1,
        best=1.0,
        reference="2 right / (2 right + wrong + missed), over all rows",
    ),
    RowMetric(
        name="span-accuracy",
        maximize=True,
        kind=AnswerKind.TEXT,
        parse=_parse,
        parse_truth=_parse_truth,
        rows=_counts,
        finish=lambda means: np.asarray(means[..., 0] + means[..., 3]),
        best=1.0,
        reference="share of rows right, MLE-bench's F1: f1_score(average='micro') of 0 and 1",
    ),
)
