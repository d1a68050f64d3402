"""Ids of time series, such as `Oslo_2020-01-07`: the series and the time.

The time is a date (year, month and perhaps day, perhaps a time of day) at the end of the id or at its
start or, without one, the number at the end or at the start. A file name's extension is neither.
"""

import re
from collections.abc import Iterator

import pandas as pd

from comind.splits.grouping import ColumnGrouping
from comind.splits.pooled_rows import NEARLY_ALL, PooledRows, Relation
from comind.splits.relations import SameGroup

_LONGEST_ID = 200  # characters
_DATE = (
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<mark>[-_/.]?)(?P<month>\d\d)"
    r"(?:(?<=0[1-9]|1[0-2])(?P=mark)(?P<day>0[1-9]|[12]\d|3[01]))?(?!\d)"
    r"(?:[T ](?P<clock>\d\d:\d\d(?::\d\d)?)Z?)?"
)
_YEAR_AND_MONTH = re.compile(r"(?:19|20)\d\d[-_/.]?\d\d")
_EXTENSION = r"(?:\.[A-Za-z]\w{0,4})?"
_FORMS = (
    re.compile(rf"(?P<before>.*?){_DATE}(?P<after>){_EXTENSION}", re.DOTALL),
    re.compile(rf"(?P<before>){_DATE}(?P<after>.*?){_EXTENSION}", re.DOTALL),
    re.compile(rf"(?P<before>.*?)(?P<number>\d+)(?P<after>){_EXTENSION}", re.DOTALL),
    re.compile(rf"(?P<before>)(?P<number>\d+)(?P<after>.*?){_EXTENSION}", re.DOTALL),
)


class Series(ColumnGrouping):
    """`series`: the text without its date or, if it has none, without the number at its end or start."""

    by = "series"
    of_ids = True
    has_times = True

    @property
    def part(self) -> str:
        return " (without its date or number)"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        return series_names(table[self.column])

    def times(self, table: pd.DataFrame) -> "pd.Series[str]":
        return series_times(table[self.column])

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield columns of which nearly all cells are short and have a time beside other text."""
        for name in pool.columns_of_text:
            cells = pool.sample_cells(name)
            if not len(cells) or cells.str.len().max() > _LONGEST_ID:
                continue
            beside = (series_times(cells) != "") & (series_names(cells) != "")
            if beside.mean() >= NEARLY_ALL:
                yield SameGroup(pool, cls(column=name).rule)


def series_names(ids: "pd.Series[str]") -> "pd.Series[str]":
    """Return the text of each id beside its date or number; an id without one is unchanged."""
    names = [
        found["before"] + found["after"] if (found := _parse(cell)) else cell for cell in ids.tolist()
    ]
    return pd.Series(names, index=ids.index, dtype=str)


def series_times(ids: "pd.Series[str]") -> "pd.Series[str]":
    """Return the time of each id as text: `2020-01-07`, `2020-01-07 12:00` or a number; else empty.

    A date without a day is the number of its digits (202001), as its second part may be a week.
    """
    return pd.Series([_time(_parse(cell)) for cell in ids.tolist()], index=ids.index, dtype=str)


def _parse(cell: str) -> "re.Match[str] | None":
    forms = _FORMS if _YEAR_AND_MONTH.search(cell) else _FORMS[2:]  # most ids have no date
    return next((found for form in forms if (found := form.fullmatch(cell))), None)


def _time(found: "re.Match[str] | None") -> str:
    parts = found.groupdict() if found else {}
    if parts.get("number"):
        return str(parts["number"])
    if not parts.get("day"):
        return "".join(parts.get(name) or "" for name in ("year", "month"))
    return " ".join(filter(None, ("{year}-{month}-{day}".format(**parts), parts["clock"])))
