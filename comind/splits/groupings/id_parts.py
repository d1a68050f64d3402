"""Groups by parts of composite ids."""

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from comind.splits.grouping import SEPARATOR, ColumnGrouping
from comind.splits.pooled_rows import MOSTLY, PooledRows, Relation
from comind.splits.relations import SameGroup

_PART = re.compile(r"[A-Za-z]*\d+|[A-Za-z]+")  # `p12` and `s3` in `p12_s3`
_MOST_PARTS, _FEW_PARTS = 6, 4
_MOST_CAPTURED = 9  # groups of a regular expression with a number of one digit


class IdParts(ColumnGrouping):
    """`parts`: these parts of the cell, counted from 1.

    Parts are runs of letters and digits such as `p12` in `p12_s3-a`.
    """

    by = "parts"
    of_ids = True
    parts: tuple[int, ...]

    @property
    def part(self) -> str:
        return f" (part{'s' * (len(self.parts) > 1)} {' and '.join(map(str, self.parts))} of it)"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Join the parts of each id; an id with too few keeps all of them."""
        ids, last = table[self.column], max(self.parts)
        if last > _MOST_CAPTURED or getattr(ids.dtype, "storage", "") != "pyarrow":
            return _joined(ids, self.parts)
        text = ids.str.replace(
            r"[^A-Za-z\p{Nd}]+", SEPARATOR, regex=True
        )  # Arrow's: a tenth of the time
        text = text.str.replace(r"(\p{Nd})([A-Za-z])", rf"\1{SEPARATOR}\2", regex=True)
        cells = SEPARATOR.join([f"([^{SEPARATOR}]+)"] * last)
        chosen = SEPARATOR.join(rf"\{part}" for part in self.parts)
        text = text.str.strip(SEPARATOR)
        return text.str.replace(f"^{cells}(?:{SEPARATOR}.*)?$", chosen, regex=True)

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield runs of parts of each column of composite ids."""
        for name in pool.columns_of_text:
            if count := count_parts(pool.sample_cells(name)):
                for parts in _runs(count):
                    yield SameGroup(pool, cls(column=name, parts=parts).rule)


def _joined(ids: "pd.Series[str]", parts: tuple[int, ...]) -> "pd.Series[str]":
    last = max(parts)
    cells = map(_PART.findall, ids)  # lazily: the lists take ten times the memory
    joined = [
        SEPARATOR.join([cell[part - 1] for part in parts] if len(cell) >= last else cell)
        for cell in cells
    ]
    return pd.Series(joined, index=ids.index, dtype=str)


def count_parts(cells: "pd.Series[str]") -> int:
    """Return the number of parts, if cells are mostly distinct ids with the same number, else 0."""
    if not len(cells) or cells.nunique() < MOSTLY * len(cells):
        return 0
    counts: pd.Series[Any] = cells.str.count(_PART.pattern)
    first = int(counts.iloc[0])
    return first if 1 < first <= _MOST_PARTS and (counts == first).all() else 0


def _runs(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the runs of parts that may name a group; of many parts, prefixes and suffixes only."""
    for first in range(1, count + 1):
        for last in range(first, count + 1):
            whole = last - first + 1 == count
            if not whole and (count <= _FEW_PARTS or first in (1, last)):
                yield tuple(range(first, last + 1))
