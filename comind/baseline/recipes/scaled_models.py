"""Models of scaled columns: linear, kernels (Nystroem), nearest neighbours, trees and a perceptron."""

from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from comind.baseline.recipes.columns import scaled_columns
from comind.baseline.recipes.family import Family, Fold, Model, threads, without, wrap_sklearn


def fit_linear(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit a linear model on one fold."""
    strength = settings["strength"]
    model = LogisticRegression(C=1 / strength, max_iter=300) if fold.target.classes else Ridge(strength)
    knots = settings["knots"]
    steps = (
        [SplineTransformer(knots, degree=2, knots="quantile", extrapolation="linear")] if knots else []
    )
    model = make_pipeline(*steps, model).fit(fold.x, fold.y)
    return wrap_sklearn(model, fold.target)


LINEAR = Family(
    encode=scaled_columns,
    fit=fit_linear,
    space={"strength": (1.0, "log", 1e-3, 1e3), "knots": (0, "choice", 0, 3, 5)},
)


LANDMARKS = 400


def fit_kernel(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit on one fold; numbers are fitted as differences from their mean."""
    strength, mean = settings["strength"], 0.0 if fold.target.classes else float(np.mean(fold.y))
    if fold.target.classes:
        last: Any = LogisticRegression(C=1 / strength, max_iter=300)
    else:
        last = Ridge(strength, fit_intercept=False)
    near = Nystroem(
        gamma=settings["width"] / fold.x.shape[1],
        n_components=min(LANDMARKS, len(fold.y)),
        random_state=fold.task.seed,
    )
    model = make_pipeline(near, last).fit(fold.x, fold.y - mean if not fold.target.classes else fold.y)
    return wrap_sklearn(model, fold.target, plus=mean)


KERNEL = Family(
    encode=scaled_columns,
    fit=fit_kernel,
    space={"strength": (0.05, "log", 1e-4, 10.0), "width": (0.2, "log", 1e-2, 3.0)},
)


MAX_NEIGHBOUR_ROWS = 20_000  # rows


def fit_neighbours(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit k-nearest neighbours on one fold."""
    rows = np.sort(np.random.default_rng(fold.task.seed).permutation(len(fold.y))[:MAX_NEIGHBOUR_ROWS])
    count = min(settings["count"], len(rows))
    neighbours = KNeighborsClassifier if fold.target.classes else KNeighborsRegressor
    model = neighbours(count, weights=settings["weights"], p=settings["power"])
    model.fit(fold.x[rows], fold.y[rows])
    return wrap_sklearn(model, fold.target)


NEIGHBOURS = Family(
    encode=scaled_columns,
    fit=fit_neighbours,
    space={
        "count": (15, "log-int", 2, 60),
        "weights": ("distance", "choice", "uniform", "distance"),
        "power": (2, "choice", 1, 2),
    },
)


MOST_ROWS = 30_000  # training rows of one ensemble


def fit_trees(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit an ensemble of trees on one fold."""
    makers = {
        (True, True): ExtraTreesClassifier,
        (True, False): RandomForestClassifier,
        (False, True): ExtraTreesRegressor,
        (False, False): RandomForestRegressor,
    }
    model = makers[bool(fold.target.classes), bool(settings["extra"])](
        n_estimators=150, n_jobs=threads(), random_state=fold.task.seed, **without(settings, "extra")
    )
    draw = np.random.default_rng(fold.task.seed)
    rows = np.sort(draw.permutation(len(fold.y))[:MOST_ROWS])
    model.fit(fold.x[rows], fold.y[rows])
    model.set_params(n_jobs=1)  # deterministic: threads would add trees up in any order
    return wrap_sklearn(model, fold.target)


TREES = Family(
    encode=scaled_columns,
    fit=fit_trees,
    space={
        "extra": (True, "choice", True, False),
        "max_features": (0.6, "uniform", 0.15, 1.0),
        "min_samples_leaf": (2, "log-int", 1, 16),
    },
)


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
    if fold.target.classes:
        classes = MLPClassifier(**options).fit(fold.x, fold.y)
        return wrap_sklearn(classes, fold.target)
    mean, unit = float(np.mean(fold.y)), float(np.std(fold.y)) + 1e-9
    numbers = MLPRegressor(**options).fit(fold.x, (fold.y - mean) / unit)
    return wrap_sklearn(numbers, fold.target, unit, mean)


NET = Family(
    encode=scaled_columns,
    fit=fit_net,
    space={
        "width": (32, "log-int", 8, 128),
        "layers": (1, "choice", 1, 2),
        "alpha": (0.1, "log", 1e-4, 10.0),
        "learning_rate": (5e-3, "log", 5e-4, 2e-2),
        "passes": (40, "log-int", 10, 150),
    },
)
