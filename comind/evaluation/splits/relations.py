"""Ways in which a row can stand near the rows to learn from: of one group, with later rows, nearby.

Each answers for any rows: how many of them stand so to the rest? A random test set stands to train as a
row of train does to all others; where the test rows stand otherwise, they were set apart by this.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import PERIODS, SplitRule, listed
from comind.evaluation.splits.groups import id_parts, id_tokens, numeric_columns, parse_times, row_groups

__all__ = [
    "FollowedInTime",
    "NearestNeighbour",
    "PooledRows",
    "Positions",
    "Relation",
    "SameGroup",
    "near",
    "share",
]

Positions = npt.NDArray[np.intp]
"""Positions in the pool."""

_MOST_ROWS = 4_000  # of a part that is asked about; all rows that they may be near to are looked at
_SEEN, _GAPS = 500, 0.02
_LEAST_ROWS = 20
_SURROUNDED = 5
_MOST_COLUMNS = 400
_MOST_PLACES = 50_000
_LAST = 0.99  # of the rest; what comes after this share of it comes last


class PooledRows:
    """The rows of train.csv, then those of test.csv, in the columns that both have; text cells.

    Of very many columns the first few hundred are looked at.
    """

    def __init__(self, train: pd.DataFrame, test: pd.DataFrame, ids: tuple[str, ...]) -> None:
        """Keep the two tables, whose columns have the same names; `ids` are among these names."""
        self.ids = ids
        shared = [name for name in test.columns if name in train.columns]
        own = [name for name in shared if name in ids]
        self.columns = (*own, *[name for name in shared if name not in ids][:_MOST_COLUMNS])
        self._tables = train, test
        self._read: dict[str, pd.Series[str]] = {}
        self._seen: dict[str, pd.Series[str]] = {}
        self._numbers: dict[str, npt.NDArray[np.float64]] = {}
        self._stamps: dict[str, npt.NDArray[np.datetime64]] = {}
        self._tokens: dict[str, pd.Series[Any]] = {}
        self._samples: dict[tuple[bool, int], Positions] = {}
        self.train: Positions = np.arange(len(train))
        self.test: Positions = np.arange(len(train), len(train) + len(test))

    @property
    def tells(self) -> bool:
        """Whether there are enough rows to compare."""
        return min(len(self.train), len(self.test)) >= _LEAST_ROWS

    def __len__(self) -> int:
        return len(self.train) + len(self.test)

    def column(self, name: str) -> "pd.Series[str]":
        """Return a column, stripped of blanks."""
        if name not in self._read:
            both = [table[name] for table in self._tables]
            self._read[name] = pd.concat(both, ignore_index=True).str.strip()
        return self._read[name]

    def seen(self, name: str) -> "pd.Series[str]":
        """Return some cells of a column in train, without the empty ones: they tell what it is."""
        if name not in self._seen:
            cells = self.column(name).iloc[self.some(self.train, _SEEN)]
            self._seen[name] = cells[cells != ""]
        return self._seen[name]

    def is_number(self, name: str) -> bool:
        """Whether the cells of a column are numbers, as far as one sees."""
        seen = self.seen(name)
        return bool(len(seen)) and bool(pd.to_numeric(seen, errors="coerce").notna().all())

    def is_full(self, name: str) -> bool:
        """Whether hardly a cell of a column is empty, as far as one sees."""
        return len(self.seen(name)) >= (1 - _GAPS) * min(_SEEN, len(self.train))

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Return a column as numbers; what is none is not a number."""
        if name not in self._numbers:
            self._numbers[name] = numeric_columns(self.table((name,)), (name,))[:, 0]
        return self._numbers[name]

    def holds_times(self, name: str) -> bool:
        """Whether the cells of a column are dates or times, as far as one sees."""
        seen = self.seen(name)
        if not len(seen) or not seen.str.contains(r"\d[-/:]\d", regex=True).all():
            return False
        return bool(parse_times(seen).notna().all())

    def stamps(self, name: str) -> "npt.NDArray[np.datetime64]":
        """Return a column as times in UTC; what is none is not a time."""
        if name not in self._stamps:
            times = parse_times(self.column(name)).dt.tz_localize(None)
            self._stamps[name] = times.to_numpy("datetime64[ns]")
        return self._stamps[name]

    def tokens(self, name: str) -> "pd.Series[Any]":
        """Return the parts of each cell of a column of composite ids."""
        if name not in self._tokens:
            self._tokens = {name: id_tokens(self.column(name))}  # one at a time: they are large
        return self._tokens[name]

    def table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        """Return some columns."""
        return pd.DataFrame({name: self.column(name) for name in columns})

    def train_table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        """Return some columns of train.csv as they are, also such as test.csv lacks."""
        return self._tables[0][list(columns)]

    def some(self, rows: Positions, most: int = _MOST_ROWS) -> Positions:
        """Return at most so many of these rows, always the same ones."""
        if len(rows) <= most:
            return rows
        if rows is not self.train and rows is not self.test:
            return _sampled(rows, most)
        which = (rows is self.train, most)
        if which not in self._samples:
            self._samples[which] = _sampled(rows, most)
        return self._samples[which]

    def others(self, rows: Positions) -> Positions:
        """Return the rows of train that are not among these."""
        return np.setdiff1d(self.train, rows, assume_unique=True)


def _sampled(rows: Positions, most: int) -> Positions:
    """Return the rows with the least hashes, ascending; SplitMix64, which is whole numbers alone."""
    mixed = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.sort(rows[np.argpartition(mixed, most)[:most]])


class Relation(Protocol):
    """A way to stand near; `rule` is the split that leaves no validation row so."""

    @property
    def pool(self) -> PooledRows:
        """The rows."""
        ...

    @property
    def rule(self) -> SplitRule:
        """What parts rows that stand so to each other."""
        ...

    @property
    def told(self) -> str:
        """What rows that stand so are, in words that follow upon "rows are"."""
        ...

    def is_related(self, rows: Positions, rest: Positions | None = None) -> npt.NDArray[np.bool_]:
        """Say of each row whether it stands so to the rest; to all other rows of train without one."""
        ...


def share(relation: Relation, pool: PooledRows, rows: Positions, rest: Positions | None = None) -> float:
    """Return the share of rows that stand so to the rest; of some of them, where there are many."""
    is_related = relation.is_related(pool.some(rows), rest)
    return float(is_related.mean()) if len(is_related) else 0.0


@dataclass(eq=False)
class SameGroup:
    """A row is of a group that the rest has rows of."""

    pool: PooledRows
    rule: SplitRule

    @property
    def told(self) -> str:
        """What rows that stand so are."""
        if self.rule.by == "twins":
            return f"twins of train rows, equal in {_quoted(self.rule.columns)}"
        return f"of {self.rule.groups} that have other rows in train"

    @cached_property
    def groups(self) -> "pd.Series[str]":
        """The group of each row of the pool."""
        if self.rule.by is None:
            return self.pool.column(str(self.rule.column))
        if self.rule.by == "parts":
            return id_parts(self.pool.tokens(str(self.rule.column)), self.rule.parts)
        return row_groups(self.pool.table(self.rule.used_columns), self.rule)

    def is_related(self, rows: Positions, rest: Positions | None = None) -> npt.NDArray[np.bool_]:
        """Say of each row whether the rest has its group; an empty cell is no group."""
        asked = self.groups.iloc[rows]
        if rest is None or rest is self.pool.train:
            among = self.groups.iloc[: len(self.pool.train)]  # in one piece: many times as fast
        else:
            among = self.groups.iloc[rest]
        found = among[among.isin(asked.unique())]
        if rest is None:
            times = found.value_counts()
            is_related = asked.isin(times[times > 1].index)
        else:
            is_related = asked.isin(found.unique())
        return (is_related & (asked != "")).to_numpy(np.bool_)

    @cached_property
    def sizes(self) -> "pd.Series[int]":
        """How many rows of train each group has, the largest first."""
        groups = self.groups.iloc[self.pool.train]
        return groups[groups != ""].value_counts()


@dataclass(eq=False)
class FollowedInTime:
    """The rest has later rows, or later ones of the same month or group."""

    pool: PooledRows
    rule: SplitRule
    moments: npt.NDArray[np.float64]
    """The time of each row of the pool, in any unit."""
    in_days: bool
    """Whether that unit is a day; else the times are plain numbers."""
    within: npt.NDArray[np.intp] | None = None
    """The number of the stretch or group that each row is in, where the rule names one."""

    @property
    def told(self) -> str:
        """What rows that stand so are."""
        if self.rule.within is None:
            return f"followed by train rows in {self.rule.column!r}"
        one = self.rule.within if self.rule.within in PERIODS else repr(self.rule.within)
        return f"followed by train rows of the same {one} in {self.rule.column!r}"

    def is_related(self, rows: Positions, rest: Positions | None = None) -> npt.NDArray[np.bool_]:
        """Say of each row whether rows of the rest come later."""
        among = self.pool.train if rest is None else rest
        if self.within is None:
            last = np.nanquantile(self.moments[among], _LAST)
            return np.asarray(self.moments[rows] < last)
        lasts = np.full(self.within.max() + 1, -np.inf)
        np.maximum.at(lasts, self.within[among], self.moments[among])
        return np.asarray(self.moments[rows] < lasts[self.within[rows]])

    def shared(self) -> tuple[int, float]:
        """Return how many stretches or groups train has, and the share of test rows that are in them."""
        if self.within is None:
            return 1, 1.0
        known = np.unique(self.within[self.pool.train])
        return len(known), float(np.isin(self.within[self.pool.test], known).mean())


@dataclass(eq=False)
class NearestNeighbour:
    """The rest has a row nearby, over some columns of numbers."""

    pool: PooledRows
    rule: SplitRule
    points: npt.NDArray[np.float64]
    """Where each row of the pool lies; units such that each column counts the same."""
    guessed: bool = False
    """Whether nothing but the numbers says that these columns are coordinates."""
    radius: float = 0.0

    @cached_property
    def apart(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """How far rows of train lie from the others of train, and test rows from train; of some rows."""
        pool = self.pool
        test = self.distances(pool.some(pool.test), pool.train)
        return self.distances(pool.some(pool.train)), test

    @property
    def told(self) -> str:
        """What rows that stand so are."""
        where = _quoted(self.rule.columns)
        if self.rule.by == "place":
            return f"as near to a train row in {where} as train rows are to each other"
        return f"twins of train rows, nearly equal in {where}"

    def is_related(self, rows: Positions, rest: Positions | None = None) -> npt.NDArray[np.bool_]:
        """Say of each row whether the rest has one within the radius."""
        return np.asarray(self.distances(rows, rest) <= self.radius)

    def distances(self, rows: Positions, rest: Positions | None = None) -> npt.NDArray[np.float64]:
        """Return how far the nearest row of the rest is; infinite for a row without a place.

        Of a place it is the fifth nearest, so that a few rows in one spot do not count as surroundings.
        """
        from scipy.spatial import cKDTree

        among = self.pool.train if rest is None else rest
        if self.rule.by == "place":  # how dense they lie shows in some of them, too
            among = self.pool.some(among, _MOST_PLACES)
            among = among if rest is not None else np.union1d(among, rows)
        points = self.points[among]
        points = points[np.isfinite(points).all(axis=1)]
        if self.rule.by == "place":
            points = np.unique(points, axis=0)  # what lies at one place counts once
        asked = np.isfinite(self.points[rows]).all(axis=1)
        nearest = np.full(len(rows), np.inf)
        neighbour = _SURROUNDED if self.rule.by == "place" else 1
        if len(points) > neighbour and asked.any():
            which = neighbour if rest is not None else neighbour + 1  # among its own a row is the first
            found, _ = cKDTree(points).query(self.points[rows[asked]], k=[which], p=np.inf)
            nearest[asked] = found[:, 0]
        return nearest


def near(pool: PooledRows, rule: SplitRule, *, guessed: bool = False) -> NearestNeighbour:
    """Return nearness over the rule's columns, each in units of its spread in train."""
    points = np.column_stack([pool.numbers(name) for name in rule.columns])
    spread = np.nanstd(points[pool.train], axis=0)
    return NearestNeighbour(pool, rule, points / np.where(spread > 0, spread, 1.0), guessed)


def _quoted(names: tuple[str, ...]) -> str:
    return listed([repr(name) for name in names])
