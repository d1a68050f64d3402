"""Groups of rows with the same cell of a column."""

from collections.abc import Iterator

import pandas as pd

from comind.splits.grouping import ColumnGrouping, ColumnGroups
from comind.splits.pooled_rows import PooledRows, Relation
from comind.splits.relations import SameGroup


class Column(ColumnGrouping):
    """`column` alone."""

    by = None
    of_ids = True

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        return table[self.column]

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        yield from (SameGroup(pool, cls(column=name).rule) for name in pool.columns)

    @classmethod
    def of_column(cls, train: "pd.Series[str]", test: "pd.Series[str]") -> ColumnGroups:
        name = str(train.name)
        reason = f"no value of {name!r} appears in both train and test, though many repeat"
        return ColumnGroups(cls(column=name), reason, train, test)
