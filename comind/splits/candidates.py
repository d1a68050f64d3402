"""Enumerate relations that may separate test from train: groups, times, places, duplicates."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import PERIODS, SplitRule
from comind.splits.groups import id_tokens, parse_times
from comind.splits.relations import FollowedInTime, NearestNeighbour, PooledRows, SameGroup
from comind.splits.series_ids import series_names, series_times

_TOKENS, _FEW_TOKENS = 6, 4
_MOSTLY, _NEARLY_ALL = 0.5, 0.98
_SEPARATORS = ("_", "-", "/", ":", "|")
_LONGEST_ID = 200  # characters
_CONTINUOUS = 0.3  # share of distinct cells in the sample
_AXES, _GUESSED_AXES, _MOST_AXES = 2, 6, 6
_NANOSECONDS_A_DAY = 86_400e9
_WEEK, _THURSDAY = 7, 3  # days; 1970-01-01 was a Thursday
_UNIX = ((5e8, 2.2e9), (5e11, 2.2e12))  # seconds and milliseconds, 1985 to 2039
_TIME_WORD = re.compile(
    "t|ts|dt|(day|week)(ofyear)?|doy|time(stamp)?|date(time)?|unix|epoch|month|quarter|year"
    "|hour|minute|second|step|period|when|block"
)
_ID_WORDS = frozenset(["id", "no", "nr", "code", "key", "group", "type"])
_AXIS_WORDS = (
    (("lat", "latitude"), ("lon", "long", "lng", "longitude")),
    (("x",), ("y",)),
    (("easting", "east"), ("northing", "north")),
    (("row",), ("col", "column")),
)


class _TimeColumn(NamedTuple):
    """A column that orders rows in time."""

    name: str
    times: npt.NDArray[np.float64]
    """Days since 1970 or, of a numeric column, its values."""
    timestamps: "npt.NDArray[np.datetime64] | None" = None
    """The same as timestamps; None for a numeric column."""
    in_ids: bool = False
    """Whether the times are those in ids of series."""

    def periods(self, period: str) -> npt.NDArray[np.intp]:
        """Return the number of each row's day, week, month or year."""
        assert self.timestamps is not None, "plain numbers have no calendar"
        if period == "week":
            whole = np.floor((self.times + _THURSDAY) / _WEEK)
        else:
            whole = self.timestamps.astype(f"datetime64[{period[0].upper()}]").astype(np.int64)
        codes: npt.NDArray[np.intp] = pd.factorize(whole)[0]
        return codes


def group_candidates(pool: PooledRows) -> Iterator[SameGroup]:
    """Yield groups by each column's values, by its dates, and by parts of ids."""
    for name in pool.columns:
        cells = pool.sample_cells(name)
        yield SameGroup(pool, SplitRule(kind="group", column=name))
        if pool.is_datetime(name):
            has_clock = cells.str.contains(r"\d:\d", regex=True).mean() > _MOSTLY
            if has_clock and not np.isnat(pool.timestamps(name)).any():  # NaT has no date
                yield SameGroup(pool, SplitRule(kind="group", column=name, by="date"))
        elif not pool.is_numeric(name):
            yield from (SameGroup(pool, rule) for rule in _id_groups(name, cells))


def _id_groups(name: str, cells: "pd.Series[str]") -> Iterator[SplitRule]:
    """Yield the rules by which ids may name groups, finer ones of the same form first."""
    if _is_composite(cells):
        for parts in _token_runs(len(id_tokens(cells.head(1)).iloc[0])):
            yield SplitRule(kind="group", column=name, by="parts", parts=parts)
    else:
        for separator in _SEPARATORS:
            if cells.str.contains(separator, regex=False).mean() >= _NEARLY_ALL:
                yield SplitRule(kind="group", column=name, by="prefix", separator=separator)
    if _names_series(cells):
        yield SplitRule(kind="group", column=name, by="series")


def _names_series(cells: "pd.Series[str]") -> bool:
    """Return whether nearly all of the cells are short and have a date or number beside other text."""
    if not len(cells) or cells.str.len().max() > _LONGEST_ID:
        return False
    beside = (series_times(cells) != "") & (series_names(cells) != "")
    return bool(beside.mean() >= _NEARLY_ALL)


def time_columns(pool: PooledRows) -> Iterator[_TimeColumn]:
    """Yield complete columns of dates and times, then numbers that count time, then times in ids."""
    numeric, ids = [], []
    for name in pool.columns:
        cells = pool.sample_cells(name)
        if pool.is_datetime(name):
            timestamps = pool.timestamps(name)
            if not np.isnat(timestamps).any():
                yield _TimeColumn(name, timestamps.astype(np.int64) / _NANOSECONDS_A_DAY, timestamps)
        elif _counts_time(name, pd.to_numeric(cells, errors="coerce"), is_id=name in pool.ids):
            numeric.append(name)
        elif not pool.is_numeric(name) and _names_series(cells):
            ids.append(name)
    for name in numeric:
        if not np.isnan(pool.numbers(name)).any():
            yield _TimeColumn(name, pool.numbers(name))
    yield from (column for name in ids if (column := _times_in_ids(pool, name)) is not None)


def _times_in_ids(pool: PooledRows, name: str) -> _TimeColumn | None:
    """Return the times in ids of series, timestamps or numbers; None if an id has none."""
    text = series_times(pool.column(name))
    numbers = pd.to_numeric(text, errors="coerce").to_numpy(np.float64)
    if not np.isnan(numbers).any():
        return _TimeColumn(name, numbers, in_ids=True)
    times = parse_times(text).dt.tz_localize(None).to_numpy("datetime64[ns]")
    if np.isnat(times).any():
        return None
    return _TimeColumn(name, times.astype(np.int64) / _NANOSECONDS_A_DAY, times, in_ids=True)


def time_candidates(
    pool: PooledRows, column: _TimeColumn, groups: list[SameGroup]
) -> Iterator[FollowedInTime]:
    """Yield order in time: over all rows, within each calendar period, and within each group.

    The coarsest come first, as the last rows of all are also the last of their group. A group column
    named like a calendar period is skipped: in a rule its name means the period. Times in ids order
    all rows only if they are dates, as numbers may count the rows; their groups are the ids' own.
    """
    in_days = column.timestamps is not None
    plain = SplitRule(kind="time", column=column.name, by="series" if column.in_ids else None)
    if in_days or not column.in_ids:
        yield FollowedInTime(pool, plain, column.times, in_days)
    for period in reversed(PERIODS) if in_days else ():
        rule = plain.model_copy(update={"within": period})
        yield FollowedInTime(pool, rule, column.times, in_days, column.periods(period))
    for group in sorted(groups, key=lambda each: len(each.sizes)):
        own = group.rule.column == column.name and group.rule.by == "series"
        if own if column.in_ids else group.rule.column not in (column.name, *PERIODS):
            names = ("by", "parts", "separator")
            within = {"within": group.rule.column, **{name: getattr(group.rule, name) for name in names}}
            rule = plain.model_copy(update=within)
            yield FollowedInTime(pool, rule, column.times, in_days, group.numbers)


def spatial_candidates(pool: PooledRows, *, guessed: bool) -> Iterator[NearestNeighbour]:
    """Yield pairs of columns named like coordinates or, `guessed`, continuous ones not named so."""
    numeric = [name for name in pool.columns if name not in pool.ids and pool.is_numeric(name)]
    named = [(one, other) for one in numeric for other in numeric if _are_axes(one, other)]
    for pair in combinations(continuous_columns(pool)[:_GUESSED_AXES], _AXES) if guessed else named:
        if guessed and (pair in named or pair[::-1] in named):
            continue
        rule = SplitRule(kind="group", by="place", columns=pair, sizes=(1.0, 1.0))
        yield NearestNeighbour(pool, rule, guessed=guessed)


def duplicate_candidates(pool: PooledRows) -> Iterator[SameGroup | NearestNeighbour]:
    """Yield equality over the most distinctive columns, then nearness over continuous ones."""
    inputs = [name for name in pool.columns if name not in pool.ids]
    distinct = {name: pool.sample_cells(name).nunique() for name in inputs}
    inputs.sort(key=lambda name: -distinct[name])
    if inputs:
        rule = SplitRule(kind="group", by="twins", columns=tuple(inputs[:_MOST_AXES]))
        yield SameGroup(pool, rule)
    axes = tuple(continuous_columns(pool)[:_MOST_AXES])
    if len(axes) >= _AXES:
        yield NearestNeighbour(pool, SplitRule(kind="group", by="twins", columns=axes))


def continuous_columns(pool: PooledRows) -> list[str]:
    """Return continuous columns, the most distinct values first; neither times nor row numbers."""
    found: dict[str, int] = {}
    for name in pool.columns:
        if name in pool.ids or not pool.is_full(name) or not pool.is_numeric(name):
            continue
        numbers = pd.to_numeric(pool.sample_cells(name))
        if _is_row_number(numbers) or _counts_time(name, numbers, is_id=False):
            continue
        if numbers.nunique() >= _CONTINUOUS * len(numbers):
            found[name] = numbers.nunique()
    return sorted(found, key=lambda name: -found[name])


def feature_columns(pool: PooledRows) -> tuple[str, ...]:
    """Return the columns on which rows can be compared: neither ids nor row numbers."""
    return tuple(
        name
        for name in pool.columns
        if name not in pool.ids
        and not (pool.is_numeric(name) and _is_row_number(pd.to_numeric(pool.sample_cells(name))))
    )


def _is_row_number(numbers: "pd.Series[float]") -> bool:
    """Return whether all are different whole numbers."""
    return bool((numbers == numbers.round()).all()) and numbers.is_unique and len(numbers) > 1


def _is_composite(cells: "pd.Series[str]") -> bool:
    """Return whether cells are mostly distinct ids with the same number of tokens, at least two."""
    if not len(cells) or cells.nunique() < _MOSTLY * len(cells):
        return False
    counts = id_tokens(cells).str.len()
    return bool(1 < counts.iloc[0] <= _TOKENS and (counts == counts.iloc[0]).all())


def _token_runs(tokens: int) -> Iterator[tuple[int, ...]]:
    """Yield the runs of tokens that may name a group; of many tokens, prefixes and suffixes only."""
    for first in range(1, tokens + 1):
        for last in range(first, tokens + 1):
            whole = last - first + 1 == tokens
            if not whole and (tokens <= _FEW_TOKENS or first in (1, last)):
                yield tuple(range(first, last + 1))


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _counts_time(name: str, numbers: "pd.Series[float]", *, is_id: bool) -> bool:
    """Return whether numbers are times, by the column's name or as Unix time."""
    if not len(numbers) or numbers.isna().any():
        return False
    words = _words(name)
    if words and words[-1] in _ID_WORDS:
        return False
    if any(_TIME_WORD.fullmatch(word) for word in words):
        return True
    return not is_id and any(low < numbers.min() and numbers.max() < high for low, high in _UNIX)


def _are_axes(one: str, other: str) -> bool:
    """Return whether two names are coordinates of one point, such as `pickup_lat`, `pickup_lon`."""
    first, second = _words(one), _words(other)
    if len(first) != len(second):
        return False
    differing = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1:
        return False
    a, b = differing[0]
    return any(a in ones and b in others for ones, others in _AXIS_WORDS)
