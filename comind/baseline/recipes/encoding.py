"""Encode table columns: with categories for trees, scaled and without gaps for other models."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from skrub import tabular_pipeline

from comind.baseline.recipes.columns import feature_columns
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task


def columns_for_trees(task: Task, tables: Tables) -> list[Any]:
    """Return tables of numbers and categories; missing values and unknown categories stay missing.

    All tables have the categories of train: a library that stores categories as codes would otherwise
    take an unknown one for another.
    """
    train, *parts = encode_with_skrub(HistGradientBoostingRegressor(), task, tables)
    known = {name: train[name].cat.categories for name in train.select_dtypes("category")}
    return [
        train,
        *(
            part.assign(**{name: part[name].cat.set_categories(each) for name, each in known.items()})
            for part in parts
        ),
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
