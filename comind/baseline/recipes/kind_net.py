"""A multilayer perceptron with one or two hidden layers."""

from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from comind.baseline.recipes.encoding import scaled_columns
from comind.baseline.recipes.kind import Fold, Kind, Model, wrap_sklearn


def fit_net(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit a network on one fold; numbers are standardized."""
    options = {
        "hidden_layer_sizes": (settings["width"],) * settings["layers"],
        "alpha": settings["alpha"],
        "learning_rate_init": settings["learning_rate"],
        "max_iter": int(min(max(1e6 / len(fold.y), 10), settings["passes"])),
        "n_iter_no_change": 10_000,  # no early stopping
        "batch_size": min(max(16, min(256, len(fold.y) // 20)), len(fold.y)),
        "random_state": fold.task.seed,
    }
    if fold.goal.classes:
        classes = MLPClassifier(**options).fit(fold.x, fold.y)
        return wrap_sklearn(classes, fold.goal)
    mean, unit = float(np.mean(fold.y)), float(np.std(fold.y)) + 1e-9
    numbers = MLPRegressor(**options).fit(fold.x, (fold.y - mean) / unit)
    return wrap_sklearn(numbers, fold.goal, unit, mean)


NET = Kind(
    encode=scaled_columns,
    fit=fit_net,
    space={
        "width": ("log-int", 8, 128),
        "layers": ("choice", 1, 2),
        "alpha": ("log", 1e-4, 10.0),
        "learning_rate": ("log", 5e-4, 2e-2),
        "passes": ("log-int", 10, 150),
    },
    start={"width": 32, "layers": 1, "alpha": 0.1, "learning_rate": 5e-3, "passes": 40},
)
