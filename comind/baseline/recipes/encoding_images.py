"""Encode images as principal components, for models of tables."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.images import pixels
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.domain.row_files import IMAGE_SUFFIXES

COMPONENTS = 100


def scaled_pictures(task: Task, tables: Tables) -> list[Any]:
    """Return matrices of principal components; the mean of their variances is 1."""
    small = [pixels(paths).numpy() for paths in side_files(task, tables, IMAGE_SUFFIXES)]
    flat = [part.reshape(len(part), -1) for part in small]
    count = min(COMPONENTS, len(flat[0]) - 1, flat[0].shape[1])
    found = PCA(max(1, count), svd_solver="randomized", random_state=task.seed).fit(flat[0])
    unit = float(np.sqrt(found.explained_variance_.mean())) + 1e-9
    return [found.transform(part) / unit for part in flat]


def pictures_for_trees(task: Task, tables: Tables) -> list[Any]:
    """Return the same components as tables."""
    return [pd.DataFrame(part) for part in scaled_pictures(task, tables)]
