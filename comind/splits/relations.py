"""Relations that may link a row to train: same group, later rows, nearest neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import SplitRule
from comind.splits.grouping import ColumnGrouping, Grouping, row_groups
from comind.splits.pooled_rows import Mask, Numbers, PooledRows, Positions
from comind.splits.rule import ByTime

GroupNumbers = npt.NDArray[np.int32] | npt.NDArray[np.intp]
"""The number of each row's group, shape (rows,)."""
LEAST_GROUPS, LARGEST_GROUP = 5, 0.5
_MOST_PLACES = 50_000
_LAST = 0.99  # quantile of reference times from which on a row counts as last
_EDGE = 0.05
_DIGITS = 3


@dataclass(eq=False)
class SameGroup:
    """A row is related to rows of its own group."""

    pool: PooledRows
    rule: SplitRule

    @property
    def description(self) -> str:
        """The end of the phrase "rows are ..." for related rows."""
        return Grouping.of(self.rule).related

    @property
    def numbers(self) -> GroupNumbers:
        """The number of each row's group, by first appearance in the pool."""
        return self._numbered[0]

    @cached_property
    def _numbered(self) -> tuple[GroupNumbers, int]:
        """The numbers, and that of an empty cell or -1; the groups' names take ten times the memory."""
        table, rows = self.pool.table(self.rule.used_columns), None
        if not self.rule.also and isinstance(Grouping.of(self.rule), ColumnGrouping):
            rows, cells = pd.factorize(table.iloc[:, 0])  # each different cell is named once
            table = pd.DataFrame({str(self.rule.column): cells}, dtype=str)
        numbers, names = pd.factorize(row_groups(table, self.rule))
        numbers = numbers.astype(np.int32)
        empty = int((names == "").argmax()) if (names == "").any() else -1
        return numbers if rows is None else numbers[rows], empty

    @cached_property
    def sizes(self) -> npt.NDArray[np.intp]:
        """Return the number of rows of train in each group, largest first, without empty groups."""
        numbers, empty = self._numbered
        numbers = numbers[self.pool.train]
        counts = np.bincount(numbers[numbers != empty])
        return np.sort(counts[counts > 0])[::-1]

    def is_related(self, rows: Positions, rest: Positions | None = None) -> Mask:
        """Return for each row whether the rest has its group; an empty cell has none.

        Without `rest`, as in the other relations: whether another row of train has it.
        """
        numbers, empty = self._numbered
        asked, among = numbers[rows], numbers[self.pool.train if rest is None else rest]
        counts = np.bincount(among, minlength=int(numbers.max(initial=0)) + 1)
        return np.asarray((counts[asked] > (rest is None)) & (asked != empty))

    def can_be_held_out(self) -> bool:
        """Return whether there are enough groups, none of them more than half of train."""
        enough = len(self.sizes) >= LEAST_GROUPS
        return enough and int(self.sizes[0]) <= LARGEST_GROUP * len(self.pool.train)


@dataclass(eq=False)
class FollowedInTime:
    """A row is related to later rows, or to later rows of the same period or group.

    By a rule of the earliest rows, to earlier rows: their times are negative.
    """

    pool: PooledRows
    rule: SplitRule
    times: Numbers
    """The time of each row of the pool, in any unit."""
    in_days: bool
    """Whether that unit is a day; otherwise the column holds plain numbers."""
    within: GroupNumbers | None = None
    """The number of each row's period or group, where the rule names one."""

    @property
    def description(self) -> str:
        """The end of the phrase "rows are ..." for related rows."""
        within = ByTime.of(self.rule).within_name
        same = f"of the same {within} " if within else ""
        verb = "preceded" if self.rule.earliest else "followed"
        return f"{verb} by train rows {same}in {self.rule.column!r}"

    def is_related(self, rows: Positions, rest: Positions | None = None) -> Mask:
        """Return for each row whether the rest has later rows."""
        among = self.pool.train if rest is None else rest
        if self.within is None:
            last = np.nanquantile(self.times[among], _LAST)
            return np.asarray(self.times[rows] < last)
        lasts = np.full(self.within.max() + 1, -np.inf)
        np.maximum.at(lasts, self.within[among], self.times[among])
        return np.asarray(self.times[rows] < lasts[self.within[rows]])

    def shared_periods(self) -> tuple[int, float]:
        """Return how many periods or groups train has, and the share of test rows within them."""
        if self.within is None:
            return 1, 1.0
        known = np.unique(self.within[self.pool.train])
        return len(known), float(np.isin(self.within[self.pool.test], known).mean())


class NearestNeighbour:
    """A row is related to rows within a radius, over numeric columns."""

    def __init__(
        self,
        pool: PooledRows,
        rule: SplitRule,
        *,
        nth: int = 1,
        is_guessed: bool = False,
        fit: "Callable[[NearestNeighbour], SplitRule | None] | None" = None,
    ) -> None:
        """Scale the rule's columns by their standard deviation in train.

        Distances are to the `nth` point, of distinct ones beyond the first. With `is_guessed`, the
        columns are coordinates by their values alone. `fit` returns the rule to split by.
        """
        points = np.column_stack([pool.numbers(name) for name in rule.columns])
        spread = np.nanstd(points[pool.train], axis=0)
        self.pool, self.rule, self.is_guessed = pool, rule, is_guessed
        self.radius = 0.0
        self._nth, self._fit = nth, fit
        self._points = points / np.where(spread > 0, spread, 1.0)

    def fitted_rule(self) -> SplitRule | None:
        """Return the rule whose validation rows are as far from the rest as test rows are from train."""
        return self.rule if self._fit is None else self._fit(self)

    @cached_property
    def train_distances(self) -> Numbers:
        """The distances of a sample of train rows to the nearest other row of train."""
        return self.distances(self.pool.sample(self.pool.train))

    @cached_property
    def test_distances(self) -> Numbers:
        """The distances of a sample of test rows to the nearest row of train."""
        return self.distances(self.pool.sample(self.pool.test), self.pool.train)

    @property
    def description(self) -> str:
        """The end of the phrase "rows are ..." for related rows."""
        return Grouping.of(self.rule).related

    def is_related(self, rows: Positions, rest: Positions | None = None) -> Mask:
        """Return for each row whether the rest has a row within the radius."""
        return np.asarray(self.distances(rows, rest) <= self.radius)

    def distances(self, rows: Positions, rest: Positions | None = None) -> Numbers:
        """Return the distance of each row to its nearest row of the rest; infinite for NaN."""
        from scipy.spatial import cKDTree

        among = self.pool.train if rest is None else rest
        if self._nth > 1:  # a sample shows the density, too
            among = self.pool.sample(among, _MOST_PLACES)
            among = among if rest is not None else np.union1d(among, rows)
        points = self._points[among]
        points = points[np.isfinite(points).all(axis=1)]
        if self._nth > 1:
            points = np.unique(points, axis=0)
        finite = np.isfinite(self._points[rows]).all(axis=1)
        nearest = np.full(len(rows), np.inf)
        if len(points) > self._nth and finite.any():
            k = self._nth if rest is not None else self._nth + 1  # the first is the row itself
            found, _ = cKDTree(points).query(self._points[rows[finite]], k=[k], p=np.inf)
            nearest[finite] = found[:, 0]
        return nearest

    def fit_radius(self) -> float:
        """Set the radius at which the distances of train and test differ most; return the difference.

        It is the one-sided Kolmogorov-Smirnov statistic of the distances to the nearest train row: how
        much larger the share of train rows within the radius is than that of test rows.
        """
        each = self.train_distances, self.test_distances
        train, test = (np.sort(distances[np.isfinite(distances)]) for distances in each)
        if not len(train) or not len(test):
            return 0.0
        of_test = np.searchsorted(test, train, "right")
        ahead = np.arange(1, len(train) + 1) / len(train) - of_test / len(test)
        at = int(ahead.argmax())
        beyond = test[of_test[at] :]
        far = float(np.quantile(beyond, _EDGE)) if len(beyond) else train[at]
        self.radius = float(np.sqrt(train[at] * far)) if 0 < train[at] < far else float(train[at])
        return float(ahead[at])


def rounded_up(value: float) -> float:
    """Round up to three significant digits, as the value is stored."""
    if not value > 0:
        return 1.0
    step = 10.0 ** (np.floor(np.log10(value)) - _DIGITS + 1)
    return float(f"{np.ceil(value / step) * step:.3g}")
