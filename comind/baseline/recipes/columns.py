"""Select the feature columns of the tables."""

import os
from typing import Any

import pandas as pd

from comind.baseline.recipes.side_tables import join_side_tables
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

SAMPLED_CELLS = 100  # cells of a column that are tested for paths
MIN_SHARE = 0.5  # minimum share of paths among them


def feature_columns(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return the features of all three tables, without ids (unless dates) and without file paths.

    Features from side tables are among them.
    """
    tables = join_side_tables(task, tables)
    test = tables.test
    ids = [test[column].astype(str) for column in task.id_columns if column in test]
    dates = [str(cells.name) for cells in ids if cells.str.match(r"\d{4}-\d\d-\d\d").all()]
    kept = [
        column
        for column in test.columns
        if column in dates or not (column in task.id_columns or holds_paths(task.folder, test[column]))
    ]
    return [part[kept].assign(**{name: pd.to_datetime(part[name]) for name in dates}) for part in tables]


def holds_paths(folder: str, cells: "pd.Series[Any]") -> bool:
    """Return whether most cells are paths of files below `folder`."""
    seen = cells.head(SAMPLED_CELLS).astype(str)
    # Unlike Path.is_file, False instead of an error for a text too long for a path.
    found = [os.path.isfile(f"{folder}/{cell}") for cell in seen]  # noqa: PTH113
    return sum(found) > MIN_SHARE * len(found)
