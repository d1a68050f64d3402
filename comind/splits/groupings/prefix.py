"""Groups by how ids begin."""

from collections.abc import Collection, Iterator
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import model_validator

from comind.splits.grouping import ColumnGrouping
from comind.splits.groupings.id_parts import count_parts
from comind.splits.pooled_rows import (
    LEAST_RELATED,
    MOST_SEPARATED,
    MOSTLY,
    NEARLY_ALL,
    PooledRows,
    Relation,
)
from comind.splits.relations import LEAST_GROUPS, SameGroup

_SEPARATORS = ("_", "-", "/", ":", "|")
_LEAST, _LONGEST = 3, 64  # characters of an id without separators
_INTERLEAVED = 0.6  # runs of train and test groups along the ids, to those of a random order

_Lengths = npt.NDArray[np.intp]


class Prefix(ColumnGrouping):
    """`prefix`: the text before the last `separator`, or the first `width` characters."""

    by = "prefix"
    of_ids = True
    separator: str | None = None
    width: int | None = None

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.separator is None) == (self.width is None):
            raise ValueError("'by: prefix' requires either 'separator' or 'width'")
        return self

    @property
    def part(self) -> str:
        if self.width is None:
            return f" (before its last {self.separator!r})"
        return f" (its first {self.width} character{'s' * (self.width > 1)})"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Return the beginning of each cell; all of it without the separator."""
        ids = table[self.column]
        if self.width is not None:
            return ids.str.slice(stop=self.width)
        names = [cell.rsplit(str(self.separator), 1)[0] for cell in ids]
        return pd.Series(names, index=ids.index, dtype=str)

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield separators that nearly all ids of a column have, if these are not composite."""
        for name in pool.columns_of_text:
            cells = pool.sample_cells(name)
            for separator in () if count_parts(cells) else _SEPARATORS:
                if cells.str.contains(separator, regex=False).mean() >= NEARLY_ALL:
                    yield SameGroup(pool, cls(column=name, separator=separator).rule)

    @classmethod
    def further_candidates(cls, pool: PooledRows, explained: Collection[str]) -> Iterator[Relation]:
        """Yield the width of each other column of ids that separates test rows."""
        for name in pool.columns:
            is_id = name in pool.ids or not pool.is_numeric(name)
            if not is_id or name in explained or pool.is_datetime(name):
                continue
            if width := separating_width(pool, name):
                yield SameGroup(pool, cls(column=name, width=width).rule)


def separating_width(pool: PooledRows, name: str) -> int | None:
    """Return the width of the prefixes that test rows do not share with train; None without evidence.

    Groups of train and test have to interleave: of ids that were numbered train first, any prefix
    separates them.
    """
    cells = pool.sample_cells(name)
    lengths = cells.str.len()
    if not len(cells) or cells.nunique() < MOSTLY * len(cells) or lengths.min() < _LEAST:
        return None
    are_codes = lengths.min() == lengths.max() and cells.str.fullmatch(r"\d+").all()
    if lengths.max() > _LONGEST or (pool.is_numeric(name) and not are_codes):
        return None
    column = pool.column(name)
    known = pd.Index(column.iloc[pool.train].unique()).sort_values()
    train = _shared_lengths(column.iloc[pool.sample(pool.train)], known, others=True)
    test = _shared_lengths(column.iloc[pool.sample(pool.test)], known, others=False)
    for width in range(1, int(lengths.min())):
        if (train >= width).mean() < LEAST_RELATED:
            return None
        if (test >= width).mean() <= MOST_SEPARATED and _interleave(pool, column, width):
            return width
    return None


def _shared_lengths(cells: "pd.Series[str]", known: "pd.Index[str]", *, others: bool) -> _Lengths:
    """Return the length of the longest prefix that each cell shares with a known one.

    With `others`, the cells are among those known, and a different one is meant.
    """
    ids = ["", *known.tolist(), ""]
    places = known.searchsorted(cells.to_numpy()) + 1  # a neighbour in order shares the longest prefix
    pairs = zip(cells, places.tolist(), strict=True)
    return np.array(
        [max(_common(cell, ids[i - 1]), _common(cell, ids[i + others])) for cell, i in pairs]
    )


def _common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _interleave(pool: PooledRows, column: "pd.Series[str]", width: int) -> bool:
    """Return whether prefixes of train and of test alternate as often as in a random order."""
    prefixes = column.str.slice(stop=width)
    train, test = (set(prefixes.iloc[rows].unique()) for rows in (pool.train, pool.test))
    test -= train
    if min(len(train), len(test)) < LEAST_GROUPS:
        return False
    sides = np.array([each in test for each in sorted(train | test)])
    runs = 1 + int((sides[1:] != sides[:-1]).sum())
    expected = 1 + 2 * len(train) * len(test) / len(sides)
    return runs >= _INTERLEAVED * expected
