"""Embeddings of rows by a pretrained model: kept in a file, scaled, for a linear model and LightGBM."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comind.baseline.recipes.boosting import LIGHTGBM
from comind.baseline.recipes.scaled_models import LINEAR

BATCH = 32


def vectors_of(
    path: str, embed: Callable[[str, list[Any]], NDArray[Any]], parts: list[list[Any]]
) -> list[Any]:
    """Return the vectors of train, validation and test; the mean of their variances in train is 1."""
    each = [one for part in parts for one in part]
    named = hashlib.sha256(repr((path, embed.__name__, each)).encode()).hexdigest()[:16]
    file, incomplete = Path(f"embedding-{named}.npy"), Path(f"embedding-{named}.part.npy")
    if not file.is_file():
        np.save(incomplete, embed(path, each).astype(np.float32))
        incomplete.replace(file)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    train, *others = np.split(np.load(file).astype(np.float64), ends)
    mean, unit = train.mean(axis=0), np.sqrt(train.var(axis=0).mean()) + 1e-9
    return [(part - mean) / unit for part in (train, *others)]


HEAD = LINEAR._replace(
    space={"strength": (100.0, "log", 1.0, 1e4), "knots": (0, "choice", 0)},
)
BOOSTED = LIGHTGBM._replace(
    space=LIGHTGBM.space | {"colsample_bytree": (0.2, "uniform", 0.05, 0.6)},
)
