"""Times in columns of text, the columns that are named like one, and the last rows in time."""

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from comind.errors import CompetitionError
from comind.splits.shuffling import MOST_HELD_OUT, Positions, hash_shuffled, members_of
from comind.tables.dates import are_like_dates, parse_dates, without_few_missing

SAMPLE = 1_000
"""Cells by which most columns are rejected before the others are looked at."""
_UNIX = tuple((5e8 * unit, 2.2e9 * unit) for unit in (1, 1e3, 1e6, 1e9))
"""Seconds to nanoseconds, 1985 to 2039."""
_TIME_WORD = re.compile(
    "t|ts|dt|(day|week)(ofyear)?|doy|time(stamp)?|date(time)?|unix|epoch|month|quarter|year"
    "|hour|minute|second|step|period|when|block"
)
_ID_WORDS = frozenset(["id", "no", "nr", "code", "key", "group", "type"])


def times_of_rows(text: "pd.Series[str]") -> "pd.Series[Any]":
    """Parse the split's column as UTC times; a few cells that are none count as the earliest.

    Raises:
        CompetitionError: more than a few cells hold none.
    """
    times = parse_dates(text).times
    filled = without_few_missing(times)
    if filled is None:
        first = text[times.isna()].iloc[0]
        raise CompetitionError(f"the split's column {text.name!r} holds no time: {first!r}")
    return filled


class DatesOfBoth(NamedTuple):
    """The times of a column in train and test."""

    train: "pd.Series[Any]"
    test: "pd.Series[Any]"
    note: str = ""
    """How they were read, where it needs a word; it begins with a semicolon."""


def dates_of_both(train: "pd.Series[str]", test: "pd.Series[str]") -> DatesOfBoth | None:
    """Parse a column of train and test as times of one format; None if it holds none.

    A few cells that are no dates count as the earliest.
    """
    if not all(are_like_dates(cells.head(SAMPLE).str.strip()) for cells in (train, test)):
        return None
    both = pd.concat([train, test], ignore_index=True).str.strip()
    found = parse_dates(both)
    times = without_few_missing(found.times)
    if times is None:
        return None
    notes = []
    if (odd := found.times.isna()).any():
        notes.append(f"; {odd.sum()} cells are no dates, such as {both[odd].iloc[0]!r}: the earliest")
    if found.ambiguous:
        notes.append(f"; read with the month first, as no cell decides ({both.iloc[0]!r})")
    split = len(train)
    return DatesOfBoth(
        times.iloc[:split].set_axis(train.index), times.iloc[split:].set_axis(test.index), "".join(notes)
    )


def name_words(name: str) -> list[str]:
    """Return the words of a column's name, lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def counts_time(name: str, numbers: "pd.Series[float]", *, is_id: bool) -> bool:
    """Return whether numbers are times, by the column's name or as Unix time."""
    if not len(numbers) or numbers.isna().any():
        return False
    words = name_words(name)
    if words and words[-1] in _ID_WORDS:
        return False
    if any(_TIME_WORD.fullmatch(word) for word in words):
        return True
    return not is_id and any(low < numbers.min() and numbers.max() < high for low, high in _UNIX)


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
