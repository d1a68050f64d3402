"""Which rows of train.csv are held out together, so that folds imitate how validation was set apart."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from comind.baseline.recipes.goals import Goal

__all__ = ["Apart", "folds_of"]

SEVERAL = 5  # folds
MANY_ROWS = 20_000  # more of them get three folds
PART_OF_ID = re.compile(r"[A-Za-z]*\d+|[A-Za-z]+")


@dataclass(frozen=True)
class Apart:
    """How validation rows were set apart: at random, by whole groups of a column, or by its time."""

    kind: str
    column: str
    by: str
    parts: tuple[int, ...]


def folds_of(
    apart: Apart, train: pd.DataFrame, goal: Goal, seed: int
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return pairs of rows: those to learn from, and those held out; each row is held out once.

    Groups stay together. Of times, neighbouring ones stay together: a fold is a stretch of time.
    """
    count = SEVERAL if len(train) <= MANY_ROWS else 3
    x = np.zeros(len(train))
    if apart.kind == "group":
        groups = groups_in(apart, train[apart.column].astype(str))
        if groups.nunique() >= count:
            return list(GroupKFold(count, shuffle=True, random_state=seed).split(x, groups=groups))
    if apart.kind == "time":
        times = pd.to_datetime(train[apart.column].astype(str), errors="coerce", format="mixed")
        order = (train[apart.column] if times.isna().any() else times).argsort(kind="stable").to_numpy()
        return [(order[fit], order[held]) for fit, held in KFold(count).split(x)]
    if goal.classes and np.bincount(goal.y).min() >= count:
        return list(StratifiedKFold(count, shuffle=True, random_state=seed).split(x, goal.y))
    return list(KFold(count, shuffle=True, random_state=seed).split(x))


def groups_in(apart: Apart, cells: "pd.Series[str]") -> "pd.Series[str]":
    """Return the group of each row, as text."""
    if apart.by == "date":
        return cells.str[:10]
    if apart.by == "picture":
        return cells.str.split("_").str[0]
    if apart.by == "parts":
        found = cells.map(PART_OF_ID.findall)
        return found.map(lambda parts: "_".join(parts[each - 1] for each in apart.parts))
    return cells
