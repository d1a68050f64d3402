"""Relations that may link a row to the training rows: same group, later rows, nearest neighbours.

A relation says which rows of any sample are related to the rest. After a random test split, test
rows are related to train as often as train rows are to each other; a lower share means that they were
separated by this relation.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import SplitRule, join_names
from comind.splits.groups import numeric_columns, parse_times, row_groups

Positions = npt.NDArray[np.intp]
"""Row positions in the pool, shape (rows,)."""
GroupNumbers = npt.NDArray[np.int32] | npt.NDArray[np.intp]
"""The number of each row's group, shape (rows,)."""
_Numbers = npt.NDArray[np.float64]
_Mask = npt.NDArray[np.bool_]

_MOST_ROWS = 4_000  # sampled of the rows measured; the reference set is not sampled
_SAMPLED_CELLS, _MOST_EMPTY = 500, 0.02
_LEAST_ROWS = 20
_NEIGHBOUR = 5  # of coordinates
_MOST_COLUMNS = 400
_MOST_PLACES = 50_000
_LAST = 0.99  # quantile of reference times from which on a row counts as last


class PooledRows:
    """The rows of train.csv followed by those of test.csv, in their shared columns; text cells.

    Columns beyond the first few hundred are ignored.
    """

    def __init__(self, train: pd.DataFrame, test: pd.DataFrame, ids: tuple[str, ...]) -> None:
        """Store two tables with the same column names; `ids` are the id columns among them."""
        self.ids = ids
        shared = [name for name in test.columns if name in train.columns]
        own = [name for name in shared if name in ids]
        self.columns = (*own, *[name for name in shared if name not in ids][:_MOST_COLUMNS])
        self._tables = train, test
        self._columns: dict[str, pd.Series[str]] = {}
        self._cells: dict[str, pd.Series[str]] = {}
        self._numbers: dict[str, _Numbers] = {}
        self._timestamps: dict[str, npt.NDArray[np.datetime64]] = {}
        self._samples: dict[tuple[bool, int], Positions] = {}
        self.train: Positions = np.arange(len(train))
        self.test: Positions = np.arange(len(train), len(train) + len(test))

    @property
    def is_large_enough(self) -> bool:
        """Whether both tables have enough rows to compare."""
        return min(len(self.train), len(self.test)) >= _LEAST_ROWS

    def __len__(self) -> int:
        return len(self.train) + len(self.test)

    def column(self, name: str) -> "pd.Series[str]":
        """Return a column, stripped of whitespace."""
        if name not in self._columns:
            both = [table[name] for table in self._tables]
            self._columns[name] = pd.concat(both, ignore_index=True).str.strip()
        return self._columns[name]

    def sample_cells(self, name: str) -> "pd.Series[str]":
        """Return a sample of a column's non-empty cells in train, to infer its type from."""
        if name not in self._cells:
            cells = self.column(name).iloc[self.sample(self.train, _SAMPLED_CELLS)]
            self._cells[name] = cells[cells != ""]
        return self._cells[name]

    def is_numeric(self, name: str) -> bool:
        """Whether the sampled cells of a column are numbers."""
        cells = self.sample_cells(name)
        return bool(len(cells)) and bool(pd.to_numeric(cells, errors="coerce").notna().all())

    def is_full(self, name: str) -> bool:
        """Whether at most 2 % of the sampled cells of a column are empty."""
        sampled = min(_SAMPLED_CELLS, len(self.train))
        return len(self.sample_cells(name)) >= (1 - _MOST_EMPTY) * sampled

    def is_datetime(self, name: str) -> bool:
        """Whether the sampled cells of a column are dates or times."""
        cells = self.sample_cells(name)
        if not len(cells) or not cells.str.contains(r"\d[-/:]\d", regex=True).all():
            return False
        return bool(parse_times(cells).notna().all())

    def numbers(self, name: str) -> _Numbers:
        """Return a column as numbers; NaN for other cells."""
        if name not in self._numbers:
            self._numbers[name] = numeric_columns(self.table((name,)), (name,))[:, 0]
        return self._numbers[name]

    def timestamps(self, name: str) -> "npt.NDArray[np.datetime64]":
        """Return a column as UTC times; NaT for other cells."""
        if name not in self._timestamps:
            times = parse_times(self.column(name)).dt.tz_localize(None)
            self._timestamps[name] = times.to_numpy("datetime64[ns]")
        return self._timestamps[name]

    def table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        """Return columns of the pool."""
        return pd.DataFrame({name: self.column(name) for name in columns})

    def train_table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        """Return columns of train.csv unchanged, including those that test.csv lacks."""
        return self._tables[0][list(columns)]

    def sample(self, rows: Positions, most: int = _MOST_ROWS) -> Positions:
        """Return at most `most` of the rows, the same ones on every call and machine."""
        if len(rows) <= most:
            return rows
        if rows is not self.train and rows is not self.test:
            return _sample_by_hash(rows, most)
        which = (rows is self.train, most)
        if which not in self._samples:
            self._samples[which] = _sample_by_hash(rows, most)
        return self._samples[which]

    def train_without(self, rows: Positions) -> Positions:
        """Return the rows of train except these."""
        return np.setdiff1d(self.train, rows, assume_unique=True)


def _sample_by_hash(rows: Positions, most: int) -> Positions:
    """Return the rows with the least hashes, ascending; SplitMix64, which needs integers alone."""
    mixed = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.sort(rows[np.argpartition(mixed, most)[:most]])


@dataclass(eq=False)
class SameGroup:
    """A row is related to rows of its own group."""

    pool: PooledRows
    rule: SplitRule

    @property
    def description(self) -> str:
        """Return what completes the phrase "rows are ..." for related rows."""
        if self.rule.by == "twins":
            return f"twins of train rows, equal in {_quoted(self.rule.columns)}"
        return f"of {self.rule.groups} that have other rows in train"

    @property
    def numbers(self) -> GroupNumbers:
        """The number of each row's group, by first appearance in the pool."""
        return self._numbered[0]

    @cached_property
    def _numbered(self) -> tuple[GroupNumbers, int]:
        """The numbers, and that of an empty cell or -1; the groups' names take ten times the memory."""
        numbers, names = pd.factorize(self._names())
        return numbers.astype(np.int32), int((names == "").argmax()) if (names == "").any() else -1

    def _names(self) -> "pd.Series[str]":
        if self.rule.by is None:
            return self.pool.column(str(self.rule.column))
        return row_groups(self.pool.table(self.rule.used_columns), self.rule)

    @cached_property
    def sizes(self) -> npt.NDArray[np.intp]:
        """Return the number of rows of train in each group, largest first, without empty groups."""
        numbers, empty = self._numbered
        numbers = numbers[self.pool.train]
        counts = np.bincount(numbers[numbers != empty])
        return np.sort(counts[counts > 0])[::-1]

    def is_related(self, rows: Positions, rest: Positions | None = None) -> _Mask:
        """Return for each row whether the rest has its group; an empty cell has none.

        Without `rest`, as in the other relations: whether another row of train has it.
        """
        numbers, empty = self._numbered
        asked, among = numbers[rows], numbers[self.pool.train if rest is None else rest]
        counts = np.bincount(among, minlength=int(numbers.max(initial=0)) + 1)
        return np.asarray((counts[asked] > (rest is None)) & (asked != empty))


@dataclass(eq=False)
class FollowedInTime:
    """A row is related to later rows, or to later rows of the same period or group."""

    pool: PooledRows
    rule: SplitRule
    times: _Numbers
    """The time of each row of the pool, in any unit."""
    in_days: bool
    """Whether that unit is a day; otherwise the column holds plain numbers."""
    within: GroupNumbers | None = None
    """The number of each row's period or group, where the rule names one."""

    @property
    def description(self) -> str:
        """Return a description of related rows."""
        if self.rule.within is None:
            return f"followed by train rows in {self.rule.column!r}"
        return f"followed by train rows of the same {self.rule.within_name} in {self.rule.column!r}"

    def is_related(self, rows: Positions, rest: Positions | None = None) -> _Mask:
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

    def __init__(self, pool: PooledRows, rule: SplitRule, *, guessed: bool = False) -> None:
        """Scale the rule's columns by their standard deviation in train.

        `guessed` says that the columns are coordinates by their values alone, not by their names.
        """
        points = np.column_stack([pool.numbers(name) for name in rule.columns])
        spread = np.nanstd(points[pool.train], axis=0)
        self.pool, self.rule, self.guessed = pool, rule, guessed
        self.radius = 0.0
        self._points = points / np.where(spread > 0, spread, 1.0)

    @cached_property
    def train_distances(self) -> _Numbers:
        """The distances of a sample of train rows to the nearest other row of train."""
        return self.distances(self.pool.sample(self.pool.train))

    @cached_property
    def test_distances(self) -> _Numbers:
        """The distances of a sample of test rows to the nearest row of train."""
        return self.distances(self.pool.sample(self.pool.test), self.pool.train)

    @property
    def description(self) -> str:
        """Return a description of related rows."""
        where = _quoted(self.rule.columns)
        if self.rule.by == "place":
            return f"as near to a train row in {where} as train rows are to each other"
        return f"twins of train rows, nearly equal in {where}"

    def is_related(self, rows: Positions, rest: Positions | None = None) -> _Mask:
        """Return for each row whether the rest has a row within the radius."""
        return np.asarray(self.distances(rows, rest) <= self.radius)

    def distances(self, rows: Positions, rest: Positions | None = None) -> _Numbers:
        """Return the distance of each row to its nearest row of the rest; infinite for NaN.

        Of coordinates it is the fifth nearest distinct point, so that a few rows in one spot do not
        count as surroundings.
        """
        from scipy.spatial import cKDTree

        among = self.pool.train if rest is None else rest
        if self.rule.by == "place":  # a sample shows the density, too
            among = self.pool.sample(among, _MOST_PLACES)
            among = among if rest is not None else np.union1d(among, rows)
        points = self._points[among]
        points = points[np.isfinite(points).all(axis=1)]
        if self.rule.by == "place":
            points = np.unique(points, axis=0)
        finite = np.isfinite(self._points[rows]).all(axis=1)
        nearest = np.full(len(rows), np.inf)
        neighbour = _NEIGHBOUR if self.rule.by == "place" else 1
        if len(points) > neighbour and finite.any():
            k = neighbour if rest is not None else neighbour + 1  # the first is the row itself
            found, _ = cKDTree(points).query(self._points[rows[finite]], k=[k], p=np.inf)
            nearest[finite] = found[:, 0]
        return nearest


Relation = SameGroup | FollowedInTime | NearestNeighbour
"""A relation between rows; its `rule` holds out rows that are not related to the rest."""


def related_share(relation: Relation, rows: Positions, rest: Positions | None = None) -> float:
    """Return the share of rows, sampled, related to `rest`, by default to the other rows of train."""
    related = relation.is_related(relation.pool.sample(rows), rest)
    return float(related.mean()) if len(related) else 0.0


def _quoted(names: tuple[str, ...]) -> str:
    return join_names([repr(name) for name in names])
