"""What a metric says about numbers: the scale that it looks at, and the loss to learn with."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Scale", "loss_of", "scale_of"]


class Scale(NamedTuple):
    """The way to a scale and the way back."""

    forward: Callable[[Any], Any]
    back: Callable[[Any], Any]


def scale_of(metric: str) -> Scale:
    """Return the scale on which a metric looks at numbers."""
    if metric == "rmsle":
        return Scale(np.log1p, np.expm1)
    if metric == "rmse-of-log":
        return Scale(np.log, np.exp)
    return Scale(lambda y: y, lambda y: y)


def loss_of(metric: str) -> str:
    """Return the loss whose minimum is what a metric wants: a median or a mean."""
    return "absolute_error" if metric in ("mae", "mape", "smape") else "squared_error"
