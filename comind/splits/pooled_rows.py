"""The rows of train and test together, and relations between them."""

from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import SplitRule, join_names
from comind.splits.times import counts_time
from comind.tables.dates import are_like_dates, parse_dates, without_few_missing
from comind.tables.unified_cells import unify

Positions = npt.NDArray[np.intp]
"""Row positions in the pool, shape (rows,)."""
Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

MOST_SEPARATED = 0.02
"""Largest share of related test rows where a relation separated them; above 0, as ids have errors."""
LEAST_RELATED = 0.3
"""Share of related train rows from which on a relation is informative."""
MOSTLY, NEARLY_ALL = 0.5, 0.98
"""Shares of cells."""
MOST_MEASURED = 4_000
"""Rows that are measured, sampled of more; the rows that they are compared with are not sampled."""
_SAMPLED_CELLS, _MOST_EMPTY = 500, 0.02
_LEAST_ROWS = 20
_MOST_COLUMNS = 400
_CONTINUOUS = 0.3  # share of distinct cells in the sample


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
        self.unified: dict[str, str] = {}
        """What was unified to compare a column of train and test."""
        self._columns: dict[str, pd.Series[str]] = {}
        self._cells: dict[str, pd.Series[str]] = {}
        self._numbers: dict[str, Numbers] = {}
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
            one, other, note = unify(*(table[name] for table in self._tables))
            if note:
                self.unified[name] = note
            self._columns[name] = pd.concat([one, other], ignore_index=True).str.strip()
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
        return are_like_dates(cells) and without_few_missing(parse_dates(cells).times) is not None

    def numbers(self, name: str) -> Numbers:
        """Return a column as numbers; NaN for other cells."""
        if name not in self._numbers:
            self._numbers[name] = numeric_columns(self.table((name,)), (name,))[:, 0]
        return self._numbers[name]

    def timestamps(self, name: str) -> "npt.NDArray[np.datetime64]":
        """Return a column as UTC times, the earliest in place of a few other cells, NaT of many."""
        if name not in self._timestamps:
            found = parse_dates(self.column(name)).times
            filled = without_few_missing(found)
            times = (found if filled is None else filled).dt.tz_localize(None)
            self._timestamps[name] = times.to_numpy("datetime64[ns]")
        return self._timestamps[name]

    def table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        """Return columns of the pool."""
        return pd.DataFrame({name: self.column(name) for name in columns})

    def train_table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        """Return columns of train.csv unchanged, including those that test.csv lacks."""
        return self._tables[0][list(columns)]

    def sample(self, rows: Positions, most: int = MOST_MEASURED) -> Positions:
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

    @cached_property
    def columns_of_text(self) -> tuple[str, ...]:
        """The columns of neither times nor numbers."""
        return tuple(
            name for name in self.columns if not self.is_datetime(name) and not self.is_numeric(name)
        )

    @cached_property
    def continuous_columns(self) -> tuple[str, ...]:
        """The continuous columns, the most distinct values first; neither times nor row numbers."""
        found: dict[str, int] = {}
        for name in self.columns:
            if name in self.ids or not self.is_full(name) or not self.is_numeric(name):
                continue
            numbers = pd.to_numeric(self.sample_cells(name))
            if _is_row_number(numbers) or counts_time(name, numbers, is_id=False):
                continue
            if numbers.nunique() >= _CONTINUOUS * len(numbers):
                found[name] = numbers.nunique()
        return tuple(sorted(found, key=lambda name: -found[name]))

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The columns on which rows can be compared: neither ids nor row numbers."""
        return tuple(
            name
            for name in self.columns
            if name not in self.ids
            and not (self.is_numeric(name) and _is_row_number(pd.to_numeric(self.sample_cells(name))))
        )


class Relation(Protocol):
    """A relation between rows; its `rule` holds out rows that are not related to the rest.

    After a random test split, test rows are related to train as often as train rows are to each other; a
    lower share means that they were separated by this relation.
    """

    pool: PooledRows
    rule: SplitRule

    @property
    def description(self) -> str:
        """The end of the phrase "rows are ..." for related rows."""

    def is_related(self, rows: Positions, rest: Positions | None = None) -> Mask:
        """Return for each row whether it is related to the rest, by default to another row of train."""


def related_share(relation: Relation, rows: Positions, rest: Positions | None = None) -> float:
    """Return the share of rows, sampled, related to `rest`, by default to the other rows of train."""
    related = relation.is_related(relation.pool.sample(rows), rest)
    return float(related.mean()) if len(related) else 0.0


def _sample_by_hash(rows: Positions, most: int) -> Positions:
    """Return the rows with the least hashes, ascending; SplitMix64, which needs integers alone."""
    mixed = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.sort(rows[np.argpartition(mixed, most)[:most]])


def numeric_columns(table: pd.DataFrame, columns: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Return columns as numbers, shape (rows, columns); NaN for other cells and infinity."""
    parsed = [pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64) for name in columns]
    numbers = np.column_stack(parsed)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _is_row_number(numbers: "pd.Series[float]") -> bool:
    """Return whether all are different whole numbers."""
    return bool((numbers == numbers.round()).all()) and numbers.is_unique and len(numbers) > 1


def quoted(names: tuple[str, ...]) -> str:
    """Return the first names in quotes, and the number of the others."""
    return join_names([repr(name) for name in names])
