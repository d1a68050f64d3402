"""What is to be learnt from train.csv, how far predictions are off, and what answers they make.

A goal is one label with classes, or one number on the scale that the metric looks at. Predictions for a
goal are raw: shape (rows,) for a number, (rows, classes) for probabilities. Raw predictions can be
averaged, over folds and over models.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

from comind.baseline.recipes.scale import loss_of, scale_of
from comind.baseline.recipes.task import Task

__all__ = ["Goal", "answer", "goals_of", "raw_loss"]

RANKINGS = ("roc-auc", "average-precision")  # only the order of probabilities counts
LOG_LOSS_WEIGHT = 0.1  # of the log loss beside an error rate, which few rows tell coarsely


class Goal(NamedTuple):
    """One thing to learn."""

    name: str
    """Its target column; where a column stands for a class, the label's."""
    classes: list[str]
    """Of a label, in the order of their codes; empty for a number."""
    y: NDArray[Any]
    """Codes of classes, or numbers on the metric's scale."""


def goals_of(task: Task, train: pd.DataFrame) -> list[Goal]:
    """Return what is to be learnt, each with what train.csv says of it."""
    targets = task.target_columns
    if task.answer_kind == "class-probabilities" and task.label_columns[0] not in targets:
        return [class_goal(task.label_columns[0], train)]
    if task.answer_kind == "label" and task.metric != "quadratic-weighted-kappa":
        return [class_goal(target, train) for target in targets]
    if task.answer_kind in ("number", "label"):
        forward = scale_of(task.metric).forward
        return [Goal(target, [], forward(train[target].to_numpy(dtype=float))) for target in targets]
    return [
        Goal(target, ["0", "1"], (train[target].astype(float) >= 0.5).to_numpy().astype(int))
        for target in targets
    ]


def class_goal(name: str, train: pd.DataFrame) -> Goal:
    """Return the classes of a label."""
    codes, classes = pd.factorize(train[name].astype(str), sort=True)
    return Goal(name, [*classes], codes)


def raw_loss(task: Task, goal: Goal, raw: NDArray[Any], rows: NDArray[Any]) -> float:
    """Return how far raw predictions for `rows` are off, by the metric where it is a plain one."""
    y = goal.y[rows]
    if not goal.classes:
        off = np.abs(raw - y)
        absolute = loss_of(task.metric) == "absolute_error"
        return float(np.mean(off) if absolute else np.sqrt(np.mean(off**2)))
    if len(goal.classes) == 1:
        return 0.0
    sure = np.clip(raw, 1e-6, 1)
    sure = sure / sure.sum(axis=1, keepdims=True)
    if task.metric in RANKINGS and len(goal.classes) == 2 and len(np.unique(y)) == 2:
        return float(1 - roc_auc_score(y, raw[:, 1]))
    loss = float(log_loss(y, sure, labels=np.arange(len(goal.classes))))
    if task.answer_kind != "label":
        return loss
    return float(np.mean(raw.argmax(axis=1) != y)) + LOG_LOSS_WEIGHT * loss


def answer(task: Task, goal: Goal, raw: NDArray[Any]) -> pd.DataFrame:
    """Return the target columns that raw predictions of a goal make."""
    if not goal.classes:
        values = scale_of(task.metric).back(np.clip(raw, goal.y.min(), goal.y.max()))
        whole = np.rint(values).astype(int) if task.answer_kind == "label" else values
        return pd.DataFrame({goal.name: whole})
    if task.answer_kind == "label":
        return pd.DataFrame({goal.name: np.array(goal.classes)[raw.argmax(axis=1)]})
    if goal.name in task.target_columns:
        return pd.DataFrame({goal.name: raw[:, 1]})
    shares = pd.DataFrame(raw, columns=goal.classes)
    return shares.reindex(columns=task.target_columns, fill_value=0.0)
