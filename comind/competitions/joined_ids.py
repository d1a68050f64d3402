"""Make the id of a submission that joins columns of train.csv and test.csv, as `Oslo_7`."""

import pandas as pd

from comind.domain.competition import IdParts
from comind.errors import CompetitionError
from comind.tables.csv_tables import row_keys


def with_joined_ids(table: pd.DataFrame, name: str, parts: IdParts, file: str) -> pd.DataFrame:
    """Return a table of text with the id `name` as its first column; unchanged if it has that column.

    Numbers are joined in their plain spelling, `7` for `7.0`. Rows are numbered where joined ids are not
    unique, as in a train.csv with several rows of one id.

    Raises:
        CompetitionError: `file` lacks one of the columns.
    """
    if name in table.columns:
        return table
    if missing := [column for column in parts.columns if column not in table.columns]:
        columns = ", ".join(map(str, table.columns[:30]))
        raise CompetitionError(f"{file} has no column {missing[0]!r}", hint=f"its columns are {columns}")
    cells = zip(*(row_keys(table, [column]) for column in parts.columns), strict=True)
    ids = pd.Series([parts.separator.join(row) for row in cells], dtype=str)
    if file == "train.csv" and ids.duplicated().any():
        ids = pd.Series(range(len(table))).astype(str)
    found = table.copy()
    found.insert(0, name, ids.to_numpy())
    return found
