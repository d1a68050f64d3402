"""Define a family of models: its encoding of the data, its hyperparameters, and how to fit it."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comind.baseline.recipes.answers import Target, one_class, raw_predictions
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task


class Fold(NamedTuple):
    """Training rows of one fold, and the held-out rows used for early stopping."""

    task: Task
    target: Target
    x: Any
    y: NDArray[Any]
    x_held: Any
    y_held: NDArray[Any]


class Model(NamedTuple):
    """A fitted model."""

    predict: Callable[[Any, int], NDArray[Any]]
    """Returns raw predictions of the first `rounds` rounds; 0: of all."""
    rounds: int
    """Best round on held-out rows (early stopping); 0 for models without rounds."""


class Family(NamedTuple):
    """A family of models."""

    encode: Callable[[Task, Tables], list[Any]]
    """Returns the features of train, validation and test, indexable by row number."""
    fit: Callable[[Fold, dict[str, Any]], Model]
    """Fits a model; without `rounds` in the settings, boosting stops early on held-out rows."""
    space: dict[str, tuple[Any, ...]]
    """Distribution of each setting: ("log", low, high), ("log-int", low, high), ("uniform", low, high),
    or ("choice", value, ...)."""
    start: dict[str, Any]
    """Settings that are evaluated first."""


def threads() -> int:
    """Return the number of threads that a program may use."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def wrap_sklearn(model: Any, target: Target, times: float = 1.0, plus: float = 0.0) -> Model:
    """Wrap a fitted scikit-learn model; predictions become `prediction * times + plus`."""
    return Model(lambda x, _: raw_predictions(model, target, x) * times + plus, 0)


def constant_model(code: int, target: Target) -> Model:
    """Return a model that always predicts one class, for training rows of one class only."""
    return Model(lambda x, _: one_class(target, code, x), 0)


def has_known_class(fold: Fold) -> NDArray[Any]:
    """Return a mask of the held-out rows whose class occurs among the training rows."""
    return np.isin(fold.y_held, fold.y) if fold.target.classes else np.ones(len(fold.y_held), bool)
