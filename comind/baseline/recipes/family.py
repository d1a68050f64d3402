"""Define a family of models: its encoding of the data, its hyperparameters, and how to fit it."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comind.baseline.recipes.answers import Target, raw_predictions
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
    """The first value of each setting and its distribution: "log", low, high; "log-int", low, high;
    "uniform", low, high; or "choice" and all values."""

    @property
    def start(self) -> dict[str, Any]:
        """Settings that are evaluated first."""
        return {name: first for name, (first, *_) in self.space.items()}


def threads() -> int:
    """Return the number of threads that a program may use."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def without(settings: dict[str, Any], name: str) -> dict[str, Any]:
    """Return settings without one that is not the library's."""
    return {each: value for each, value in settings.items() if each != name}


def wrap_sklearn(model: Any, target: Target, times: float = 1.0, plus: float = 0.0) -> Model:
    """Wrap a fitted scikit-learn model; predictions become `prediction * times + plus`."""
    return Model(lambda x, _: raw_predictions(model, target, x) * times + plus, 0)


def all_classes(target: Target, seen: NDArray[Any], shares: Any) -> NDArray[Any]:
    """Return probabilities of the classes with codes `seen` as those of all classes; others get 0."""
    raw = np.zeros((len(shares), len(target.classes)))
    raw[:, seen] = shares
    return raw
