"""A constant: the middle of the numbers, the shares of the classes, or the commonest answer.

It looks at no feature, so nothing that is odd about the features can stop it.
"""

from typing import Any

import numpy as np
import pandas as pd

from comind.baseline.recipes.scale import scale_of
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

__all__ = ["predict"]


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return the same answer for every row."""
    answer = {target: middle(task, tables.train, target) for target in task.target_columns}
    return [pd.DataFrame(answer, index=part.index) for part in tables[1:]]


def middle(task: Task, train: pd.DataFrame, target: str) -> Any:
    """Return the answer that is least wrong where nothing is known of a row."""
    if target not in train:  # a column a class
        return (train[task.label_columns[0]].astype(str) == target).mean()
    y = train[target]
    if task.answer_kind in ("probability", "class-probabilities"):
        return float(y.mean())
    if task.answer_kind == "number":
        scale = scale_of(task.metric)
        mean = scale.back(np.mean(scale.forward(y.astype(float))))
        return float(mean if task.metric != "mae" else y.median())
    if task.answer_kind in ("mask", "label-set"):  # an empty cell is an answer
        return y.fillna("").astype(str).mode().iloc[0]
    return y.dropna().mode().iloc[0] if y.notna().any() else ""
