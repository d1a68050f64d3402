"""Extremely randomized trees or random forests."""

from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from comind.baseline.recipes.encoding import scaled_columns
from comind.baseline.recipes.kind import Fold, Kind, Model, threads, wrap_sklearn

MOST_ROWS = 30_000  # training rows of one ensemble


def fit_trees(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit an ensemble of trees on one fold."""
    makers = {
        (True, True): ExtraTreesClassifier,
        (True, False): RandomForestClassifier,
        (False, True): ExtraTreesRegressor,
        (False, False): RandomForestRegressor,
    }
    options = {name: value for name, value in settings.items() if name != "extra"}
    model = makers[bool(fold.goal.classes), bool(settings["extra"])](
        n_estimators=150, n_jobs=threads(), random_state=fold.task.seed, **options
    )
    draw = np.random.default_rng(fold.task.seed)
    rows = np.sort(draw.permutation(len(fold.y))[:MOST_ROWS])
    model.fit(fold.x[rows], fold.y[rows])
    model.set_params(n_jobs=1)  # deterministic: threads would add trees up in any order
    return wrap_sklearn(model, fold.goal)


TREES = Kind(
    encode=scaled_columns,
    fit=fit_trees,
    space={
        "extra": ("choice", True, False),
        "max_features": ("uniform", 0.15, 1.0),
        "min_samples_leaf": ("log-int", 1, 16),
    },
    start={"extra": True, "max_features": 0.6, "min_samples_leaf": 2},
)
