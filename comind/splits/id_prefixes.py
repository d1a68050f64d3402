"""Find the width of the prefix that names the group in ids without separators, such as `20130117`.

One width is chosen for a column: the least at which hardly any test row, but many train rows share their
first characters with another row of train.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.splits.relations import PooledRows

_LEAST, _LONGEST = 3, 64  # characters of an id
_MOSTLY = 0.5  # share of different ids
_LEAST_TRAIN, _MOST_TEST = 0.3, 0.02  # related shares, as in `rule_search`
_LEAST_GROUPS = 5  # of train and of test
_INTERLEAVED = 0.6  # runs of train and test groups along the ids, to those of a random order

_Lengths = npt.NDArray[np.intp]


def separating_width(pool: PooledRows, name: str) -> int | None:
    """Return the width of the prefixes that test rows do not share with train; None without evidence.

    Groups of train and test have to interleave: of ids that were numbered train first, any prefix
    separates them.
    """
    cells = pool.sample_cells(name)
    lengths = cells.str.len()
    if not len(cells) or cells.nunique() < _MOSTLY * len(cells) or lengths.min() < _LEAST:
        return None
    if lengths.max() > _LONGEST or (pool.is_numeric(name) and not _are_codes(cells)):
        return None
    column = pool.column(name)
    known = pd.Index(column.iloc[pool.train].unique()).sort_values()
    train = _shared_lengths(column.iloc[pool.sample(pool.train)], known, others=True)
    test = _shared_lengths(column.iloc[pool.sample(pool.test)], known, others=False)
    for width in range(1, int(lengths.min())):
        if (train >= width).mean() < _LEAST_TRAIN:
            return None
        if (test >= width).mean() <= _MOST_TEST and _interleave(pool, column, width):
            return width
    return None


def _are_codes(cells: "pd.Series[str]") -> bool:
    """Return whether numbers are digits of one length."""
    return bool(cells.str.fullmatch(r"\d+").all()) and cells.str.len().std() == 0


def _shared_lengths(cells: "pd.Series[str]", known: "pd.Index[str]", *, others: bool) -> _Lengths:
    """Return the length of the longest prefix that each cell shares with a known one.

    With `others`, the cells are among those known, and a different one is meant.
    """
    ids = known.tolist()
    at = known.searchsorted(cells.to_numpy())
    return np.array([_longest(cell, ids, int(i), others) for cell, i in zip(cells, at, strict=True)])


def _longest(cell: str, ids: list[str], at: int, others: bool) -> int:
    neighbours = (at - 1, at + others)  # the longest prefix is shared with a neighbour in order
    return max((_common(cell, ids[i]) for i in neighbours if 0 <= i < len(ids)), default=0)


def _common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _interleave(pool: PooledRows, column: "pd.Series[str]", width: int) -> bool:
    """Return whether prefixes of train and of test alternate as often as in a random order."""
    prefixes = column.str.slice(stop=width)
    train, test = (set(prefixes.iloc[rows].unique()) for rows in (pool.train, pool.test))
    test -= train
    if min(len(train), len(test)) < _LEAST_GROUPS:
        return False
    sides = np.array([each in test for each in sorted(train | test)])
    runs = 1 + int((sides[1:] != sides[:-1]).sum())
    expected = 1 + 2 * len(train) * len(test) / len(sides)
    return runs >= _INTERLEAVED * expected
