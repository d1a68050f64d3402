"""Compute statistics of each column of a table over all rows, in few queries."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from comind.profile.duckdb_tables import Column, ColumnType, Database, Table
from comind.profile.formatting import cell

_QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)

_C = TypeVar("_C", bound=Column)

_FREQUENT = 20
_AT_ONCE = 100
VALUES_AT_ONCE = 1 << 24
"""Maximum number of values held in memory for exact quantiles."""
_GROUPED = 3_000_000
"""With more distinct values, the approximate count is kept."""
_FEW, _MANY_ROWS = 100, 100_000
"""In tables with many rows, values of floats are counted only if few are distinct."""
_LEAST_ALIKE = 4
_COUNTED = 300
_WIDE, _COUNTED_OF_WIDE = 1_000, 50
"""Queries on very wide tables are slow, however few columns they select."""
_LOOKED_AT = 1_000
_FEW_VALUES = 12
"""Up to so many values, the shares of each are compared."""
_NOTABLE = 0.05
"""Differences in shares above this are notable."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ColumnStats(Column):
    """Statistics of one column of one table."""

    rows: int
    present: int
    low: Any
    """The minimum; text is ordered by characters."""
    high: Any
    distinct: int
    exact: bool = False
    """Whether `distinct` is exact, not estimated."""
    mean: float = 0.0
    """Of numbers; otherwise 0."""
    quantiles: tuple[float, ...] = ()
    """Of numbers or of text lengths, at `_QUANTILES`; empty if all cells are missing."""
    frequent: tuple[tuple[str, int], ...] = ()
    """The most frequent values with their numbers of rows, most frequent first."""
    median_rows: int = 0
    """Median number of rows per value."""
    max_rows: int = 0
    """Maximum number of rows per value."""
    min_rows: int = 0
    """Minimum number of rows per value."""
    first: str = ""
    """The first non-empty cell; text only."""
    numeric: int = 0
    """Number of text cells that parse as numbers; 0 if they are rare."""

    @property
    def missing(self) -> int:
        """Number of missing cells."""
        return self.rows - self.present

    @property
    def constant(self) -> bool:
        """Whether all cells are equal or all are missing."""
        return self.present == 0 or (self.missing == 0 and self.low == self.high)

    @property
    def all_different(self) -> bool:
        """Whether no value occurs twice."""
        return self.exact and self.present > 1 and self.distinct == self.present

    @property
    def median(self) -> float:
        """The median of numbers, or of text lengths."""
        return self.quantiles[_QUANTILES.index(0.5)]

    @property
    def mostly_numbers(self) -> bool:
        """Whether it is text of which at least half of the cells are numbers."""
        return self.type is ColumnType.TEXT and bool(self.present) and 2 * self.numeric >= self.present

    @property
    def is_class(self) -> bool:
        """Whether values occur in several rows each."""
        return self.exact and not self.all_different and self.distinct > 1

    def frequent_above(self, share: float, most: int) -> Sequence[tuple[str, int]]:
        """Return at most `most` values with at least this share of the rows, and at least one value."""
        some = self.frequent[:most]
        return [pair for pair in some if pair[1] >= share * self.rows] or some[:1]

    def differences(self, other: "ColumnStats") -> "Differences":
        """Find what is notable of the same column in another partition."""
        if not other.present:
            return Differences(emptied=self.present > 0)
        gap = abs(other.missing / other.rows - self.missing / max(1, self.rows))
        found = Differences(
            retyped=other.type.is_number != self.type.is_number,
            missing=gap > _NOTABLE or bool(other.missing) > bool(self.missing),
        )
        if other.type.is_time and self.type.is_time:
            return replace(found, span=True)
        few = self.exact and self.distinct <= _FEW_VALUES
        if few or not (self.type.is_number and other.type.is_number and self.present):
            return replace(found, shares=self._other_shares(other) if few and other.exact else ())
        wide = self.quantiles[-1] - self.quantiles[0]
        room = (self.high - self.low) / 2
        return replace(
            found,
            median=abs(other.median - self.median) > wide / 10,
            range=other.low < self.low - room or other.high > self.high + room,
        )

    def _other_shares(self, other: "ColumnStats") -> tuple[tuple[str, int], ...]:
        """Return the values of another partition, with their rows there, that differ in frequency."""
        known = {cell(value, self.type): rows / self.rows for value, rows in self.frequent}
        found = {cell(value, other.type): rows for value, rows in other.frequent}
        if other.distinct <= len(found):
            found |= {value: 0 for value in known if value not in found}
        return tuple(
            (value, rows)
            for value, rows in found.items()
            if abs(rows / other.rows - known.get(value, 0)) > _NOTABLE
        )


@dataclass(frozen=True, slots=True)
class Differences:
    """What is notable of a column in another partition."""

    emptied: bool = False
    retyped: bool = False
    """Whether it is text instead of numbers, or numbers instead of text."""
    missing: bool = False
    span: bool = False
    median: bool = False
    range: bool = False
    shares: tuple[tuple[str, int], ...] = ()
    """Values as they are shown, with their numbers of rows."""


def similar(columns: Iterable[_C]) -> list[tuple[_C, ...]]:
    """Group columns of one type whose names differ only in digits; the others form groups of one.

    Groups are ordered by their first columns; those with fewer than four columns are split up.
    """
    groups: dict[tuple[str, ColumnType], list[_C]] = {}
    for column in columns:
        stem = _NUMBER.sub("#", column.name)
        key = stem if stem != column.name else f"={column.name}"
        groups.setdefault((key, column.type), []).append(column)
    return [
        group
        for found in groups.values()
        for group in ([tuple(found)] if len(found) >= _LEAST_ALIKE else [(each,) for each in found])
    ]


def compute_statistics(
    database: Database, table: Table, always: Sequence[str] = ()
) -> tuple[ColumnStats, ...]:
    """Compute the statistics of each column of a table.

    Values are counted for the columns named by `always` and for the first dissimilar ones; the others
    get basic statistics only.

    Raises:
        CompetitionError: memory or disk space ran out.
    """
    single = _counted(table.columns)
    many = max(_AT_ONCE, len(table.columns) // 10)
    outlines = [
        stats
        for part in _batches(table.columns, many)
        for stats in _basic_statistics(database, table, part)
    ]
    at_once = max(1, min(many, VALUES_AT_ONCE // max(1, table.rows)))
    quantiles: dict[str, tuple[float, ...]] = {}
    for batch in _batches(outlines, at_once):
        quantiles |= _quantiles(database, table, batch)
    whole = (replace(stats, quantiles=quantiles[stats.key]) for stats in outlines)
    return tuple(
        _add_value_counts(database, table, stats)
        if stats.key in single or stats.name in always
        else stats
        for stats in whole
    )


def _counted(columns: Sequence[Column]) -> list[str]:
    """Return the keys of the first dissimilar columns."""
    single = [group[0].key for group in similar(columns) if len(group) == 1]
    return single[: _COUNTED if len(columns) < _WIDE else _COUNTED_OF_WIDE]


def _batches(columns: Sequence[_C], size: int) -> Iterator[Sequence[_C]]:
    for start in range(0, len(columns), size):
        yield columns[start : start + size]


def _basic_statistics(
    database: Database, table: Table, columns: Sequence[Column]
) -> Iterator[ColumnStats]:
    wanted = []
    for column in columns:
        key = column.key
        wanted += [f"count({key})", f"approx_count_distinct({key})", f"min({key})", f"max({key})"]
        wanted.append(f"arg_min({key}, rowid)" if column.type is ColumnType.TEXT else "''")
        wanted.append(f"favg({key})" if column.type.is_number else "NULL")
    [row] = database.query(f"SELECT {', '.join(wanted)} FROM {table.key}")
    for number, column in enumerate(columns):
        present, distinct, low, high, first, mean = row[6 * number : 6 * number + 6]
        yield ColumnStats(
            name=column.name,
            key=column.key,
            type=column.type,
            rows=table.rows,
            present=present,
            low=low,
            high=high,
            distinct=min(distinct, present),
            first=first or "",
            mean=mean or 0.0,
        )


def _quantiles(
    database: Database, table: Table, columns: Sequence[ColumnStats]
) -> dict[str, tuple[float, ...]]:
    """Return the quantiles of columns by their keys; above `VALUES_AT_ONCE` rows, of a sample.

    The sample is selected by a hash of the row number, so it is reproducible.
    """
    wanted = []
    for stats in columns:
        key, column_type = stats.key, stats.type
        value = f"length({key})" if column_type is ColumnType.TEXT else key
        each = -(-stats.present // VALUES_AT_ONCE)
        part = f"FILTER (WHERE hash(rowid) % {each} = 0)" if each > 1 else ""
        wanted.append(
            "NULL" if column_type.is_time else f"quantile_disc({value}, {list(_QUANTILES)}) {part}"
        )
    [row] = database.query(f"SELECT {', '.join(wanted)} FROM {table.key}")
    return {stats.key: tuple(found or ()) for stats, found in zip(columns, row, strict=True)}


def _add_value_counts(database: Database, table: Table, stats: ColumnStats) -> ColumnStats:
    """Count the rows of each value, unless there are too many or they are continuous."""
    key, column_type = stats.key, stats.type
    many = stats.distinct > _FEW and stats.rows > _MANY_ROWS
    if (column_type is ColumnType.NUMBER and many) or stats.distinct > _GROUPED or not stats.present:
        return stats
    [(distinct, median_rows, max_rows, min_rows, frequent)] = database.query(
        f"WITH v AS (SELECT {key} AS value, count(*) AS n FROM {table.key} "
        f"WHERE {key} IS NOT NULL GROUP BY value) "
        "SELECT count(*), quantile_disc(n, 0.5), max(n), min(n), "
        "(SELECT list((value::VARCHAR, n) ORDER BY n DESC, value) FROM "
        f"(SELECT * FROM v ORDER BY n DESC, value LIMIT {_FREQUENT})) FROM v"
    )
    return replace(
        stats,
        distinct=distinct,
        exact=True,
        median_rows=median_rows,
        max_rows=max_rows,
        min_rows=min_rows,
        frequent=tuple(tuple(pair) for pair in frequent),
        numeric=_count_numeric(database, table, key) if column_type is ColumnType.TEXT else 0,
    )


def _count_numeric(database: Database, table: Table, key: str) -> int:
    """Count text cells that parse as numbers; 0 if less than half of the first rows do."""
    parsed = f"count(TRY_CAST({key} AS DOUBLE))"
    [(some,)] = database.query(
        f"SELECT {parsed} FROM "
        f"(SELECT {key} FROM {table.key} WHERE {key} IS NOT NULL LIMIT {_LOOKED_AT})"
    )
    if 2 * some < min(_LOOKED_AT, table.rows):
        return 0
    return int(database.query(f"SELECT {parsed} FROM {table.key}")[0][0])
