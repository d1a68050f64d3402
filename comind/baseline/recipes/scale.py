"""Transform numbers to the scale on which the metric is a plain error."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Scale(NamedTuple):
    """A transformation and its inverse."""

    forward: Callable[[Any], Any]
    back: Callable[[Any], Any]


SCALES = {
    "": Scale(lambda y: y, lambda y: y),
    "log": Scale(np.log, np.exp),
    "log1p": Scale(np.log1p, np.expm1),
}
