"""The small convolutional network of the recipe for images, one network per fold."""

from typing import Any

import numpy as np
import torch

from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.images import Net, pixels
from comind.baseline.recipes.kind import Fold, Kind, Model, wrap_sklearn
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.domain.row_files import IMAGE_SUFFIXES


def pictures(task: Task, tables: Tables) -> list[Any]:
    """Return shrunken pictures, shape (rows, 3, side, side)."""
    torch.set_num_threads(1)  # images are too small to gain from more
    return [pixels(paths) for paths in side_files(task, tables, IMAGE_SUFFIXES)]


def fit_convolutions(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit a network on one fold; more images get fewer epochs."""
    torch.manual_seed(fold.task.seed)
    passes = round(settings["passes"] * min(max(50_000 / len(fold.y), 2), 40))
    draw = np.random.RandomState(fold.task.seed)
    kind = "classes" if fold.goal.classes else "numbers"
    net = Net(kind, max(1, passes), draw).fit(fold.x, fold.y)
    return wrap_sklearn(net, fold.goal)


CONVOLUTIONS = Kind(
    encode=pictures,
    fit=fit_convolutions,
    space={"passes": ("log", 0.5, 2.0)},
    start={"passes": 1.0},
)
