"""Select the feature columns of the tables; encode them for trees, or scaled and without gaps."""

import os
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from skrub import tabular_pipeline

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


def columns_for_trees(task: Task, tables: Tables) -> list[Any]:
    """Return tables of numbers and categories; missing values and unknown categories stay missing.

    All tables have the categories of train: a library that stores categories as codes would otherwise
    take an unknown one for another. Columns are numbered, as libraries refuse names such as `x [m]`.
    """
    parts = encode_with_skrub(HistGradientBoostingRegressor(), task, tables)
    numbered = [
        part.set_axis([f"c{number}" for number in range(part.shape[1])], axis=1) for part in parts
    ]
    train = numbered[0].select_dtypes("category")
    return [
        part.assign(
            **{name: part[name].cat.set_categories(train[name].cat.categories) for name in train}
        )
        for part in numbered
    ]


def scaled_columns(task: Task, tables: Tables) -> list[Any]:
    """Return scaled matrices without missing values, as skrub encodes columns for linear models."""
    found = encode_with_skrub(Ridge(), task, tables)
    return [np.asarray(part, dtype=np.float64) for part in found]


def encode_with_skrub(model: Any, task: Task, tables: Tables) -> list[Any]:
    """Return features encoded by skrub's pipeline for `model`, fitted on train only."""
    np.random.seed(task.seed)  # skrub's encoders draw from the global generator
    encoder = tabular_pipeline(model)[:-1]
    train, *parts = feature_columns(task, tables)
    return [encoder.fit_transform(train), *(encoder.transform(part) for part in parts)]
