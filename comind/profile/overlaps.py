"""Count the values, days and rows that validation and test share with train; list constant columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from comind.profile import formatting as fmt
from comind.profile.column_statistics import ColumnStats
from comind.profile.duckdb_tables import Column, ColumnType, Database, Table

_NAMES_SHOWN = 12
_LINES_SHOWN = 15
_REPEATED = 1.1
"""Minimum mean number of rows per value for a text column to be a candidate group key."""
_GROUPS_OF_NUMBERS = 2
"""The same for integers, for the mean and the median."""
_NEARLY = 0.95


@dataclass(frozen=True, slots=True)
class Partition:
    """One of train, validation and test (or a side table): its table and column statistics."""

    name: str
    table: Table
    stats: Mapping[str, ColumnStats]
    """Keyed by the columns' names in train.csv."""


def overlap_lines(
    database: Database,
    train: Partition,
    others: Sequence[Partition],
    ids: Sequence[str],
    labels: Sequence[str],
) -> list[str]:
    """Describe what the other partitions share with train, most informative lines first.

    Args:
        database: holds the tables.
        train: the training rows.
        others: validation and test, if they could be read.
        ids: the id columns, by their names in train.csv.
        labels: the label columns of train.csv.

    Raises:
        CompetitionError: memory or disk space ran out.
    """
    lines = _duplicate_lines(database, train, others, ids)
    partly, nearly, whole = _value_phrases(database, train, others, ids)
    if partly:
        lines.append("Rows whose value stands in train too:")
        lines += [f"  {line}" for line in partly[:_LINES_SHOWN]]
        if len(partly) > _LINES_SHOWN:
            lines.append(f"  ... and {len(partly) - _LINES_SHOWN} more columns with new values")
    if nearly:
        lines.append(f"The same for at least 95 %, but not for all: {fmt.names(nearly, _NAMES_SHOWN)}")
    if whole:
        lines.append(f"All their values stand in train: {fmt.names(whole, _NAMES_SHOWN)}")
    return [*lines, *_missing_columns(train, others, labels), *_constant_lines(train, others, labels)]


def _value_phrases(
    database: Database, train: Partition, others: Sequence[Partition], ids: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Return lines for ids, group keys and times with new values; names of those with few or none."""
    found: list[tuple[float, str]] = []
    nearly, whole = [], []
    for name, stats in train.stats.items():
        shared = [part for part in others if name in part.stats and part.stats[name].present]
        if name in ids:  # a part may have ids of its own
            shared = [part for part in shared if part.stats[name].name == stats.name]
        if not shared or not (name in ids or _may_be_group_key(stats)):
            continue
        for day in (False, True) if stats.kind is ColumnType.TIME else (False,):
            counts = [_count_matches(database, train, part, name, day=day) for part in shared]
            pairs = list(zip(counts, (part.stats[name].present for part in shared), strict=True))
            least = min(rows / present for rows, present in pairs)
            called = f"the day of {fmt.line(name)}" if day else fmt.line(name)
            if all(rows == present for rows, present in pairs):
                whole.append(called)
            elif least >= _NEARLY:
                nearly.append(called)
            else:
                texts = (
                    f"{part.name} {fmt.share(*pair)}" for part, pair in zip(shared, pairs, strict=True)
                )
                found.append((least, f"{called}: {', '.join(texts)}"))
    return [line for _, line in sorted(found, key=lambda pair: pair[0])], nearly, whole


def _may_be_group_key(stats: ColumnStats) -> bool:
    """Return whether a column's values may name groups of rows."""
    kind = stats.kind
    if not stats.present or kind is ColumnType.NUMBER or (kind.is_number and not stats.exact):
        return False
    if kind.is_time:
        return True
    if kind.is_number and stats.median_rows < _GROUPS_OF_NUMBERS:
        return False
    least = _GROUPS_OF_NUMBERS if kind.is_number else _REPEATED
    return stats.exact and stats.present >= least * stats.distinct


def _count_matches(
    database: Database, train: Partition, part: Partition, name: str, *, day: bool
) -> int:
    """Count the rows of `part` whose value (or day) occurs in train."""
    theirs, ours = part.stats[name], train.stats[name]
    left, right = (_comparable_sql(theirs, ours, day=day), _comparable_sql(ours, theirs, day=day))
    [(rows,)] = database.query(
        f"SELECT count(*) FROM {part.table.key} WHERE {left} IN "
        f"(SELECT {right} FROM {train.table.key} WHERE {ours.key} IS NOT NULL)"
    )
    return int(rows)


def _comparable_sql(column: Column, other: Column, *, day: bool = False) -> str:
    """Return a column in SQL, cast to a type that is comparable with the other column's."""
    if day:
        return f"date_trunc('day', {column.key})"
    if column.kind is other.kind or (column.kind.is_time and other.kind.is_time):
        return column.key
    numbers = column.kind.is_number and other.kind.is_number
    return f"{column.key}::{'DOUBLE' if numbers else 'VARCHAR'}"


def _duplicate_lines(
    database: Database, train: Partition, others: Sequence[Partition], ids: Sequence[str]
) -> list[str]:
    """Count rows that equal a row of train in all shared columns except the ids."""
    texts = []
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
        texts.append(f"{part.name} {fmt.share(rows, part.table.rows)}")
    if not texts:
        return []
    names = [name for name in train.stats if name not in ids and any(name in p.stats for p in others)]
    keys = ", ".join(train.stats[name].key for name in names)
    [(alone,)] = database.query(f"SELECT count(DISTINCT hash({keys})) FROM {train.table.key}")
    within = fmt.share(train.table.rows - alone, train.table.rows)
    twins = f"Rows equal to a train row in all inputs but the ids: {', '.join(texts)}"
    return [f"{twins}; within train {within} repeat another row"]


def _missing_columns(train: Partition, others: Sequence[Partition], labels: Sequence[str]) -> list[str]:
    absent: dict[str, list[str]] = {}
    for name in train.stats:
        lacking = " and ".join(part.name for part in others if name not in part.stats)
        if lacking and name not in labels:
            absent.setdefault(lacking, []).append(fmt.line(name))
    lines = [f"Not in {lacking}: {fmt.names(names, _NAMES_SHOWN)}" for lacking, names in absent.items()]
    more = {
        part.name: [fmt.line(name) for name in part.stats if name not in train.stats] for part in others
    }
    texts = (
        f"In {part}, not in train: {fmt.names(names, _NAMES_SHOWN)}"
        for part, names in more.items()
        if names
    )
    return [*lines, *texts]


def _constant_lines(train: Partition, others: Sequence[Partition], labels: Sequence[str]) -> list[str]:
    parts = [part for part in (train, *others) if part.table.rows > 1]
    found: dict[str, list[str]] = {}
    for name in train.stats:
        having = [part for part in parts if name in part.stats and name not in labels]
        fixed = [part.name for part in having if part.stats[name].constant]
        varied = [part.name for part in having if not part.stats[name].constant]
        if fixed:
            where = (
                f"in {' and '.join(fixed)}, not in {' and '.join(varied)}" if varied else "everywhere"
            )
            found.setdefault(where, []).append(fmt.line(name))
    return [f"Constant {where}: {fmt.names(names, _NAMES_SHOWN)}" for where, names in found.items()]


def link_lines(database: Database, parts: Sequence[Partition], side: Partition) -> list[str]:
    """Describe which columns join a side table to the partitions, with the share of rows that match.

    Raises:
        CompetitionError: memory or disk space ran out.
    """
    lines = []
    for name, stats in side.stats.items():
        sharing = [part for part in parts if name in part.stats and part.stats[name].present]
        if not sharing or stats.kind is ColumnType.NUMBER or not stats.exact:
            continue
        counts = [_count_matches(database, side, part, name, day=False) for part in sharing]
        matched = ", ".join(
            f"{fmt.share(rows, part.stats[name].present)} of {part.name} rows"
            for part, rows in zip(sharing, counts, strict=True)
        )
        most = f"at most {stats.max_rows:,} for a value"
        lines.append(f"by {fmt.line(name)} it has rows for {matched}, {most}")
    return lines
