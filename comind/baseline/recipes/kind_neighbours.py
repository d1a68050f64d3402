"""k-nearest neighbours on scaled columns."""

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from comind.baseline.recipes.encoding import scaled_columns
from comind.baseline.recipes.kind import Fold, Kind, Model, wrap_sklearn

MAX_NEIGHBOUR_ROWS = 20_000  # rows


def fit_neighbours(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit k-nearest neighbours on one fold."""
    rows = np.sort(np.random.default_rng(fold.task.seed).permutation(len(fold.y))[:MAX_NEIGHBOUR_ROWS])
    count = min(settings["count"], len(rows))
    kind = KNeighborsClassifier if fold.goal.classes else KNeighborsRegressor
    model = kind(count, weights=settings["weights"], p=settings["power"])
    model.fit(fold.x[rows], fold.y[rows])
    return wrap_sklearn(model, fold.goal)


NEIGHBOURS = Kind(
    encode=scaled_columns,
    fit=fit_neighbours,
    space={
        "count": ("log-int", 2, 60),
        "weights": ("choice", "uniform", "distance"),
        "power": ("choice", 1, 2),
    },
    start={"count": 15, "weights": "distance", "power": 2},
)
