"""Blocks of the plane over two columns of coordinates."""

from collections.abc import Iterator
from itertools import combinations
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import model_validator

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.grouping import Grouping
from comind.splits.pooled_rows import PooledRows, Positions, Relation, numeric_columns, quoted
from comind.splits.relations import NearestNeighbour, rounded_up
from comind.splits.rule import Rule
from comind.splits.times import name_words

_AXES, _GUESSED_AXES = 2, 6
_NAMED, _GUESSED = 0.4, 0.6  # least difference between the shares of rows near to train
_BLOCKS = (3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40)
"""Candidate numbers of blocks along each axis."""
_MOST_SAMPLED = 8_000
_SEEDS = 3
_NEIGHBOUR = 5  # a few rows in one spot do not count as surroundings
_AXIS_WORDS = (
    (("lat", "latitude"), ("lon", "long", "lng", "longitude")),
    (("x",), ("y",)),
    (("easting", "east"), ("northing", "north")),
    (("row",), ("col", "column")),
)

_Distances = npt.NDArray[np.float64]


class Blocks(Grouping):
    """`place`: the block of the plane over the two `columns`; `sizes` are the sides of a block."""

    by = "place"
    columns: tuple[str, ...]
    sizes: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _two(self) -> Self:
        if not len(self.columns) == len(self.sizes) == _AXES:
            raise ValueError("'by: place' requires two columns and two sizes")
        return self

    @property
    def plural(self) -> str:
        sides = " by ".join(f"{size:g}" for size in self.sizes)
        return f"blocks of {' and '.join(self.columns)}, {sides}"

    @property
    def related(self) -> str:
        return f"as near to a train row in {quoted(self.columns)} as train rows are to each other"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Return the block of each row; a row without coordinates is its own group."""
        at = np.floor(numeric_columns(table, self.columns) / np.array(self.sizes))
        known = np.isfinite(at).all(axis=1)
        named = [
            f"{x:.0f}:{y:.0f}" if known[row] else f"row {row}" for row, (x, y) in enumerate(at.tolist())
        ]
        return pd.Series(named, index=table.index, dtype=str)

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield pairs of columns named like coordinates, then others of continuous ones."""
        numeric = [name for name in pool.columns if name not in pool.ids and pool.is_numeric(name)]
        named = [(one, other) for one in numeric for other in numeric if _are_axes(one, other)]
        guessed = [
            pair
            for pair in combinations(pool.continuous_columns[:_GUESSED_AXES], _AXES)
            if pair not in named and pair[::-1] not in named
        ]
        for pair in (*named, *guessed):
            rule = cls(columns=pair, sizes=(1.0, 1.0)).rule
            near = NearestNeighbour(
                pool, rule, nth=_NEIGHBOUR, is_guessed=pair in guessed, fit=_fit_blocks
            )
            if near.fit_radius() >= (_GUESSED if near.is_guessed else _NAMED):
                yield near


def _fit_blocks(near: NearestNeighbour) -> SplitRule | None:
    """Return the rule whose blocks put validation rows as far from the rest as test is from train.

    Large tables are sampled. None if no block size holds out any rows.
    """
    pool = near.pool
    sample = pool.sample(pool.train, _MOST_SAMPLED)
    table = pool.table(near.rule.columns).iloc[sample].reset_index(drop=True)
    numbers = numeric_columns(table, near.rule.columns)
    extent = np.nanmax(numbers, axis=0) - np.nanmin(numbers, axis=0)
    test = near.distances(pool.sample(pool.test), sample)
    best: tuple[float, SplitRule] | None = None
    for blocks in _BLOCKS:
        rule = near.rule.model_copy(
            update={"sizes": tuple(rounded_up(side / blocks) for side in extent)}
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
            rows: Positions = np.array(Rule.of(rule).choose(table, seed).rows)
        except CompetitionError:
            return
        yield near.distances(sample[rows], np.delete(sample, rows))


def _difference(near: NearestNeighbour, one: _Distances, other: _Distances) -> float:
    """Return how two samples of distances differ: in the share within the radius, and in log median."""
    within = abs(np.mean(one <= near.radius) - np.mean(other <= near.radius))
    medians = [
        float(np.median(each[np.isfinite(each)])) for each in (one, other) if np.isfinite(each).any()
    ]
    ratio = abs(np.log(medians[0] / medians[1])) if len(medians) == 2 and min(medians) > 0 else 1.0  # noqa: PLR2004 - both
    return float(within + ratio)


def _are_axes(one: str, other: str) -> bool:
    """Return whether two names are coordinates of one point, such as `pickup_lat`, `pickup_lon`."""
    first, second = name_words(one), name_words(other)
    if len(first) != len(second):
        return False
    differing = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1:
        return False
    a, b = differing[0]
    return any(a in ones and b in others for ones, others in _AXIS_WORDS)
