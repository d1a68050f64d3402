"""Rank labels by probability, as MAP@k requires: several guesses in one cell, the best first."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def ranked_labels(shares: Any, classes: Sequence[str], guesses: int) -> list[str]:
    """Return the `guesses` most probable labels of each row, separated by spaces.

    `shares` are probabilities with shape (rows, classes).
    """
    best = np.argsort(-np.asarray(shares), axis=1, kind="stable")[:, :guesses]
    return [" ".join(classes[each] for each in row) for row in best]
