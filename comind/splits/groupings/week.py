"""Groups of rows of one week."""

import pandas as pd

from comind.splits.grouping import ColumnGrouping
from comind.splits.times import times_of_rows


class Week(ColumnGrouping):
    """`week`: the ISO week of a time, from Monday; for a rule that is given, as the search has days."""

    by = "week"

    @property
    def plural(self) -> str:
        return f"weeks of {self.column}"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Return year and week of each row, such as `2024-05`."""
        return pd.Series(times_of_rows(table[self.column].str.strip()).dt.strftime("%G-%V"))
