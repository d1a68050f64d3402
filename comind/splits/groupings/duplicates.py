"""Equal and nearly equal rows."""

from collections.abc import Iterator
from typing import Self

import numpy as np
import pandas as pd
from pydantic import model_validator

from comind.domain.competition import SplitRule, join_names
from comind.splits.grouping import SEPARATOR, Grouping, connected, row_groups
from comind.splits.pooled_rows import PooledRows, Relation, numeric_columns, quoted
from comind.splits.relations import NearestNeighbour, SameGroup, rounded_up

_LEAST_AXES, _MOST_AXES = 2, 6
_LEAST_NEAR = 0.2  # difference between the shares of train and test rows that are nearly equal
_LARGEST_CLUSTER = 0.05  # of the rows of train
_NEARER = 0.4  # radius of duplicates to the median distance, at most


class Duplicates(Grouping):
    """`twins`: rows that are equal in all of `columns`, or differ by at most `sizes`.

    Chains of nearly equal rows are one group.
    """

    by = "twins"
    of_duplicates = True
    columns: tuple[str, ...]
    sizes: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.sizes and len(self.sizes) != len(self.columns):
            raise ValueError("'sizes' requires one number for each of 'columns'")
        return self

    @property
    def plural(self) -> str:
        return f"groups of rows that are {self._alike} in {join_names(self.columns)}"

    @property
    def related(self) -> str:
        return f"twins of train rows, {self._alike} in {quoted(self.columns)}"

    @property
    def _alike(self) -> str:
        return "nearly equal" if self.sizes else "equal"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Return the cluster of each row: its joined cells or, of near-duplicates, their first position.

        Near-duplicates are the connected components of rows that differ by at most `sizes`.
        """
        if self.sizes:
            return self._near(table)
        first, *rest = self.columns
        joined = table[first]
        for name in rest:  # `str.cat` makes an object of each cell
            joined = joined + SEPARATOR + table[name]
        return joined

    def _near(self, table: pd.DataFrame) -> "pd.Series[str]":
        from scipy.spatial import cKDTree

        points = numeric_columns(table, self.columns) / np.array(self.sizes)
        known = np.flatnonzero(np.isfinite(points).all(axis=1))
        places, at = np.unique(points[known], axis=0, return_inverse=True)  # equal rows are one point
        pairs = cKDTree(places).query_pairs(1.0, p=np.inf, output_type="ndarray")
        component = np.arange(len(table)) + len(places)  # rows without numbers stay single
        component[known] = connected(pairs[:, 0], pairs[:, 1], len(places))[at.reshape(-1)]
        _, first_rows, numbers = np.unique(component, return_index=True, return_inverse=True)
        return pd.Series(first_rows[numbers].astype(str), index=table.index, dtype=str)

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield equality over the most distinctive columns, then nearness over continuous ones."""
        inputs = [name for name in pool.columns if name not in pool.ids]
        inputs.sort(key=lambda name: -pool.sample_cells(name).nunique())
        if inputs:
            yield SameGroup(pool, cls(columns=tuple(inputs[:_MOST_AXES])).rule)
        axes = pool.continuous_columns[:_MOST_AXES]
        if len(axes) >= _LEAST_AXES:
            near = NearestNeighbour(pool, cls(columns=axes).rule)
            if near.fit_radius() >= _LEAST_NEAR and (rule := _fit_sizes(near)) is not None:
                near.rule = rule
                yield near


def _fit_sizes(near: NearestNeighbour) -> SplitRule | None:
    """Return the rule that keeps near-duplicates together; None where these are no small clusters.

    Test rows from another region give a radius that is not small, or that joins most rows of train.
    """
    pool, columns = near.pool, near.rule.columns
    train = pool.table(columns).iloc[pool.train]
    spread = np.nanstd(numeric_columns(train, columns), axis=0)
    if near.radius <= 0 or not (spread > 0).all():
        return None
    if near.radius > _NEARER * np.median(near.test_distances):
        return None
    sizes = tuple(rounded_up(near.radius * each) for each in spread)
    rule = near.rule.model_copy(update={"sizes": sizes})
    largest = row_groups(train, rule).value_counts().iloc[0]
    return None if largest > max(_LARGEST_CLUSTER * len(pool.train), 2) else rule
