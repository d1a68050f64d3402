"""Fit block sizes and duplicate radii to the distances between test and train rows."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.groups import numeric_columns, row_groups
from comind.splits.holdout import choose_validation_rows
from comind.splits.relations import NearestNeighbour, Positions

_BLOCKS = (3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40)
"""Candidate numbers of blocks along each axis."""
_MOST_ROWS = 8_000
_LARGEST_CLUSTER, _LEAST_IN_CLUSTERS = 0.05, 0.2
_NEARER = 0.4  # radius of duplicates to the median distance, at most
_EDGE = 0.05
_DIGITS = 3
_SEEDS = 3
_PARTS = 2

_Distances = npt.NDArray[np.float64]


def fit_radius(near: NearestNeighbour) -> float:
    """Set the radius at which the distances of train and test differ most; return the difference.

    It is the one-sided Kolmogorov-Smirnov statistic of the distances to the nearest train row: how much
    larger the share of train rows within the radius is than that of test rows.
    """
    train, test = (
        np.sort(each[np.isfinite(each)]) for each in (near.train_distances, near.test_distances)
    )
    if not len(train) or not len(test):
        return 0.0
    ahead = np.arange(1, len(train) + 1) / len(train) - np.searchsorted(test, train, "right") / len(test)
    at = int(ahead.argmax())
    beyond = test[np.searchsorted(test, train[at], "right") :]
    far = float(np.quantile(beyond, _EDGE)) if len(beyond) else train[at]
    near.radius = float(np.sqrt(train[at] * far)) if 0 < train[at] < far else float(train[at])
    return float(ahead[at])


def fit_block_rule(near: NearestNeighbour) -> SplitRule | None:
    """Return the rule whose blocks put validation rows as far from the rest as test is from train.

    Large tables are sampled. None if no block size holds out any rows.
    """
    pool = near.pool
    sample = pool.sample(pool.train, _MOST_ROWS)
    table = pool.table(near.rule.columns).iloc[sample].reset_index(drop=True)
    numbers = numeric_columns(table, near.rule.columns)
    extent = np.nanmax(numbers, axis=0) - np.nanmin(numbers, axis=0)
    test = near.distances(pool.sample(pool.test), sample)
    best: tuple[float, SplitRule] | None = None
    for blocks in _BLOCKS:
        rule = near.rule.model_copy(
            update={"sizes": tuple(_rounded_up(side / blocks) for side in extent)}
        )
        losses = [_difference(near, test, each) for each in _held_out(near, table, sample, rule)]
        if losses and (best is None or np.mean(losses) < best[0]):
            best = float(np.mean(losses)), rule
    return best[1] if best is not None else None


def _held_out(
    near: NearestNeighbour, table: pd.DataFrame, sample: Positions, rule: SplitRule
) -> Iterator[_Distances]:
    """Yield the distances of held-out rows to the rest, for several seeds."""
    for seed in range(_SEEDS):
        try:
            rows: Positions = np.array(choose_validation_rows(table, rule, seed))
        except CompetitionError:
            return
        yield near.distances(sample[rows], np.delete(sample, rows))


def _difference(near: NearestNeighbour, one: _Distances, other: _Distances) -> float:
    """Return how two samples of distances differ: in the share within the radius, and in log median."""
    within = abs(np.mean(one <= near.radius) - np.mean(other <= near.radius))
    medians = [
        float(np.median(each[np.isfinite(each)])) for each in (one, other) if np.isfinite(each).any()
    ]
    ratio = abs(np.log(medians[0] / medians[1])) if len(medians) == _PARTS and min(medians) > 0 else 1.0
    return float(within + ratio)


def fit_duplicate_rule(near: NearestNeighbour) -> SplitRule | None:
    """Return the rule that keeps near-duplicates together; None where these are no small clusters.

    Test rows from another region give a radius that is not small, or that joins most rows of train.
    """
    pool, columns = near.pool, near.rule.columns
    train = pool.table(columns).iloc[pool.train]
    spread = np.nanstd(numeric_columns(train, columns), axis=0)
    if near.radius <= 0 or not (spread > 0).all():
        return None
    clustered = np.mean(near.train_distances <= near.radius) >= _LEAST_IN_CLUSTERS
    if near.radius > _NEARER * np.median(near.test_distances) or not clustered:
        return None
    sizes = tuple(_rounded_up(near.radius * each) for each in spread)
    rule = near.rule.model_copy(update={"sizes": sizes})
    clusters = row_groups(train, rule).value_counts()
    large = clusters.iloc[0] > max(_LARGEST_CLUSTER * len(pool.train), 2)
    paired = clusters[clusters > 1].sum() / len(pool.train)
    return None if large or paired < _LEAST_IN_CLUSTERS else rule


def _rounded_up(value: float) -> float:
    """Round up to three significant digits, as the value is stored."""
    if not value > 0:
        return 1.0
    step = 10.0 ** (np.floor(np.log10(value)) - _DIGITS + 1)
    return float(f"{np.ceil(value / step) * step:.3g}")
