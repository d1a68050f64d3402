"""What validation and test share with train: values, days, whole rows; columns that never vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from comind.evaluation.data_profile.column_statistics import ColumnStatistics
from comind.evaluation.data_profile.duckdb_tables import Column, Database, Kind, Table
from comind.evaluation.data_profile.formatting import count, listed, plain, share

__all__ = ["Partition", "link_lines", "overlap_lines"]

_NAMES_SHOWN = 12
_LINES_SHOWN = 15
_REPEATED = 1.1
"""Text with so many rows a value on average may name groups."""
_GROUPS_OF_NUMBERS = 2
"""Whole numbers with so many rows a value, on average and in the median, may."""
_NEARLY = 0.95


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of the split: its table, what was counted of its columns, its ids as train calls them."""

    name: str
    table: Table
    facts: Mapping[str, ColumnStatistics]
    """By the names that train.csv has for the columns."""


def overlap_lines(
    database: Database,
    train: Partition,
    others: Sequence[Partition],
    ids: Sequence[str],
    labels: Sequence[str],
) -> list[str]:
    """Return what the other parts share with train, the most telling lines first.

    Args:
        database: holds the tables.
        train: the rows to learn from.
        others: validation and test, as far as they could be read.
        ids: the id columns by their names in train.csv.
        labels: the label columns there.

    Raises:
        CompetitionError: there is no room for what that takes.
    """
    lines = _twins(database, train, others, ids)
    partly, nearly, whole = _values(database, train, others, ids)
    if partly:
        lines.append("Rows whose value stands in train too:")
        lines += [f"  {line}" for line in partly[:_LINES_SHOWN]]
        if len(partly) > _LINES_SHOWN:
            lines.append(f"  ... and {len(partly) - _LINES_SHOWN} more columns with new values")
    if nearly:
        lines.append(f"The same for at least 95 %, but not for all: {listed(nearly, _NAMES_SHOWN)}")
    if whole:
        lines.append(f"All their values stand in train: {listed(whole, _NAMES_SHOWN)}")
    return [*lines, *_absent(train, others, labels), *_constant(train, others, labels)]


def _values(
    database: Database, train: Partition, others: Sequence[Partition], ids: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Return lines of ids, groups and moments with new values; names of those with few or none."""
    found: list[tuple[float, str]] = []
    nearly, whole = [], []
    for name, facts in train.facts.items():
        shared = [part for part in others if name in part.facts and part.facts[name].present]
        if name in ids:  # a part may have ids of its own
            shared = [part for part in shared if part.facts[name].column.name == facts.column.name]
        if not shared or not (name in ids or _names_groups(facts)):
            continue
        for day in (False, True) if facts.column.kind is Kind.TIME else (False,):
            counts = [_standing(database, train, part, name, day=day) for part in shared]
            pairs = list(zip(counts, (part.facts[name].present for part in shared), strict=True))
            least = min(rows / present for rows, present in pairs)
            called = f"the day of {plain(name)}" if day else plain(name)
            if all(rows == present for rows, present in pairs):
                whole.append(called)
            elif least >= _NEARLY:
                nearly.append(called)
            else:
                told = (f"{part.name} {share(*pair)}" for part, pair in zip(shared, pairs, strict=True))
                found.append((least, f"{called}: {', '.join(told)}"))
    return [line for _, line in sorted(found, key=lambda pair: pair[0])], nearly, whole


def _names_groups(facts: ColumnStatistics) -> bool:
    """Recognise columns whose values may stand for something that several rows belong to."""
    kind = facts.column.kind
    if not facts.present or kind is Kind.NUMBER or (kind.is_number and not facts.exact):
        return False
    if kind.is_moment:
        return True
    if kind.is_number and facts.usual < _GROUPS_OF_NUMBERS:
        return False
    least = _GROUPS_OF_NUMBERS if kind.is_number else _REPEATED
    return facts.exact and facts.present >= least * facts.distinct


def _standing(database: Database, train: Partition, part: Partition, name: str, *, day: bool) -> int:
    """Count the rows of a part whose value stands in train."""
    theirs, ours = part.facts[name].column, train.facts[name].column
    left, right = _comparable(theirs, ours, day=day), _comparable(ours, theirs, day=day)
    [(rows,)] = database.ask(
        f"SELECT count(*) FROM {part.table.key} WHERE {left} IN "
        f"(SELECT {right} FROM {train.table.key} WHERE {ours.key} IS NOT NULL)"
    )
    return int(rows)


def _comparable(column: Column, other: Column, *, day: bool = False) -> str:
    """Return a column as a type in which it can be compared with the other."""
    if day:
        return f"date_trunc('day', {column.key})"
    if column.kind is other.kind or (column.kind.is_moment and other.kind.is_moment):
        return column.key
    numbers = column.kind.is_number and other.kind.is_number
    return f"{column.key}::{'DOUBLE' if numbers else 'VARCHAR'}"


def _twins(
    database: Database, train: Partition, others: Sequence[Partition], ids: Sequence[str]
) -> list[str]:
    """Count rows that equal a row of train in all that both have, but for the ids."""
    told = []
    for part in others:
        names = [name for name in train.facts if name in part.facts and name not in ids]
        if not names:
            continue
        pairs = [(part.facts[name].column, train.facts[name].column) for name in names]
        theirs = ", ".join(_comparable(a, b) for a, b in pairs)
        ours = ", ".join(_comparable(b, a) for a, b in pairs)
        [(rows,)] = database.ask(
            f"SELECT count(*) FROM {part.table.key} WHERE hash({theirs}) IN "
            f"(SELECT hash({ours}) FROM {train.table.key})"
        )
        told.append(f"{part.name} {share(rows, part.table.rows)}")
    if not told:
        return []
    names = [name for name in train.facts if name not in ids and any(name in p.facts for p in others)]
    keys = ", ".join(train.facts[name].column.key for name in names)
    [(alone,)] = database.ask(f"SELECT count(DISTINCT hash({keys})) FROM {train.table.key}")
    within = share(train.table.rows - alone, train.table.rows)
    twins = f"Rows equal to a train row in all inputs but the ids: {', '.join(told)}"
    return [f"{twins}; within train {within} repeat another row"]


def _absent(train: Partition, others: Sequence[Partition], labels: Sequence[str]) -> list[str]:
    """Name the columns that a part lacks, or has for itself."""
    absent: dict[str, list[str]] = {}
    for name in train.facts:
        lacking = " and ".join(part.name for part in others if name not in part.facts)
        if lacking and name not in labels:
            absent.setdefault(lacking, []).append(plain(name))
    lines = [f"Not in {lacking}: {listed(names, _NAMES_SHOWN)}" for lacking, names in absent.items()]
    more = {
        part.name: [plain(name) for name in part.facts if name not in train.facts] for part in others
    }
    told = (
        f"In {part}, not in train: {listed(names, _NAMES_SHOWN)}"
        for part, names in more.items()
        if names
    )
    return [*lines, *told]


def _constant(train: Partition, others: Sequence[Partition], labels: Sequence[str]) -> list[str]:
    """Name columns with one value in one part and several in another, and those that never vary."""
    parts = [part for part in (train, *others) if part.table.rows > 1]
    found: dict[str, list[str]] = {}
    for name in train.facts:
        having = [part for part in parts if name in part.facts and name not in labels]
        fixed = [part.name for part in having if part.facts[name].constant]
        varied = [part.name for part in having if not part.facts[name].constant]
        if fixed:
            where = (
                f"in {' and '.join(fixed)}, not in {' and '.join(varied)}" if varied else "everywhere"
            )
            found.setdefault(where, []).append(plain(name))
    return [f"Constant {where}: {listed(names, _NAMES_SHOWN)}" for where, names in found.items()]


def link_lines(database: Database, parts: Sequence[Partition], side: Partition) -> list[str]:
    """Return by which columns the rows of a side table belong to rows of the parts.

    Raises:
        CompetitionError: there is no room for what that takes.
    """
    lines = []
    for name, facts in side.facts.items():
        sharing = [part for part in parts if name in part.facts and part.facts[name].present]
        if not sharing or facts.column.kind is Kind.NUMBER or not facts.exact:
            continue
        told = ", ".join(
            f"{share(_standing(database, side, part, name, day=False), part.facts[name].present)} of "
            f"{part.name} rows"
            for part in sharing
        )
        lines.append(f"by {plain(name)} it has rows for {told}, at most {count(facts.most)} for a value")
    return lines
