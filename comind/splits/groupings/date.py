"""Groups of rows of one day."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from comind.splits.grouping import ColumnGrouping, ColumnGroups
from comind.splits.pooled_rows import MOSTLY, PooledRows, Relation
from comind.splits.relations import SameGroup
from comind.splits.times import dates_of_both, times_of_rows


class Date(ColumnGrouping):
    """`date`: the day of a time."""

    by = "date"

    @property
    def plural(self) -> str:
        return f"days of {self.column}"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        times = times_of_rows(table[self.column].str.strip())
        numbers, days = pd.factorize(times.dt.floor("D"))
        names = pd.Series(pd.DatetimeIndex(days).strftime("%Y-%m-%d"), dtype=str)
        return names.take(numbers).set_axis(table.index)

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield complete columns of times with a time of day."""
        for name in filter(pool.is_datetime, pool.columns):
            has_clock = pool.sample_cells(name).str.contains(r"\d:\d", regex=True).mean() > MOSTLY
            if has_clock and not np.isnat(pool.timestamps(name)).any():  # NaT has no date
                yield SameGroup(pool, cls(column=name).rule)

    @classmethod
    def of_column(cls, train: "pd.Series[str]", test: "pd.Series[str]") -> ColumnGroups | None:
        dates = dates_of_both(train, test)
        if dates is None:
            return None
        name = str(train.name)
        reason = f"no date of {name!r} appears in both train and test"
        return ColumnGroups(
            cls(column=name), reason, dates.train.dt.floor("D"), dates.test.dt.floor("D")
        )
