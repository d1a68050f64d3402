"""The nearest rows answer."""

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from comind.baseline.recipes.encoding import scaled_columns
from comind.baseline.recipes.kind import Fold, Kind, Model, model_of

__all__ = ["NEIGHBOURS"]

MOST_KEPT = 20_000  # rows that are looked through


def fit_neighbours(fold: Fold, settings: dict[str, Any]) -> Model:
    """Return a model of one fold."""
    rows = np.sort(np.random.default_rng(fold.task.seed).permutation(len(fold.y))[:MOST_KEPT])
    count = min(settings["count"], len(rows))
    kind = KNeighborsClassifier if fold.goal.classes else KNeighborsRegressor
    model = kind(count, weights=settings["weights"], p=settings["power"])
    model.fit(fold.x[rows], fold.y[rows])
    return model_of(model, fold.goal)


NEIGHBOURS = Kind(
    encode=scaled_columns,
    fit=fit_neighbours,
    space={
        "count": ("whole", 2, 60),
        "weights": ("one of", "uniform", "distance"),
        "power": ("one of", 1, 2),
    },
    start={"count": 15, "weights": "distance", "power": 2},
)
