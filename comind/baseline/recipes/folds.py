"""Make cross-validation folds of train.csv: those shared by all attempts, else random ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from comind.baseline.recipes.goals import Goal

SHARED_FOLDS = "input/folds/folds.csv"  # fold of each row of train.csv, by the split rule
RANDOM_FOLDS = 5


def make_folds(train: pd.DataFrame, goal: Goal, seed: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return (training rows, held-out rows) for each fold; each row is held out once."""
    if Path(SHARED_FOLDS).is_file():
        shared = pd.read_csv(SHARED_FOLDS)["fold"].to_numpy()
        if len(shared) == len(train) and len(names := np.unique(shared)) > 1:
            return [(np.nonzero(shared != name)[0], np.nonzero(shared == name)[0]) for name in names]
    x = np.zeros(len(train))
    if goal.classes and np.bincount(goal.y).min() >= RANDOM_FOLDS:
        return list(StratifiedKFold(RANDOM_FOLDS, shuffle=True, random_state=seed).split(x, goal.y))
    return list(KFold(RANDOM_FOLDS, shuffle=True, random_state=seed).split(x))
