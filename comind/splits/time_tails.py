"""The last rows in time, of all rows or of each period or group."""

from typing import Any

import numpy as np
import pandas as pd

from comind.splits.shuffling import MOST_HELD_OUT, Positions, hash_shuffled, members_of


def last_rows(times: "pd.Series[Any]", days: int | None, count: int) -> Positions:
    """Return the positions of the rows of the last days, or of the last `count`.

    Equal times stay together. Empty if no rows would be left before them.
    """
    if days is None:
        start = times.sort_values().iloc[len(times) - count]
        late = times >= start
        if late.all():  # most rows have the first time
            late = times > start
    else:
        late = times > times.max() - _span(times, days)
    return np.flatnonzero(late & ~late.all())


def last_of_each(
    times: "pd.Series[Any]", within: "pd.Series[str]", days: int | None, seed: int, count: int
) -> list[Positions]:
    """Return the last rows of each period or group, which each keep rows for training.

    If these are far more than `count`, they are divided into several folds by shuffled groups. No folds
    if no period has rows before its last ones.
    """
    if days is None:  # the last quarter of its rows, and of two rows one
        place = times.groupby(within).rank(method="max")
        size = times.groupby(within).transform("size")
        late = place > size - (size * MOST_HELD_OUT).clip(lower=1).round()
    else:
        late = times > times.groupby(within).transform("max") - _span(times, days)
    late &= ~late.groupby(within).transform("all")
    rows = np.flatnonzero(late)
    if len(rows) <= max(count, MOST_HELD_OUT * len(times)):
        return [rows] if len(rows) else []
    tails = members_of(within, rows)
    parts: list[list[Positions]] = [[]]
    taken = 0
    for name in hash_shuffled(list(tails), seed):
        if taken >= count:
            parts.append([])
            taken = 0
        parts[-1].append(tails[name])
        taken += len(tails[name])
    return [np.concatenate(part) for part in parts]


def _span(times: "pd.Series[Any]", days: int) -> "int | pd.Timedelta":
    """Return a number of days in the unit of the times, which may be plain numbers."""
    return days if times.dtype.kind in "iuf" else pd.Timedelta(days=days)
