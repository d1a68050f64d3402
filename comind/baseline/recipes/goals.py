"""Define prediction goals, their losses, and the target columns of their predictions.

A goal is one label with classes, or one number on the scale of the metric. Raw predictions for a goal
have shape (rows,) for a number and (rows, classes) for probabilities, and can be averaged over folds and
models.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

from comind.baseline.recipes.ranked_labels import ranked_labels
from comind.baseline.recipes.scale import SCALES
from comind.baseline.recipes.task import Task

LOG_LOSS_WEIGHT = 0.1  # weight of the log loss added to an error rate, which is coarse on few rows


class Goal(NamedTuple):
    """One value to predict: a label with classes, or a number."""

    name: str
    """Target column; with one target column per class, the label column."""
    classes: list[str]
    """Classes of a label, in the order of their codes; empty for a number."""
    y: NDArray[Any]
    """Codes of classes, or numbers on the metric's scale."""


def make_goals(task: Task, train: pd.DataFrame) -> list[Goal]:
    """Return the competition's goals with their values in train.csv."""
    targets = task.target_columns
    if task.answer_kind == "class-probabilities" and task.label_columns[0] not in targets:
        return [label_goal(task.label_columns[0], train)]
    if task.answer_kind == "label" and not task.ordered:
        return [label_goal(target, train) for target in targets]
    if task.answer_kind == "label-set":  # MAP@k: the first label of a row is the one to rank high
        first = train[targets[0]].fillna("").astype(str).str.split().str[0].fillna("")
        return [label_goal(targets[0], pd.DataFrame({targets[0]: first}))]
    if task.answer_kind in ("number", "label"):
        forward = SCALES[task.scale].forward
        return [Goal(target, [], forward(train[target].to_numpy(dtype=float))) for target in targets]
    return [
        Goal(target, ["0", "1"], (train[target].astype(float) >= 0.5).to_numpy().astype(int))
        for target in targets
    ]


def label_goal(name: str, train: pd.DataFrame) -> Goal:
    """Return a label as a goal, with its classes in sorted order."""
    codes, classes = pd.factorize(train[name].astype(str), sort=True)
    return Goal(name, [*classes], codes)


def raw_loss(task: Task, goal: Goal, raw: NDArray[Any], rows: NDArray[Any]) -> float:
    """Return the loss of raw predictions for `rows`, close to the metric; lower is better."""
    y = goal.y[rows]
    if not goal.classes:
        off = np.abs(raw - y)
        return float(np.mean(off) if task.absolute else np.sqrt(np.mean(off**2)))
    if len(goal.classes) == 1:
        return 0.0
    sure = np.clip(raw, 1e-6, 1)
    sure = sure / sure.sum(axis=1, keepdims=True)
    if task.ranking and len(goal.classes) == 2 and len(np.unique(y)) == 2:
        return float(1 - roc_auc_score(y, raw[:, 1]))
    loss = float(log_loss(y, sure, labels=np.arange(len(goal.classes))))
    if task.answer_kind != "label":
        return loss
    return float(np.mean(raw.argmax(axis=1) != y)) + LOG_LOSS_WEIGHT * loss


def to_target_columns(task: Task, goal: Goal, raw: NDArray[Any]) -> pd.DataFrame:
    """Convert raw predictions for a goal to target columns."""
    if not goal.classes:
        values = SCALES[task.scale].back(np.clip(raw, goal.y.min(), goal.y.max()))
        whole = np.rint(values).astype(int) if task.answer_kind == "label" else values
        return pd.DataFrame({goal.name: whole})
    if task.answer_kind == "label":
        return pd.DataFrame({goal.name: np.array(goal.classes)[raw.argmax(axis=1)]})
    if task.answer_kind == "label-set":
        cells = ranked_labels(raw, goal.classes, task.guesses)
        return pd.DataFrame({goal.name: cells})
    if goal.name in task.target_columns:
        return pd.DataFrame({goal.name: raw[:, 1]})
    shares = pd.DataFrame(raw, columns=goal.classes)
    return shares.reindex(columns=task.target_columns, fill_value=0.0)
