"""Count the values, days and rows that validation and test share with train; find constant columns."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from comind.profile.column_statistics import ColumnStats
from comind.profile.duckdb_tables import Column, ColumnType, Database, Table

_REPEATED = 1.1
"""Minimum mean number of rows per value for a text column to be a candidate group key."""
_GROUPS_OF_NUMBERS = 2
"""The same for integers, for the mean and the median."""
_NEARLY = 0.95

_Shares = dict[str, tuple[int, int]]
"""Some rows and all rows of each part."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One of train, validation and test (or a side table): its table and column statistics."""

    name: str
    table: Table
    stats: Mapping[str, ColumnStats]
    """Keyed by the columns' names in train.csv."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """What validation and test have in common with train.

    A column is a pair of its name and whether its days are compared.
    """

    equal_rows: _Shares = field(default_factory=dict)
    """Rows that equal a row of train in all shared columns but the ids."""
    repeated: tuple[int, int] = (0, 0)
    """Rows of train that repeat another one in these columns, and all."""
    partly: list[tuple[tuple[str, bool], _Shares]] = field(default_factory=list)
    """Ids, group keys and times, with the rows whose value occurs in train; fewest first."""
    nearly: list[tuple[str, bool]] = field(default_factory=list)
    """Those with values of train in nearly all rows."""
    whole: list[tuple[str, bool]] = field(default_factory=list)
    """Those with values of train in all rows."""
    absent: dict[tuple[str, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    """Columns of train that parts do not have, by these parts."""
    added: dict[str, list[str]] = field(default_factory=dict)
    """Columns that train does not have, by part."""
    constant: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Columns by the parts in which they are constant and those in which they are not."""


def find_overlaps(
    database: Database,
    train: Partition,
    others: Sequence[Partition],
    ids: Sequence[str],
    labels: Sequence[str],
) -> Overlaps:
    """Compare the other partitions with train.

    Args:
        database: holds the tables.
        train: the training rows.
        others: validation and test, if they could be read.
        ids: the id columns, by their names in train.csv.
        labels: the label columns of train.csv.

    Raises:
        CompetitionError: memory or disk space ran out.
    """
    found = Overlaps(*_equal_rows(database, train, others, ids))
    for column, shares in _shared_values(database, train, others, ids):
        if all(rows == present for rows, present in shares.values()):
            found.whole.append(column)
        elif _least(shares) >= _NEARLY:
            found.nearly.append(column)
        else:
            found.partly.append((column, shares))
    found.partly.sort(key=lambda pair: _least(pair[1]))
    for name in train.stats:
        if name in labels:
            continue
        if lacking := tuple(part.name for part in others if name not in part.stats):
            found.absent[lacking].append(name)
        having = [p for p in (train, *others) if p.table.rows > 1 and name in p.stats]
        fixed = tuple(part.name for part in having if part.stats[name].constant)
        varied = tuple(part.name for part in having if not part.stats[name].constant)
        if fixed:
            found.constant[fixed if varied else (), varied].append(name)
    for part in others:
        if added := [name for name in part.stats if name not in train.stats]:
            found.added[part.name] = added
    return found


def find_links(
    database: Database, parts: Sequence[Partition], side: Partition
) -> list[tuple[str, _Shares, int]]:
    """Return the columns that join a side table to the partitions: name, rows that match, most for one.

    Raises:
        CompetitionError: memory or disk space ran out.
    """
    found = []
    for name, stats in side.stats.items():
        sharing = [part for part in parts if name in part.stats and part.stats[name].present]
        if sharing and stats.type is not ColumnType.NUMBER and stats.exact:
            shares = {part.name: _count_matches(database, side, part, name) for part in sharing}
            found.append((name, shares, stats.max_rows))
    return found


def _least(shares: _Shares) -> float:
    return min(rows / present for rows, present in shares.values())


def _shared_values(
    database: Database, train: Partition, others: Sequence[Partition], ids: Sequence[str]
) -> Iterator[tuple[tuple[str, bool], _Shares]]:
    """Yield ids, group keys and times with the rows of each part whose value occurs in train."""
    for name, stats in train.stats.items():
        shared = [part for part in others if name in part.stats and part.stats[name].present]
        if name in ids:  # a part may have ids of its own
            shared = [part for part in shared if part.stats[name].name == stats.name]
        if not shared or not (name in ids or _may_be_group_key(stats)):
            continue
        for day in (False, True) if stats.type is ColumnType.TIME else (False,):
            counts = (_count_matches(database, train, part, name, day=day) for part in shared)
            yield (name, day), dict(zip((part.name for part in shared), counts, strict=True))


def _may_be_group_key(stats: ColumnStats) -> bool:
    """Return whether a column's values may name groups of rows."""
    column_type = stats.type
    if (
        not stats.present
        or column_type is ColumnType.NUMBER
        or (column_type.is_number and not stats.exact)
    ):
        return False
    if column_type.is_time:
        return True
    if column_type.is_number and stats.median_rows < _GROUPS_OF_NUMBERS:
        return False
    least = _GROUPS_OF_NUMBERS if column_type.is_number else _REPEATED
    return stats.exact and stats.present >= least * stats.distinct


def _count_matches(
    database: Database, train: Partition, part: Partition, name: str, *, day: bool = False
) -> tuple[int, int]:
    """Count the rows of `part` whose value (or day) occurs in train, and those with a value."""
    theirs, ours = part.stats[name], train.stats[name]
    left, right = (_comparable_sql(theirs, ours, day=day), _comparable_sql(ours, theirs, day=day))
    [(rows,)] = database.query(
        f"SELECT count(*) FROM {part.table.key} WHERE {left} IN "
        f"(SELECT {right} FROM {train.table.key} WHERE {ours.key} IS NOT NULL)"
    )
    return int(rows), theirs.present


def _comparable_sql(column: Column, other: Column, *, day: bool = False) -> str:
    """Return a column in SQL, cast to a type that is comparable with the other column's."""
    if day:
        return f"date_trunc('day', {column.key})"
    if column.type is other.type or (column.type.is_time and other.type.is_time):
        return column.key
    numbers = column.type.is_number and other.type.is_number
    return f"{column.key}::{'DOUBLE' if numbers else 'VARCHAR'}"


def _equal_rows(
    database: Database, train: Partition, others: Sequence[Partition], ids: Sequence[str]
) -> tuple[_Shares, tuple[int, int]]:
    """Count rows that equal a row of train in all inputs but the ids, and repeated rows of train."""
    shares: _Shares = {}
    for part in others:
        names = [name for name in train.stats if name in part.stats and name not in ids]
        if not names:
            continue
        pairs = [(part.stats[name], train.stats[name]) for name in names]
        theirs = ", ".join(_comparable_sql(a, b) for a, b in pairs)
        ours = ", ".join(_comparable_sql(b, a) for a, b in pairs)
        [(rows,)] = database.query(
            f"SELECT count(*) FROM {part.table.key} WHERE hash({theirs}) IN "
            f"(SELECT hash({ours}) FROM {train.table.key})"
        )
        shares[part.name] = (rows, part.table.rows)
    if not shares:
        return shares, (0, 0)
    names = [name for name in train.stats if name not in ids and any(name in p.stats for p in others)]
    keys = ", ".join(train.stats[name].key for name in names)
    [(alone,)] = database.query(f"SELECT count(DISTINCT hash({keys})) FROM {train.table.key}")
    return shares, (train.table.rows - alone, train.table.rows)
