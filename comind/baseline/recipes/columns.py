"""Choose the columns of the tables that are features."""

import os
from typing import Any

import pandas as pd

from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

__all__ = ["feature_columns"]

LOOKED_AT = 100  # cells of a column that may name files
MOST = 0.5  # share of them that do


def feature_columns(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return the features of all three tables; no ids, unless they are dates, and no paths of files."""
    test = tables.test
    ids = [test[column].astype(str) for column in task.id_columns if column in test]
    dates = [str(cells.name) for cells in ids if cells.str.match(r"\d{4}-\d\d-\d\d").all()]
    kept = [
        column
        for column in test.columns
        if column in dates or not (column in task.id_columns or names_files(task.folder, test[column]))
    ]
    return [part[kept].assign(**{name: pd.to_datetime(part[name]) for name in dates}) for part in tables]


def names_files(folder: str, cells: "pd.Series[Any]") -> bool:
    """Return whether most cells are paths of files below `folder`."""
    seen = cells.head(LOOKED_AT).astype(str)
    # Unlike Path.is_file, False for what cannot be a path, such as a long text.
    found = [os.path.isfile(f"{folder}/{cell}") for cell in seen]  # noqa: PTH113
    return sum(found) > MOST * len(found)
