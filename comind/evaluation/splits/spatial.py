"""How far test rows lie from train: the sides of blocks, and how near twins are, that imitate it."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.evaluation.splits.groups import numeric_columns, row_groups
from comind.evaluation.splits.holdout import choose_validation_rows
from comind.evaluation.splits.relations import NearestNeighbour, Positions

__all__ = ["fit_block_rule", "fit_duplicate_rule", "measure"]

_SIDES = (3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40)
"""How many blocks to try along each axis."""
_MOST_ROWS = 8_000
_LARGEST_CLUSTER, _LEAST_IN_CLUSTERS = 0.05, 0.2
_NEARER = 0.4  # twins are than any others
_EDGE = 0.05
_DIGITS = 3
_SEEDS = 3
_PARTS = 2

_Distances = npt.NDArray[np.float64]


def measure(near: NearestNeighbour) -> float:
    """Set the radius at which train and test differ most; returns the difference of the two shares.

    It is the statistic of Kolmogorov and Smirnov over distances to the nearest row of train, of which
    only the side counts on which test rows are farther away.
    """
    train, test = (np.sort(each[np.isfinite(each)]) for each in near.apart)
    if not len(train) or not len(test):
        return 0.0
    ahead = np.arange(1, len(train) + 1) / len(train) - np.searchsorted(test, train, "right") / len(test)
    at = int(ahead.argmax())
    beyond = test[np.searchsorted(test, train[at], "right") :]
    far = float(np.quantile(beyond, _EDGE)) if len(beyond) else train[at]
    near.radius = float(np.sqrt(train[at] * far)) if 0 < train[at] < far else float(train[at])
    return float(ahead[at])


def fit_block_rule(near: NearestNeighbour) -> SplitRule | None:
    """Return the rule whose blocks put validation rows as far from the rest as test rows are from train.

    Of large tables some rows are looked at.
    """
    pool = near.pool
    some = pool.some(pool.train, _MOST_ROWS)
    table = pool.table(near.rule.columns).iloc[some].reset_index(drop=True)
    numbers = numeric_columns(table, near.rule.columns)
    extent = np.nanmax(numbers, axis=0) - np.nanmin(numbers, axis=0)
    far = near.distances(pool.some(pool.test), some)
    best: tuple[float, SplitRule] | None = None
    for sides in _SIDES:
        rule = near.rule.model_copy(update={"sizes": tuple(_rounded(side / sides) for side in extent)})
        off = [_difference(near, far, held) for held in _held_back(near, table, some, rule)]
        if off and (best is None or np.mean(off) < best[0]):
            best = float(np.mean(off)), rule
    return best[1] if best is not None else None


def _held_back(
    near: NearestNeighbour, table: pd.DataFrame, some: Positions, rule: SplitRule
) -> Iterator[_Distances]:
    """Yield how far rows that the rule holds back are from the rest, for several seeds."""
    for seed in range(_SEEDS):
        try:
            rows: Positions = np.array(choose_validation_rows(table, rule, seed))
        except CompetitionError:
            return
        yield near.distances(some[rows], np.delete(some, rows))


def _difference(near: NearestNeighbour, one: _Distances, other: _Distances) -> float:
    """Return by how much distances differ: in the share within the radius, and in the middle."""
    within = abs(np.mean(one <= near.radius) - np.mean(other <= near.radius))
    middles = [
        float(np.median(each[np.isfinite(each)])) for each in (one, other) if np.isfinite(each).any()
    ]
    ratio = abs(np.log(middles[0] / middles[1])) if len(middles) == _PARTS and min(middles) > 0 else 1.0
    return float(within + ratio)


def fit_duplicate_rule(near: NearestNeighbour) -> SplitRule | None:
    """Return the rule that keeps near twins together, where these are small groups; None where not.

    Where test rows merely lie elsewhere, the radius that tells them apart is no small one, or joins
    most rows of train.
    """
    pool, columns = near.pool, near.rule.columns
    spread = np.nanstd(numeric_columns(pool.table(columns).iloc[pool.train], columns), axis=0)
    if near.radius <= 0 or not (spread > 0).all():
        return None
    train, test = near.apart
    if near.radius > _NEARER * np.median(test) or np.mean(train <= near.radius) < _LEAST_IN_CLUSTERS:
        return None
    rule = near.rule.model_copy(update={"sizes": tuple(_rounded(near.radius * each) for each in spread)})
    sizes = row_groups(pool.table(columns).iloc[pool.train], rule).value_counts()
    large = sizes.iloc[0] > max(_LARGEST_CLUSTER * len(pool.train), 2)
    paired = sizes[sizes > 1].sum() / len(pool.train)
    return None if large or paired < _LEAST_IN_CLUSTERS else rule


def _rounded(value: float) -> float:
    """Round up to three digits, as the value is written down."""
    if not value > 0:
        return 1.0
    step = 10.0 ** (np.floor(np.log10(value)) - _DIGITS + 1)
    return float(f"{np.ceil(value / step) * step:.3g}")
