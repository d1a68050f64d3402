"""Encode sounds as MFCC features at their original speed, for models of tables."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comind.baseline.recipes.audio import features
from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.domain.row_files import AUDIO_SUFFIXES


def sounds_for_trees(task: Task, tables: Tables) -> list[Any]:
    """Return tables of MFCCs, their slopes and their spread."""
    heard = side_files(task, tables, AUDIO_SUFFIXES)
    return [pd.DataFrame(np.array([features(path) for path in paths])) for paths in heard]


def scaled_sounds(task: Task, tables: Tables) -> list[Any]:
    """Return the same features as scaled, decorrelated matrices."""
    parts = [part.to_numpy() for part in sounds_for_trees(task, tables)]
    sizes = make_pipeline(StandardScaler(), PCA(0.99, random_state=task.seed), StandardScaler())
    return [sizes.fit_transform(parts[0]), *map(sizes.transform, parts[1:])]
