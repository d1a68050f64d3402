"""What is counted of each column of a table: all rows, a few queries for many columns at once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from comind.evaluation.data_profile.duckdb_tables import Column, Database, Kind, Table

__all__ = ["QUANTILES", "VALUES_AT_ONCE", "ColumnStatistics", "alike", "count_columns"]

QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)

_FREQUENT = 20
_AT_ONCE = 100
VALUES_AT_ONCE = 1 << 24
"""Values that are held in memory for exact quantiles."""
_GROUPED = 3_000_000
"""With more distinct values they are counted approximately."""
_FEW, _MANY_ROWS = 100, 100_000
"""Of many rows, floats are counted value by value only where there are few distinct ones."""
_LEAST_ALIKE = 4
_COUNTED = 300
_WIDE, _COUNTED_OF_WIDE = 1_000, 50
"""Of very many columns each query takes long, however few it is about."""
_LOOKED_AT = 1_000
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """What one column of one table holds."""

    column: Column
    rows: int
    present: int
    low: Any
    """The least number or moment; of text the least in the order of characters."""
    high: Any
    distinct: int
    exact: bool = False
    """Whether `distinct` was counted, not estimated."""
    mean: float = 0.0
    """Of numbers; else 0."""
    quantiles: tuple[float, ...] = ()
    """Of the numbers, or of the lengths of text, at `QUANTILES`; none where nothing is there."""
    frequent: tuple[tuple[str, int], ...] = ()
    """The most frequent values and in how many rows they stand, most frequent first."""
    usual: int = 0
    """In how many rows a value stands: the median over values."""
    most: int = 0
    """And the most."""
    least: int = 0
    """And the least."""
    first: str = ""
    """The first cell that is not empty; text only."""
    numeric: int = 0
    """How many cells of text can be read as numbers, where they are not rare."""

    @property
    def missing(self) -> int:
        """In how many rows the cell is empty."""
        return self.rows - self.present

    @property
    def constant(self) -> bool:
        """Whether every row has the same, be it a value or nothing."""
        return self.present == 0 or (self.missing == 0 and self.low == self.high)

    @property
    def all_different(self) -> bool:
        """Whether no value stands in two rows."""
        return self.exact and self.present > 1 and self.distinct == self.present


def alike(columns: Sequence[Column]) -> list[tuple[Column, ...]]:
    """Group columns of one kind whose names differ in their numbers alone; any other stands alone.

    The groups come in the order of their first columns; one of few columns is taken apart.
    """
    groups: dict[tuple[str, Kind], list[Column]] = {}
    for column in columns:
        stem = _NUMBER.sub("#", column.name)
        groups.setdefault((stem if stem != column.name else f"={column.name}", column.kind), []).append(
            column
        )
    return [
        group
        for found in groups.values()
        for group in ([tuple(found)] if len(found) >= _LEAST_ALIKE else [(each,) for each in found])
    ]


def count_columns(
    database: Database, table: Table, always: Sequence[str] = ()
) -> tuple[ColumnStatistics, ...]:
    """Return what each column of a table holds.

    Single values are counted of the columns named by `always`, and of the first ones that are like no
    others; of the rest the outline has to do.

    Raises:
        CompetitionError: there is no room for what that takes.
    """
    single = [group[0].key for group in alike(table.columns) if len(group) == 1]
    single = single[: _COUNTED if len(table.columns) < _WIDE else _COUNTED_OF_WIDE]
    many = max(_AT_ONCE, len(table.columns) // 10)
    outlines = [facts for part in _parts(table, many) for facts in _outlines(database, table, part)]
    at_once = max(1, min(many, VALUES_AT_ONCE // max(1, table.rows)))
    quantiles: dict[str, tuple[float, ...]] = {}
    for start in range(0, len(outlines), at_once):
        quantiles |= _quantiles(database, table, outlines[start : start + at_once])
    whole = (replace(facts, quantiles=quantiles[facts.column.key]) for facts in outlines)
    return tuple(
        _with_values(database, table, facts)
        if facts.column.key in single or facts.column.name in always
        else facts
        for facts in whole
    )


def _parts(table: Table, columns: int) -> Iterator[tuple[Column, ...]]:
    for start in range(0, len(table.columns), columns):
        yield table.columns[start : start + columns]


def _outlines(
    database: Database, table: Table, columns: tuple[Column, ...]
) -> Iterator[ColumnStatistics]:
    wanted = []
    for column in columns:
        key = column.key
        wanted += [f"count({key})", f"approx_count_distinct({key})", f"min({key})", f"max({key})"]
        wanted.append(f"arg_min({key}, rowid)" if column.kind is Kind.TEXT else "''")
        wanted.append(f"favg({key})" if column.kind.is_number else "NULL")
    [row] = database.ask(f"SELECT {', '.join(wanted)} FROM {table.key}")
    for number, column in enumerate(columns):
        present, distinct, low, high, first, mean = row[6 * number : 6 * number + 6]
        yield ColumnStatistics(
            column,
            rows=table.rows,
            present=present,
            low=low,
            high=high,
            distinct=min(distinct, present),
            first=first or "",
            mean=mean or 0.0,
        )


def _quantiles(
    database: Database, table: Table, columns: Sequence[ColumnStatistics]
) -> dict[str, tuple[float, ...]]:
    """Return the quantiles of columns by their keys; of very many values those of a part.

    The part is chosen by a hash of the row's number, so it is the same each time.
    """
    wanted = []
    for facts in columns:
        key, kind = facts.column.key, facts.column.kind
        value = f"length({key})" if kind is Kind.TEXT else key
        each = -(-facts.present // VALUES_AT_ONCE)
        part = f"FILTER (WHERE hash(rowid) % {each} = 0)" if each > 1 else ""
        wanted.append("NULL" if kind.is_moment else f"quantile_disc({value}, {list(QUANTILES)}) {part}")
    [row] = database.ask(f"SELECT {', '.join(wanted)} FROM {table.key}")
    return {facts.column.key: tuple(found or ()) for facts, found in zip(columns, row, strict=True)}


def _with_values(database: Database, table: Table, facts: ColumnStatistics) -> ColumnStatistics:
    """Count single values, where they are not too many and not mere measurements."""
    key, kind = facts.column.key, facts.column.kind
    many = facts.distinct > _FEW and facts.rows > _MANY_ROWS
    if (kind is Kind.NUMBER and many) or facts.distinct > _GROUPED or not facts.present:
        return facts
    [(distinct, usual, most, least, frequent)] = database.ask(
        f"WITH v AS (SELECT {key} AS value, count(*) AS n FROM {table.key} "
        f"WHERE {key} IS NOT NULL GROUP BY value) "
        "SELECT count(*), quantile_disc(n, 0.5), max(n), min(n), "
        "(SELECT list((value::VARCHAR, n) ORDER BY n DESC, value) FROM "
        f"(SELECT * FROM v ORDER BY n DESC, value LIMIT {_FREQUENT})) FROM v"
    )
    return replace(
        facts,
        distinct=distinct,
        exact=True,
        usual=usual,
        most=most,
        least=least,
        frequent=tuple(tuple(pair) for pair in frequent),
        numeric=_numbers_in(database, table, key) if kind is Kind.TEXT else 0,
    )


def _numbers_in(database: Database, table: Table, key: str) -> int:
    """Count cells of text that are numbers; none where they are rare in the first rows."""
    parsed = f"count(TRY_CAST({key} AS DOUBLE))"
    [(some,)] = database.ask(
        f"SELECT {parsed} FROM "
        f"(SELECT {key} FROM {table.key} WHERE {key} IS NOT NULL LIMIT {_LOOKED_AT})"
    )
    if 2 * some < min(_LOOKED_AT, table.rows):
        return 0
    return int(database.ask(f"SELECT {parsed} FROM {table.key}")[0][0])
