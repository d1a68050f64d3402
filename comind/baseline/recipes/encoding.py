"""The columns of a table, for trees and for models that take numbers of one size."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from skrub import tabular_pipeline

from comind.baseline.recipes.columns import feature_columns
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

__all__ = ["columns_for_trees", "scaled_columns"]


def columns_for_trees(task: Task, tables: Tables) -> list[Any]:
    """Return tables of numbers and categories; gaps stay, and a category that train lacks is one.

    All tables have the categories of train: a library that knows categories by their places would take
    one that is new for another.
    """
    train, *parts = encoded_for(HistGradientBoostingRegressor(), task, tables)
    known = {name: train[name].cat.categories for name in train.select_dtypes("category")}
    return [
        train,
        *(
            part.assign(**{name: part[name].cat.set_categories(each) for name, each in known.items()})
            for part in parts
        ),
    ]


def scaled_columns(task: Task, tables: Tables) -> list[Any]:
    """Return matrices without gaps: a column a category, and all of about one size."""
    found = encoded_for(Ridge(), task, tables)
    return [np.asarray(part, dtype=np.float64) for part in found]


def encoded_for(model: Any, task: Task, tables: Tables) -> list[Any]:
    """Return what skrub puts before a model; it learns from the features of train alone."""
    np.random.seed(task.seed)  # skrub's encoders draw from the global generator
    encoder = tabular_pipeline(model)[:-1]
    train, *parts = feature_columns(task, tables)
    return [encoder.fit_transform(train), *(encoder.transform(part) for part in parts)]
