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
_MANY_VALUES, _MOST_LABELS = 20, 12
"""Minimum number of values of a label whose spread is told, and the most such labels."""

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
    agreeing: tuple[int, int] | None = None
    """Sets of train rows that are equal in these columns: those with equal labels, and all; or None."""
    spreads: dict[str, float] = field(default_factory=dict)
    """Of labels that are numbers with many values: the standard deviation within these sets, as a share
    of that over all rows."""
    same_ids: dict[str, tuple[int, int | None, int]] = field(default_factory=dict)
    """Rows whose id stands in train, those of them equal to the train row with this id (None if no
    column is shared), and all rows of each part; parts without such rows are left out."""
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
    inputs = _inputs(train, others, ids, labels)
    shares = _equal_rows(database, train, others, ids)
    found = Overlaps(
        equal_rows=shares,
        repeated=_repeated(database, train, inputs) if shares else (0, 0),
        agreeing=_agreeing(database, train, inputs, labels),
        spreads=_spreads(database, train, inputs, labels),
        same_ids=_same_ids(database, train, others, ids),
    )
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
) -> _Shares:
    """Count the rows of each part that equal a row of train in all inputs but the ids."""
    shares: _Shares = {}
    for part in others:
        names = [name for name in train.stats if name in part.stats and name not in ids]
        if names:
            shares[part.name] = (_count_equal(database, train, part, names), part.table.rows)
    return shares


def _inputs(
    train: Partition, others: Sequence[Partition], ids: Sequence[str], labels: Sequence[str]
) -> str:
    """Return the hash of a row's inputs but the ids in SQL; empty without inputs."""
    names = [name for name in train.stats if name not in (*ids, *labels)]
    keys = [train.stats[name].key for name in names if any(name in part.stats for part in others)]
    return f"hash({', '.join(keys)})" if keys else ""


def _repeated(database: Database, train: Partition, inputs: str) -> tuple[int, int]:
    """Count the rows of train that repeat another one in their inputs."""
    if not inputs:
        return 0, 0
    [(alone,)] = database.query(f"SELECT count(DISTINCT {inputs}) FROM {train.table.key}")
    return train.table.rows - int(alone), train.table.rows


def _agreeing(
    database: Database, train: Partition, inputs: str, labels: Sequence[str]
) -> tuple[int, int] | None:
    """Count the sets of train rows with equal inputs, and those with equal labels of train.csv."""
    known = [train.stats[name].key for name in labels if name in train.stats]
    if not known or not inputs:
        return None
    label = f"hash({', '.join(known)})"
    [(agreeing, sets)] = database.query(
        "SELECT count(*) FILTER (low = high), count(*) FROM "
        f"(SELECT min({label}) AS low, max({label}) AS high FROM {train.table.key} "
        f"GROUP BY {inputs} HAVING count(*) > 1)"
    )
    return (int(agreeing), int(sets)) if sets else None


def _spreads(
    database: Database, train: Partition, inputs: str, labels: Sequence[str]
) -> dict[str, float]:
    """Compare the spread of numeric labels within sets of equal train rows to that over all rows."""
    known = (train.stats[name] for name in labels if name in train.stats)
    numbers = [each for each in known if each.type.is_number and each.distinct >= _MANY_VALUES]
    found = {}
    for stats in numbers[:_MOST_LABELS] if inputs else ():
        [(within, whole)] = database.query(
            f"SELECT sqrt(sum(spread * (rows - 1)) / sum(rows - 1)), (SELECT stddev({stats.key}) FROM "
            f"{train.table.key}) FROM (SELECT count({stats.key}) AS rows, variance({stats.key}) AS "
            f"spread FROM {train.table.key} GROUP BY {inputs} HAVING rows > 1)"
        )
        if within is not None and whole:
            found[stats.name] = float(within / whole)
    return found


def _count_equal(database: Database, train: Partition, part: Partition, names: Sequence[str]) -> int:
    """Count the rows of a part that equal a row of train in these columns."""
    pairs = [(part.stats[name], train.stats[name]) for name in names]
    theirs = ", ".join(_comparable_sql(a, b) for a, b in pairs)
    ours = ", ".join(_comparable_sql(b, a) for a, b in pairs)
    [(rows,)] = database.query(
        f"SELECT count(*) FROM {part.table.key} WHERE hash({theirs}) IN "
        f"(SELECT hash({ours}) FROM {train.table.key})"
    )
    return int(rows)


def _same_ids(
    database: Database, train: Partition, others: Sequence[Partition], ids: Sequence[str]
) -> dict[str, tuple[int, int | None, int]]:
    """Count the rows of each part whose whole id stands in train, and those that are the same row."""
    found: dict[str, tuple[int, int | None, int]] = {}
    for part in others:
        named = [name for name in ids if name in part.stats and name in train.stats]
        if not named or any(part.stats[name].name != train.stats[name].name for name in named):
            continue  # the part has ids of its own
        shared = [name for name in train.stats if name in part.stats and name not in ids]
        if rows := _count_equal(database, train, part, named):
            equal = _count_equal(database, train, part, [*named, *shared]) if shared else None
            found[part.name] = (rows, equal, part.table.rows)
    return found
