"""Orders in time that may separate test rows from train: of all rows, or within periods and groups."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import PERIODS, SplitRule
from comind.splits.grouping import Grouping, kinds_of_grouping
from comind.splits.pooled_rows import PooledRows
from comind.splits.relations import FollowedInTime, SameGroup
from comind.splits.times import counts_time
from comind.tables.dates import parse_dates

_NANOSECONDS_A_DAY = 86_400e9
_WEEK, _THURSDAY = 7, 3  # days; 1970-01-01 was a Thursday
PRESENT = 0.8
"""Share of test rows whose period or group train has, too."""
LEAST_PERIODS = 3


class _TimeColumn(NamedTuple):
    """A column that orders rows in time."""

    rule: SplitRule
    times: npt.NDArray[np.float64]
    """Days since 1970 or, of a numeric column, its values."""
    timestamps: "npt.NDArray[np.datetime64] | None" = None
    """The same as timestamps; None for a numeric column."""

    def periods(self, period: str) -> npt.NDArray[np.intp]:
        """Return the number of each row's day, week, month or year."""
        assert self.timestamps is not None, "plain numbers have no calendar"
        if period == "week":
            whole = np.floor((self.times + _THURSDAY) / _WEEK)
        else:
            whole = self.timestamps.astype(f"datetime64[{period[0].upper()}]").astype(np.int64)
        codes: npt.NDArray[np.intp] = pd.factorize(whole)[0]
        return codes


def time_candidates(pool: PooledRows, groups: list[SameGroup]) -> Iterator[FollowedInTime]:
    """Yield orders in time of rows in periods and groups that train has, too.

    The coarsest come first, as the last rows of all are also the last of their group.
    """
    for column in _time_columns(pool, groups):
        for later in _orders(pool, column, groups):
            periods, present = later.shared_periods()
            if present >= PRESENT and (later.within is None or periods >= LEAST_PERIODS):
                yield later


def _time_columns(pool: PooledRows, groups: list[SameGroup]) -> Iterator[_TimeColumn]:
    """Yield complete columns of dates and times, then numbers that count time, then times in ids.

    Numbers in ids order the rows of their own series alone, so these have to be among the groups.
    """
    for name in filter(pool.is_datetime, pool.columns):
        if not np.isnat(timestamps := pool.timestamps(name)).any():
            yield _of_timestamps(SplitRule(kind="time", column=name), timestamps)
    for name in pool.columns:
        numbers = pd.to_numeric(pool.sample_cells(name), errors="coerce")
        if pool.is_datetime(name) or not counts_time(name, numbers, is_id=name in pool.ids):
            continue
        if not np.isnan(pool.numbers(name)).any():
            yield _TimeColumn(SplitRule(kind="time", column=name), pool.numbers(name))
    for kind in kinds_of_grouping().values():
        for relation in kind.candidates(pool) if kind.has_times else ():
            own = any(each.rule == relation.rule for each in groups)
            if (column := _times_in_ids(pool, relation.rule, numbers=own)) is not None:
                yield column


def _of_timestamps(rule: SplitRule, timestamps: "npt.NDArray[np.datetime64]") -> _TimeColumn:
    return _TimeColumn(rule, timestamps.astype(np.int64) / _NANOSECONDS_A_DAY, timestamps)


def _times_in_ids(pool: PooledRows, groups: SplitRule, *, numbers: bool) -> _TimeColumn | None:
    """Return the times in ids, timestamps or, if asked for, numbers; None if an id has none."""
    grouping = Grouping.of(groups)
    sample = grouping.times(pool.sample_cells(str(groups.column)).to_frame())
    if not numbers and pd.to_numeric(sample, errors="coerce").notna().all():
        return None
    rule = SplitRule(kind="time", column=groups.column, by=groups.by)
    text = grouping.times(pool.table(groups.used_columns))
    counted = pd.to_numeric(text, errors="coerce").to_numpy(np.float64)
    if not np.isnan(counted).any():
        return _TimeColumn(rule, counted)
    times = parse_dates(text).times.dt.tz_localize(None).to_numpy("datetime64[ns]")
    return None if np.isnat(times).any() else _of_timestamps(rule, times)


def _orders(pool: PooledRows, column: _TimeColumn, groups: list[SameGroup]) -> Iterator[FollowedInTime]:
    """Yield order in time: over all rows, within each calendar period, and within each group.

    A group column named like a calendar period is skipped: in a rule its name means the period. Times
    in ids order all rows only if they are dates, as numbers may count the rows; their groups are the
    ids' own.
    """
    rule, times, timestamps = column
    in_days, in_ids = timestamps is not None, rule.by is not None
    if in_days or not in_ids:
        yield FollowedInTime(pool, rule, times, in_days)
        earliest = rule.model_copy(update={"earliest": True})
        yield FollowedInTime(pool, earliest, -times, in_days)
    for period in reversed(PERIODS) if in_days else ():
        within = rule.model_copy(update={"within": period})
        yield FollowedInTime(pool, within, times, in_days, column.periods(period))
    for group in sorted(groups, key=lambda each: len(each.sizes)):
        own = group.rule.column == rule.column and group.rule.by == rule.by
        if own if in_ids else group.rule.column not in (rule.column, *PERIODS):
            same = {name: getattr(group.rule, name) for name in ("by", "parts", "separator", "width")}
            within = rule.model_copy(update={"within": group.rule.column, **same})
            yield FollowedInTime(pool, within, times, in_days, group.numbers)
