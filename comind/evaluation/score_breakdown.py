"""How a score divides: by target column, and by blocks of rows that agents can tell apart themselves.

Each part tells something of sealed labels, so parts are few, rounded, and of many rows; what that
amounts to is in docs/security.md. There are no parts by true class: they would all be about the same
labels.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from comind.domain.value import one_line
from comind.evaluation.metrics.base import Metric, Statistic
from comind.evaluation.report import Part, Parts

__all__ = ["LEAST_ROWS", "MOST_BLOCKS", "MOST_TARGETS", "Blocks", "Breakdown"]

MOST_TARGETS = 12
"""Parts that are told by target column."""
MOST_BLOCKS = 4
"""Parts that are told by block of rows."""
LEAST_ROWS = 20
"""Of a part."""

_DIGITS = 3  # significant ones
_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Blocks:
    """Rows that belong together by what validation.csv shows of them."""

    by: str
    """The column that says so."""
    names: tuple[str, ...]
    numbers: np.ndarray
    """The place in `names` of each row's block, shape (rows,); -1 for none."""


class Breakdown:
    """Divides scores on one set of rows."""

    def __init__(self, blocks: Blocks | None = None) -> None:
        """Take the blocks of the rows, if there are any."""
        self._blocks = blocks

    def of(self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame) -> tuple[Parts, ...]:
        """Return the parts of a score of `metric` on these tables; parts without one are left out."""
        found = (
            self._by_target(metric, truth, prediction),
            self._by_block(metric, truth, prediction),
        )
        return tuple(parts for parts in found if parts is not None)

    def _by_target(self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame) -> Parts | None:
        if not metric.by_column or len(truth) < LEAST_ROWS:
            return None
        every = np.arange(len(truth))
        measured = (
            (name, metric.statistic(truth[[name]], prediction[[name]]), every, 1 / truth.shape[1])
            for name in truth.columns
        )
        return _parts("target", measured, MOST_TARGETS, maximize=metric.maximize)

    def _by_block(self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame) -> Parts | None:
        blocks = self._blocks
        if blocks is None:
            return None
        statistic = metric.statistic(truth, prediction)
        members = (np.flatnonzero(blocks.numbers == number) for number in range(len(blocks.names)))
        measured = (
            (name, statistic, rows, len(rows) / len(truth))
            for name, rows in zip(blocks.names, members, strict=True)
            if len(rows) >= LEAST_ROWS
        )
        return _parts(blocks.by, measured, MOST_BLOCKS, maximize=metric.maximize)


def _parts(
    by: str,
    measured: Iterable[tuple[str, Statistic, np.ndarray, float]],
    most: int,
    *,
    maximize: bool,
) -> Parts | None:
    """Return the parts that have a value, the worst first; None for less than two."""
    found = []
    for name, statistic, rows, share in measured:
        value = _value(statistic, rows)
        if value is not None:
            found.append(Part(name=one_line(name, _NAME_LENGTH), value=value, share=share))
    if len(found) < 2:  # noqa: PLR2004 - one part is the whole
        return None
    found.sort(key=lambda part: part.value, reverse=not maximize)
    return Parts(by=one_line(by, _NAME_LENGTH), count=len(found), worst=tuple(found[:most]))


def _value(statistic: Statistic, rows: np.ndarray) -> float | None:
    """Return the rounded value over some rows; None where the metric has none there."""
    try:
        with np.errstate(all="ignore"):
            value = statistic(rows)
    except ValueError:
        return None
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
