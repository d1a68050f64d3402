"""Constant prediction: the mean or median, the class frequencies, or the most frequent answer.

It reads no feature, so malformed features cannot make it fail.
"""

from typing import Any

import numpy as np
import pandas as pd

from comind.baseline.recipes.answers import SCALES
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return the same prediction for every row."""
    answer = {target: best_constant(task, tables.train, target) for target in task.target_columns}
    return [pd.DataFrame(answer, index=part.index) for part in tables[1:]]


def best_constant(task: Task, train: pd.DataFrame, target: str) -> Any:
    """Return the mean, median, class frequency or most frequent values of a target, by its kind."""
    if target not in train:  # one column per class
        return (train[task.label_columns[0]].astype(str) == target).mean()
    y = train[target]
    if guesses := task.guesses:
        return " ".join(y.dropna().astype(str).str.split().explode().value_counts().index[:guesses])
    if task.answer_kind in ("probability", "class-probabilities"):
        return float(y.mean())
    if task.answer_kind == "number":
        scale = SCALES[task.scale]
        mean = scale.back(np.mean(scale.forward(y.astype(float))))
        return float(mean if not task.absolute else y.median())
    if task.answer_kind in ("mask", "label-set"):  # an empty cell is a valid answer
        return y.fillna("").astype(str).mode().iloc[0]
    return y.dropna().mode().iloc[0] if y.notna().any() else ""
