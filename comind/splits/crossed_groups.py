"""Hold out rows by several groupings at once, such as users and items.

Each group of each grouping has a level between 0 and 1. A row is held out where all its groups have
levels within an interval, and trains where none has; rows that mix are excluded.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.splits.shuffling import hash_shuffled

_LEAST_KEPT = 0.5  # of the rows, for training
_LEAST_HELD_OUT = 0.25  # of the requested number of rows

_Levels = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
"""The number of each row's group, in the order in which groups are held out."""


def shuffled_codes(groupings: "Sequence[pd.Series[str]]", seed: int) -> list[Codes]:
    """Number the groups of each grouping in a shuffled order."""
    numbered = []
    for number, groups in enumerate(groupings):
        codes, names = pd.factorize(f"{number}:" + groups)
        place = pd.Index(hash_shuffled(names.tolist(), seed)).get_indexer(names)
        numbered.append(place[codes])
    return numbered


def crossed_folds(groupings: Sequence[Codes], count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the positions of each fold's validation rows and of its excluded rows, both ascending.

    A fold has `count` rows or, if training rows would then be fewer than half, so many that these are
    half, but at least a quarter of `count`. The groups of further groupings are ordered by themselves
    or, where that excludes fewer rows, as the groups of the first that they occur with (so that groups
    nested in others are held out with them). Ends when the groups are used up.
    """
    options = [_folds(levels, count) for levels in (_levels(groupings), _levels_of_first(groupings))]
    started = [(first, folds) for folds in options if (first := next(folds, None)) is not None]
    if started:
        first, folds = min(started, key=lambda one: len(one[0][1]))
        yield first
        yield from folds


def _folds(levels: _Levels, count: int) -> Iterator[tuple[list[int], list[int]]]:
    end = _next_end(levels, start := 0.0, count)
    while end is not None:
        inside = (levels > start) & (levels <= end)
        held_out, touched = inside.all(axis=1), inside.any(axis=1)
        yield np.flatnonzero(held_out).tolist(), np.flatnonzero(touched & ~held_out).tolist()
        end = _next_end(levels, start := end, count)


def _levels(groupings: Sequence[Codes]) -> _Levels:
    """Return the level of each row in each grouping: the share of rows in groups up to its own."""
    return np.column_stack([np.bincount(each).cumsum()[each] / len(each) for each in groupings])


def _levels_of_first(groupings: Sequence[Codes]) -> _Levels:
    """Return levels by the first grouping; a group of another has the median of its rows' levels."""
    first = _levels(groupings[:1])[:, 0]
    columns = [first]
    for groups in groupings[1:]:
        order = np.lexsort((first, groups))
        sizes = np.bincount(groups)
        columns.append(first[order][sizes.cumsum() - sizes // 2 - 1][groups])
    return np.column_stack(columns)


def _next_end(levels: _Levels, start: float, count: int) -> float | None:
    """Return the end of the interval above `start` that holds out rows; None if too few are left."""
    free = np.where(levels > start, levels, np.inf)
    ends = np.unique(free[np.isfinite(free)])
    whole = np.sort(levels.max(axis=1)[(levels > start).all(axis=1)])
    held_out = np.searchsorted(whole, ends, "right")
    kept = len(levels) - np.searchsorted(np.sort(free.min(axis=1)), ends, "right")
    enough = held_out >= max(1, _LEAST_HELD_OUT * count)
    enough &= kept > 0
    if not enough.any():
        return None
    full = np.flatnonzero(held_out >= count)
    half = np.flatnonzero(kept >= _LEAST_KEPT * len(levels))
    at = max(int(enough.argmax()), int(half[-1]) if len(half) else 0)
    return float(ends[min(at, int(full[0])) if len(full) else at])
