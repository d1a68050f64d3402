"""Break a score down by target column and by blocks of rows that agents can identify.

Each part reveals something of the sealed labels, so parts are few, rounded, and of many rows; see
docs/security.md for the bound. There are no parts by true class: each would be about one label.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from comind.domain.value import one_line
from comind.evaluation.grader_port import ScoreBreakdown, SubsetScore
from comind.evaluation.metrics.metric_types import Metric, Statistic

__all__ = ["LEAST_ROWS", "MOST_BLOCKS", "MOST_TARGETS", "Blocks", "Breakdown"]

MOST_TARGETS = 12
"""Most parts reported by target column."""
MOST_BLOCKS = 4
"""Most blocks of rows."""
LEAST_ROWS = 20
"""Least rows of a part."""

_DIGITS = 3  # significant digits
_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of validation rows by a visible column."""

    by: str
    """The name of the column."""
    names: tuple[str, ...]
    numbers: np.ndarray
    """The index in `names` of each row's block, shape (rows,); -1 for none."""


class Breakdown:
    """Breaks down scores on one set of rows."""

    def __init__(self, blocks: Blocks | None = None) -> None:
        """Store the blocks of the rows, if any."""
        self._blocks = blocks

    def of(
        self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame
    ) -> tuple[ScoreBreakdown, ...]:
        """Return the parts of a score on parsed tables; parts with an undefined metric are omitted."""
        found = (
            self._by_target(metric, truth, prediction),
            self._by_block(metric, truth, prediction),
        )
        return tuple(parts for parts in found if parts is not None)

    def _by_target(
        self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame
    ) -> ScoreBreakdown | None:
        if not metric.by_column or len(truth) < LEAST_ROWS:
            return None
        every = np.arange(len(truth))
        measured = (
            (name, metric.statistic(truth[[name]], prediction[[name]]), every, 1 / truth.shape[1])
            for name in truth.columns
        )
        return _parts("target", measured, MOST_TARGETS, maximize=metric.maximize)

    def _by_block(
        self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame
    ) -> ScoreBreakdown | None:
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
) -> ScoreBreakdown | None:
    """Return the parts with a value, the worst first; None if fewer than two."""
    found = []
    for name, statistic, rows, share in measured:
        value = _value(statistic, rows)
        if value is not None:
            found.append(SubsetScore(name=one_line(name, _NAME_LENGTH), value=value, share=share))
    if len(found) < 2:  # noqa: PLR2004 - one part is the whole
        return None
    found.sort(key=lambda part: part.value, reverse=not maximize)
    return ScoreBreakdown(by=one_line(by, _NAME_LENGTH), count=len(found), worst=tuple(found[:most]))


def _value(statistic: Statistic, rows: np.ndarray) -> float | None:
    """Return the rounded metric over rows; None if undefined or not finite."""
    try:
        with np.errstate(all="ignore"):
            value = statistic(rows)
    except ValueError:
        return None
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
