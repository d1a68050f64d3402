"""A kind of model: how it sees the data, which settings it has, how it is fitted."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comind.baseline.recipes.goals import Goal
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

__all__ = ["Fold", "Kind", "Model", "model_of", "one_class_alone", "seen_before", "spread", "threads"]


class Fold(NamedTuple):
    """What a model learns from, and the rows that it may stop early by."""

    task: Task
    goal: Goal
    x: Any
    y: NDArray[Any]
    x_held: Any
    y_held: NDArray[Any]


class Model(NamedTuple):
    """A fitted model."""

    predict: Callable[[Any, int], NDArray[Any]]
    """Returns raw predictions by so many of its rounds, or 0 for all."""
    rounds: int
    """After how many the rows that were held out were predicted best; 0 without rounds."""


class Kind(NamedTuple):
    """A kind of model."""

    encode: Callable[[Task, Tables], list[Any]]
    """Returns the features of train, validation and test; their rows can be picked by numbers."""
    fit: Callable[[Fold, dict[str, Any]], Model]
    """A kind with rounds runs as many as the settings say, else stops by the rows that are held out."""
    space: dict[str, tuple[Any, ...]]
    """By setting: ("log", low, high), ("whole", low, high) on a logarithmic scale, ("even", low, high),
    or ("one of", value, ...)."""
    start: dict[str, Any]
    """The settings that are tried first."""


def threads() -> int:
    """Return how many threads a program may use."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def model_of(model: Any, goal: Goal, times: float = 1.0, plus: float = 0.0) -> Model:
    """Return a model of scikit-learn, fitted, as one; its numbers in units of ours."""
    return Model(lambda x, _: spread(model, goal, x) * times + plus, 0)


def one_class_alone(code: int, goal: Goal) -> Model:
    """Return a model that is sure of one class, for rows that have no other."""
    return Model(lambda x, _: np.tile(np.eye(len(goal.classes))[code], (x.shape[0], 1)), 0)


def seen_before(fold: Fold) -> NDArray[Any]:
    """Return which of the rows that are held out have a class that there is to learn from."""
    return np.isin(fold.y_held, fold.y) if fold.goal.classes else np.ones(len(fold.y_held), bool)


def spread(model: Any, goal: Goal, x: Any) -> NDArray[Any]:
    """Return raw predictions of a model of scikit-learn, which may not have seen every class."""
    if not goal.classes:
        return np.asarray(model.predict(x), dtype=float)
    raw = np.zeros((x.shape[0], len(goal.classes)))
    raw[:, model.classes_.astype(int)] = model.predict_proba(x)
    return raw
