"""Orders of rows and groups by a hash, the same on every machine and with every version of a library."""

import hashlib
import heapq
import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

T = TypeVar("T")
Positions = npt.NDArray[np.intp]

_SHARE, _LEAST = 0.1, 300
MOST_HELD_OUT = 0.25
"""Share of the rows, unless a rule's `fraction` is more."""


def validation_size(rows: int, fraction: float | None) -> int:
    """Return the number of rows to hold out: a tenth, at least 300 if that is at most a quarter."""
    if fraction is not None:
        return max(1, round(rows * fraction)) if rows else 0
    return max(round(rows * _SHARE), min(_LEAST, math.floor(rows * MOST_HELD_OUT)))


def hash_shuffled(items: Sequence[T], seed: int) -> list[T]:
    """Shuffle `items` by a hash of the seed and each item."""
    return [items[place] for place in hash_order(items, seed).tolist()]


def hash_order(items: Sequence[object], seed: int) -> Positions:
    """Return the positions of `items` in the order of `hash_shuffled`."""

    def digest(item: object) -> bytes:
        return hashlib.sha256(f"{seed}:{item}".encode()).digest()

    firsts = (int.from_bytes(digest(item)[:8], "big") for item in items)  # they order as all bits do
    numbers = np.fromiter(firsts, dtype=np.uint64, count=len(items))
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    if (ordered[1:] == ordered[:-1]).any():  # improbable, but for equal items
        return np.array(sorted(range(len(items)), key=lambda place: digest(items[place])))
    return order


def members_of(labels: "pd.Series", order: Positions) -> dict[str, Positions]:
    """Group rows by label, in the given order; labels in the order of their first row."""
    codes, values = pd.factorize(labels.iloc[order], use_na_sentinel=False)
    rows = order[np.argsort(codes, kind="stable")]
    ends = np.cumsum(np.bincount(codes, minlength=len(values)))
    return dict(zip(values.tolist(), np.split(rows, ends[:-1]), strict=False))


def round_robin(rows: int, classes: "Positions | None", seed: int, folds: int) -> Positions:
    """Assign shuffled rows round-robin, class by class."""
    order = hash_order(range(rows), seed)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    found = np.empty(rows, dtype=int)
    found[order] = np.arange(rows) % folds
    return found


def balanced(groups: "pd.Series[str]", seed: int, folds: int) -> Positions:
    """Assign whole groups, the largest first, each to the fold with the fewest rows."""
    numbers, names = pd.factorize(groups, sort=True)
    sizes = np.bincount(numbers, minlength=len(names))
    order = hash_order(range(len(names)), seed)
    filled = [(0, fold) for fold in range(folds)]
    fold_of = np.empty(len(names), dtype=int)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        rows, fold = filled[0]
        fold_of[group] = fold
        heapq.heapreplace(filled, (rows + int(sizes[group]), fold))
    return np.asarray(fold_of[numbers])
