"""Transform numbers to the metric's scale, and choose the training loss."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Scale(NamedTuple):
    """A transformation and its inverse."""

    forward: Callable[[Any], Any]
    back: Callable[[Any], Any]


def scale_of(metric: str) -> Scale:
    """Return the transformation after which the metric is a plain error."""
    if metric == "rmsle":
        return Scale(np.log1p, np.expm1)
    if metric == "rmse-of-log":
        return Scale(np.log, np.exp)
    return Scale(lambda y: y, lambda y: y)


def loss_of(metric: str) -> str:
    """Return the training loss that fits the metric: absolute (median) or squared (mean)."""
    return "absolute_error" if metric in ("mae", "mape", "smape") else "squared_error"
