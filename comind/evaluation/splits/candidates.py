"""All that the test rows may have been set apart by: columns, parts of ids, times, places, twins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import PERIODS, SplitRule
from comind.evaluation.splits.groups import id_tokens
from comind.evaluation.splits.relations import (
    FollowedInTime,
    NearestNeighbour,
    PooledRows,
    SameGroup,
    near,
)

__all__ = [
    "TimeColumn",
    "continuous_columns",
    "duplicate_candidates",
    "feature_columns",
    "group_candidates",
    "spatial_candidates",
    "time_candidates",
    "time_columns",
]

_TOKENS, _FEW_TOKENS = 6, 4
_MOSTLY = 0.5
_CONTINUOUS = 0.3  # of the cells seen are different ones
_AXES, _GUESSED_AXES, _MOST_AXES = 2, 6, 6
_NANOSECONDS_A_DAY = 86_400e9
_WEEK, _THURSDAY = 7, 3  # days; the first of January 1970
_UNIX = ((5e8, 2.2e9), (5e11, 2.2e12))  # seconds and milliseconds of 1985 to 2039
_TIME_WORDS = frozenset(
    [
        "t",
        "time",
        "timestamp",
        "ts",
        "unix",
        "epoch",
        "date",
        "datetime",
        "day",
        "dayofyear",
        "doy",
        "week",
        "weekofyear",
        "month",
        "quarter",
        "year",
        "hour",
        "minute",
        "second",
        "step",
        "period",
        "when",
        "dt",
        "block",
    ]
)
_NAMES = frozenset(["id", "no", "nr", "code", "key", "group", "type"])
_PLACES = (
    (("lat", "latitude"), ("lon", "long", "lng", "longitude")),
    (("x",), ("y",)),
    (("easting", "east"), ("northing", "north")),
    (("row",), ("col", "column")),
)


@dataclass(frozen=True, eq=False)
class TimeColumn:
    """A column in which rows have an order of time."""

    name: str
    moments: npt.NDArray[np.float64]
    """Days or, of plain numbers, what stands there."""
    stamps: "npt.NDArray[np.datetime64] | None" = None
    """The same as times, where the column holds such."""

    def stretches(self, period: str) -> npt.NDArray[np.intp]:
        """Return the number of the day, week, month or year that each row is in."""
        assert self.stamps is not None, "plain numbers have no calendar"
        if period == "week":
            whole = np.floor((self.moments + _THURSDAY) / _WEEK)
        else:
            whole = self.stamps.astype(f"datetime64[{period[0].upper()}]").astype(np.int64)
        codes: npt.NDArray[np.intp] = pd.factorize(whole)[0]
        return codes


def group_candidates(pool: PooledRows) -> Iterator[SameGroup]:
    """Yield each column as a name of groups, its days where it has times, and parts of composite ids."""
    for name in pool.columns:
        seen = pool.seen(name)
        yield SameGroup(pool, SplitRule(kind="group", column=name))
        if pool.holds_times(name):
            clock = seen.str.contains(r"\d:\d", regex=True).mean() > _MOSTLY
            if clock and not np.isnat(pool.stamps(name)).any():  # one cell without a time has no day
                yield SameGroup(pool, SplitRule(kind="group", column=name, by="date"))
        elif not pool.is_number(name) and _is_composite(seen):
            for parts in _runs(len(id_tokens(seen.head(1)).iloc[0])):
                yield SameGroup(pool, SplitRule(kind="group", column=name, by="parts", parts=parts))


def time_columns(pool: PooledRows) -> Iterator[TimeColumn]:
    """Yield the columns of dates and times, then those of numbers that count time."""
    numbered = []
    for name in pool.columns:
        seen = pool.seen(name)
        if pool.holds_times(name):
            stamps = pool.stamps(name)
            if not np.isnat(stamps).any():
                yield TimeColumn(name, stamps.astype(np.int64) / _NANOSECONDS_A_DAY, stamps)
        elif _counts_time(name, pd.to_numeric(seen, errors="coerce"), own=name in pool.ids):
            numbered.append(name)
    for name in numbered:
        if not np.isnan(pool.numbers(name)).any():
            yield TimeColumn(name, pool.numbers(name))


def time_candidates(
    pool: PooledRows, times: TimeColumn, columns: list[SameGroup]
) -> Iterator[FollowedInTime]:
    """Yield the ways to come last in time: of all, of a stretch of the calendar, of a group of a column.

    The coarsest come first, as rows that come last of all also do so within each group. A column that
    is called as a stretch of the calendar is none of these: in a rule its name means that stretch.
    """
    in_days = times.stamps is not None
    yield FollowedInTime(pool, SplitRule(kind="time", column=times.name), times.moments, in_days)
    for period in reversed(PERIODS) if in_days else ():
        rule = SplitRule(kind="time", column=times.name, within=period)
        yield FollowedInTime(pool, rule, times.moments, in_days, times.stretches(period))
    for column in sorted(columns, key=lambda each: len(each.sizes)):
        if column.rule.column not in (times.name, *PERIODS):
            rule = SplitRule(kind="time", column=times.name, within=column.rule.column)
            yield FollowedInTime(pool, rule, times.moments, in_days, pd.factorize(column.groups)[0])


def spatial_candidates(pool: PooledRows, *, guessed: bool) -> Iterator[NearestNeighbour]:
    """Yield pairs of columns that are coordinates by their names or, `guessed`, perhaps without them."""
    numbers = [name for name in pool.columns if name not in pool.ids and pool.is_number(name)]
    named = [(one, other) for one in numbers for other in numbers if _are_axes(one, other)]
    tried = combinations(continuous_columns(pool)[:_GUESSED_AXES], _AXES) if guessed else named
    for pair in tried:
        if guessed and (pair in named or pair[::-1] in named):
            continue
        rule = SplitRule(kind="group", by="place", columns=pair, sizes=(1.0, 1.0))
        yield near(pool, rule, guessed=guessed)


def duplicate_candidates(pool: PooledRows) -> Iterator[SameGroup | NearestNeighbour]:
    """Yield equality over the columns that tell most, then nearness over the numbers that do."""
    inputs = [name for name in pool.columns if name not in pool.ids]
    distinct = {name: pool.seen(name).nunique() for name in inputs}
    telling = sorted(inputs, key=lambda name: -distinct[name])
    if telling:
        rule = SplitRule(kind="group", by="twins", columns=tuple(telling[:_MOST_AXES]))
        yield SameGroup(pool, rule)
    axes = tuple(continuous_columns(pool)[:_MOST_AXES])
    if len(axes) >= _AXES:
        yield near(pool, SplitRule(kind="group", by="twins", columns=axes))


def continuous_columns(pool: PooledRows) -> list[str]:
    """Return columns of many different numbers, those with most first; neither times nor row numbers."""
    found: dict[str, int] = {}
    for name in pool.columns:
        if name in pool.ids or not pool.is_full(name) or not pool.is_number(name):
            continue
        numbers = pd.to_numeric(pool.seen(name))
        if _is_row_number(numbers) or _counts_time(name, numbers, own=False):
            continue
        if numbers.nunique() >= _CONTINUOUS * len(numbers):
            found[name] = numbers.nunique()
    return sorted(found, key=lambda name: -found[name])


def feature_columns(pool: PooledRows) -> tuple[str, ...]:
    """Return the columns in which a test row may be like a train row: neither ids nor row numbers."""
    inputs = [name for name in pool.columns if name not in pool.ids]
    seen = {name: pool.seen(name) for name in inputs}
    return tuple(
        name
        for name in inputs
        if not (pool.is_number(name) and _is_row_number(pd.to_numeric(seen[name])))
    )


def _is_row_number(numbers: "pd.Series[float]") -> bool:
    """Recognise whole numbers that are all different: they say which row it is."""
    return bool((numbers == numbers.round()).all()) and numbers.is_unique and len(numbers) > 1


def _is_composite(cells: "pd.Series[str]") -> bool:
    """Recognise names of several parts, nearly all different: ids, not categories or words."""
    if not len(cells) or cells.nunique() < _MOSTLY * len(cells):
        return False
    counts = id_tokens(cells).str.len()
    return bool(1 < counts.iloc[0] <= _TOKENS and (counts == counts.iloc[0]).all())


def _runs(tokens: int) -> Iterator[tuple[int, ...]]:
    """Yield the runs of parts that may name a group; of many parts, single ones and beginnings."""
    for first in range(1, tokens + 1):
        for last in range(first, tokens + 1):
            whole = last - first + 1 == tokens
            if not whole and (tokens <= _FEW_TOKENS or first in (1, last)):
                yield tuple(range(first, last + 1))


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _counts_time(name: str, numbers: "pd.Series[float]", *, own: bool) -> bool:
    """Recognise numbers that are times: by the column's name, or as seconds since 1970."""
    if not len(numbers) or numbers.isna().any():
        return False
    words = _words(name)
    if words and words[-1] in _NAMES:
        return False
    if not _TIME_WORDS.isdisjoint(words):
        return True
    return not own and any(low < numbers.min() and numbers.max() < high for low, high in _UNIX)


def _are_axes(one: str, other: str) -> bool:
    """Recognise the names of two coordinates, such as `pickup_lat` and `pickup_lon`."""
    first, second = _words(one), _words(other)
    if len(first) != len(second):
        return False
    differing = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1:
        return False
    a, b = differing[0]
    return any(a in ones and b in others for ones, others in _PLACES)
