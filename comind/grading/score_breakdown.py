"""Break a score down by target column and by blocks of rows that agents can identify.

Each part reveals something of the sealed labels, so parts are few, rounded, and of many rows; see
docs/security.md for the bound. There are no parts by true class: each would be about one label.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from comind.domain.competition import SplitRule
from comind.domain.metric import rounded
from comind.domain.value import one_line
from comind.grading.grader_port import ScoreBreakdown, SubsetScore
from comind.metrics.metric_types import Metric, Statistic
from comind.splits.grouping import row_groups
from comind.splits.rule import ByTime
from comind.splits.split_folder import Split

_MOST_TARGETS = 12  # parts reported by target column
_MOST_BLOCKS = 4
_LEAST_ROWS = 20  # of a part
_DIGITS = 3  # significant digits at most
_GROUPS = 20  # of the jackknife
_NAME_LENGTH = 40
_DAYS = 2  # blocks that span more are named by dates without times


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of validation rows by a visible column."""

    by: str
    """The name of the column."""
    names: tuple[str, ...]
    numbers: np.ndarray
    """The index in `names` of each row's block, shape (rows,); -1 for none."""


def blocks_of(split: Split, validation: pd.DataFrame) -> Blocks | None:
    """Return the blocks of the rows of validation.csv, text cells.

    Blocks of a time split are consecutive and of about equal size; otherwise they are the groups (or
    classes) with at least 20 rows. None if the rule has no column, or it is a label or not in the table.
    """
    names = dict(zip(split.train_id_columns, split.id_columns, strict=True))
    shown = names.get(split.rule.column or "", split.rule.column)
    hidden = (*split.label_columns, *split.target_columns)
    if shown not in validation.columns or shown in hidden or split.rule.column in hidden:
        return None
    within = shown if split.rule.within == split.rule.column else split.rule.within
    rule = split.rule.model_copy(update={"column": shown, "within": within, "also": ()})
    blocks = _time_blocks(validation, rule) if rule.kind == "time" else _group_blocks(validation, rule)
    return Blocks(str(shown), *blocks)


def _time_blocks(table: pd.DataFrame, rule: SplitRule) -> tuple[tuple[str, ...], np.ndarray]:
    """Cut the rows into blocks by time; equal times are in one block."""
    times = ByTime.of(rule).times(table).reset_index(drop=True)
    places = (times.rank(method="min") - 1) * _MOST_BLOCKS // len(times)
    numbers, _ = pd.factorize(places, sort=True)
    ends = times.groupby(numbers).agg(["min", "max"])
    form = "%Y-%m-%d" if _spans_days(times) else "%Y-%m-%d %H:%M"
    plain = times.dtype.kind in "iuf"
    first, last = (
        [f"{end:.12g}" if plain else end.strftime(form) for end in ends[side]] for side in ("min", "max")
    )
    named = zip(first, last, strict=True)
    return tuple(one if one == other else f"{one} to {other}" for one, other in named), numbers


def _spans_days(times: "pd.Series") -> bool:
    """Return whether blocks of these times span days; False for numbers."""
    span = times.max() - times.min()
    return isinstance(span, pd.Timedelta) and span.days >= _DAYS * _MOST_BLOCKS


def _group_blocks(table: pd.DataFrame, rule: SplitRule) -> tuple[tuple[str, ...], np.ndarray]:
    groups = row_groups(table, rule).reset_index(drop=True)
    sizes = groups.value_counts()
    large = sorted(sizes.index[sizes >= _LEAST_ROWS])
    places = pd.Index(large).get_indexer(pd.Index(groups))
    return tuple(large), np.asarray(places)


def break_down(
    metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame, blocks: Blocks | None = None
) -> tuple[ScoreBreakdown, ...]:
    """Return the parts of a score on parsed tables; parts with an undefined metric are omitted."""
    found = []
    if metric.by_column and len(truth) >= _LEAST_ROWS:
        every = np.arange(len(truth))
        measured = (
            (name, metric.known_statistic(truth[[name]], prediction[[name]]), every, 1 / truth.shape[1])
            for name in truth.columns
        )
        found.append(_parts("target", measured, _MOST_TARGETS, maximize=metric.maximize))
    if blocks is not None:
        statistic = metric.known_statistic(truth, prediction)
        members = (np.flatnonzero(blocks.numbers == number) for number in range(len(blocks.names)))
        measured = (
            (name, statistic, rows, len(rows) / len(truth))
            for name, rows in zip(blocks.names, members, strict=True)
            if len(rows) >= _LEAST_ROWS
        )
        found.append(_parts(blocks.by, measured, _MOST_BLOCKS, maximize=metric.maximize))
    return tuple(parts for parts in found if parts is not None)


def _parts(
    by: str, measured: Iterable[tuple[str, Statistic, np.ndarray, float]], most: int, *, maximize: bool
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
    """Return the metric over rows in the digits that agents see; None if undefined or not finite."""
    value = _measure(statistic, rows)
    if value is None:
        return None
    return float(f"{rounded(value, _standard_error(statistic, rows)):.{_DIGITS}g}")


def _standard_error(statistic: Statistic, rows: np.ndarray) -> float:
    """Return the standard error by a delete-a-group jackknife (Efron and Tibshirani 1993)."""
    groups = np.arange(len(rows)) % _GROUPS
    values = (_measure(statistic, rows[groups != group]) for group in range(_GROUPS))
    known = np.asarray([value for value in values if value is not None])
    return float(known.std() * math.sqrt(max(len(known) - 1, 0))) if len(known) else 0.0


def _measure(statistic: Statistic, rows: np.ndarray) -> float | None:
    try:
        with np.errstate(all="ignore"):
            value = statistic(rows)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
