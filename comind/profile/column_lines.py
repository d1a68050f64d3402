"""Format column statistics, one line a column: in full, in brief, or name and type only."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from comind.profile import formatting as fmt
from comind.profile.column_statistics import ColumnStats
from comind.profile.duckdb_tables import ColumnType

_CLASSES = 12
"""Columns with at most this many distinct values are described by their values."""
_VALUES_SHOWN, _CLASSES_SHOWN, _LABELS_SHOWN = 3, 6, 20
_RARE = 0.005
_GROUPS = 20
"""With more distinct values, the rows per value are shown."""
_OFTEN = 0.2
_LONG = 20
_MEDIAN = 2
_NOTABLE_DIFFERENCE = 0.05
"""Differences in shares above this are shown for each partition."""

_Others = Mapping[str, Sequence[ColumnStats]]
"""The same columns in other partitions, in the same order, keyed by partition."""


def full_line(group: Sequence[ColumnStats], others: _Others) -> str:
    """Describe a column, or a group of similar ones, with differences in other partitions."""
    if len(group) > 1:
        return f"{_name_range(group)} ({len(group)} columns): {_group_summary(group)}"
    [stats] = group
    parts = [_kind(stats), *_missing(stats), *_value_phrases(stats)]
    for part, found in others.items():
        parts += [f"{part} {words}" for words in _differences(stats, found[0])]
    return f"{fmt.line(stats.name)}: {', '.join(parts)}"


def brief_line(group: Sequence[ColumnStats]) -> str:
    """Describe a column or group briefly, without quantiles and examples."""
    if len(group) > 1:
        return f"{_name_range(group)}: {len(group)} x {group[0].kind}"
    [stats] = group
    parts = [_kind(stats), *_missing(stats)]
    if stats.kind.is_number and stats.quantiles:
        parts.append(f"{fmt.interval(stats.low, stats.high)}, median {fmt.number(stats.quantiles[2])}")
    elif stats.kind.is_time and stats.present:
        parts.append(_span(stats))
    else:
        parts.append(_distinct(stats))
    return f"{fmt.line(stats.name)}: {', '.join(parts)}"


def label_lines(group: Sequence[ColumnStats]) -> list[str]:
    """Describe a label: its classes and class balance, or its distribution."""
    stats = group[0]
    classes = stats.exact and not stats.all_different and stats.distinct > 1
    if len(group) > 1 or not classes or (stats.kind.is_number and stats.distinct > _LABELS_SHOWN):
        mean = f", mean {fmt.number(stats.mean)}" if len(group) == 1 and stats.kind.is_number else ""
        return [f"{full_line(group, {})}{mean}"]
    parts = [_kind(stats), *_missing(stats), f"{stats.distinct:,} classes"]
    if stats.min_rows == stats.max_rows:
        parts.append(f"{stats.max_rows:,} rows each")
    elif stats.distinct > _LABELS_SHOWN:
        parts.append(f"{stats.min_rows:,} to {stats.max_rows:,} rows each, median {stats.median_rows:,}")
    line = f"{fmt.line(stats.name)}: {', '.join(parts)}"
    if stats.min_rows == stats.max_rows and stats.distinct > _CLASSES:
        return [f"{line}, such as {_value(stats, stats.frequent[0][0])}"]
    return [f"{line}: {_shares(stats, _LABELS_SHOWN, rare=0)}"]


def names_by_type(groups: Sequence[Sequence[ColumnStats]], length: int) -> str:
    """List column names by type in about `length` characters."""
    kinds: dict[str, list[str]] = {}
    for group in groups:
        kinds.setdefault(str(group[0].kind), []).append(_name_range(group))
    return "; ".join(
        f"{kind}: {fmt.names(names, _fitting(names, length // len(kinds)))}"
        for kind, names in kinds.items()
    )


def _fitting(names: Sequence[str], length: int) -> int:
    """Return how many names fit into `length` characters; at least one."""
    ends = accumulate(len(name) + len(", ") for name in names)
    return max(1, sum(end <= length for end in ends))


def _name_range(group: Sequence[ColumnStats]) -> str:
    """Return the name of a column, or the first and the last name of a group."""
    first, last = fmt.line(group[0].name), fmt.line(group[-1].name)
    return first if len(group) == 1 else f"{first}..{last}"


def _kind(stats: ColumnStats) -> str:
    kind = str(stats.kind)
    if stats.kind is ColumnType.TEXT and stats.present and 2 * stats.numeric >= stats.present:
        return f"{kind} ({fmt.share(stats.numeric, stats.present)} are numbers)"
    return kind


def _missing(stats: ColumnStats) -> list[str]:
    return [f"{fmt.share(stats.missing, stats.rows)} missing"] if stats.missing and stats.present else []


def _value_phrases(stats: ColumnStats) -> list[str]:
    if not stats.present:
        return ["all missing"]
    if stats.low == stats.high:
        return [f"always {_value(stats, stats.low)}"]
    if stats.exact and stats.distinct <= _CLASSES and not stats.all_different:
        return [f"{stats.distinct} values: {_shares(stats, _CLASSES_SHOWN)}"]
    parts = [_distinct(stats)]
    if stats.kind.is_time:
        return [_span(stats), *parts, *_repeats(stats)]
    if stats.kind.is_number:
        often = stats.frequent[:1] if stats.max_rows >= max(2, _OFTEN * stats.rows) else ()
        parts += [f"{_value(stats, value)} in {fmt.share(rows, stats.rows)}" for value, rows in often]
        return [*parts, fmt.quantiles(stats.low, stats.quantiles, stats.high)]
    if stats.exact and not stats.all_different:
        parts.append(f"most often {_shares(stats, _VALUES_SHOWN)}")
    return [*parts, *_repeats(stats), *_lengths(stats)]


def _shares(stats: ColumnStats, most: int, rare: float = _RARE) -> str:
    """List the most frequent values with their shares, and count the rarer ones."""
    some = stats.frequent[:most]
    shown = [pair for pair in some if pair[1] >= rare * stats.rows] or list(some[:1])
    texts = [f"{_value(stats, value)} {fmt.share(rows, stats.rows)}" for value, rows in shown]
    rest = stats.distinct - len(shown)
    return ", ".join([*texts, f"{rest:,} rarer"] if rest and stats.distinct <= _GROUPS else texts)


def _value(stats: ColumnStats, value: object) -> str:
    kind = stats.kind
    if kind.is_number:
        return fmt.number(float(str(value)))
    return str(value).removesuffix(" 00:00:00") if kind.is_time else fmt.quoted(value, _LONG * 2)


def _distinct(stats: ColumnStats) -> str:
    if stats.all_different:
        return "all different"
    return f"{'' if stats.exact else 'about '}{stats.distinct:,} values"


def _repeats(stats: ColumnStats) -> list[str]:
    if not stats.exact or stats.all_different or stats.distinct <= _GROUPS:
        return []
    return [f"median {stats.median_rows:,} and at most {stats.max_rows:,} rows a value"]


def _lengths(stats: ColumnStats) -> list[str]:
    low, _, middle, _, high = stats.quantiles
    if high <= _LONG and not stats.all_different:
        return []
    length = f"{fmt.interval(low, high)} characters (1 to 99 %), median {fmt.number(middle)}"
    if low == high:
        length = f"{fmt.number(low)} characters"
    return [length, f"such as {fmt.quoted(stats.first)}"]


def _span(stats: ColumnStats) -> str:
    return f"{fmt.time(stats.low)} to {fmt.time(stats.high)}"


def _differences(stats: ColumnStats, other: ColumnStats) -> list[str]:
    """Describe differences in another partition: type, missing cells, times, shares, median, range."""
    if not other.present:
        return ["all missing"] if stats.present else []
    words = []
    if other.kind.is_number != stats.kind.is_number:
        words.append(str(other.kind))
    gap = abs(other.missing / other.rows - stats.missing / max(1, stats.rows))
    if gap > _NOTABLE_DIFFERENCE or bool(other.missing) > bool(stats.missing):
        words.append(f"{other.missing:,} missing ({fmt.share(other.missing, other.rows)})")
    if other.kind.is_time and stats.kind.is_time:
        return [*words, _span(other)]
    if not (stats.kind.is_number and other.kind.is_number and stats.present):
        return [*words, *_share_differences(stats, other)]
    if stats.exact and stats.distinct <= _CLASSES:
        return [*words, *_share_differences(stats, other)]
    wide = stats.quantiles[-1] - stats.quantiles[0]
    if abs(other.quantiles[_MEDIAN] - stats.quantiles[_MEDIAN]) > wide / 10:
        words.append(f"median {fmt.number(other.quantiles[_MEDIAN])}")
    room = (stats.high - stats.low) / 2
    if other.low < stats.low - room or other.high > stats.high + room:
        words.append(f"from {fmt.interval(other.low, other.high)}")
    return words


def _share_differences(stats: ColumnStats, other: ColumnStats) -> list[str]:
    if not (stats.exact and other.exact and stats.distinct <= _CLASSES):
        return []
    known = {_value(stats, value): rows / stats.rows for value, rows in stats.frequent}
    found = {_value(other, value): rows for value, rows in other.frequent}
    if other.distinct <= len(found):
        found |= {value: 0 for value in known if value not in found}
    texts = [
        f"{value} {fmt.share(rows, other.rows)}"
        for value, rows in found.items()
        if abs(rows / other.rows - known.get(value, 0)) > _NOTABLE_DIFFERENCE
    ]
    return [" and ".join(texts[:_VALUES_SHOWN])] if texts else []


def _group_summary(group: Sequence[ColumnStats]) -> str:
    rows = group[0].rows
    gaps = sorted(stats.missing for stats in group)
    parts = [str(group[0].kind)]
    if gaps[-1]:
        parts.append(f"{fmt.share(gaps[0], rows)} to {fmt.share(gaps[-1], rows)} missing")
    filled = [stats for stats in group if stats.present]
    if constant := sum(stats.constant for stats in group):
        parts.append(f"{constant} of them constant")
    if not filled:
        return ", ".join(parts)
    distinct = sorted(stats.distinct for stats in filled)
    many = "" if distinct[0] == distinct[-1] else f" to {distinct[-1]:,}"
    parts.append(f"about {distinct[0]:,}{many} values each")
    low, high = min(stats.low for stats in filled), max(stats.high for stats in filled)
    if group[0].kind.is_number:
        few = distinct[-1] <= _CLASSES  # medians of binary columns say little
        middles = sorted(stats.mean if few else stats.quantiles[_MEDIAN] for stats in filled)
        parts.append(f"{'means' if few else 'medians'} {fmt.interval(middles[0], middles[-1])}")
        parts.append(f"all within {fmt.interval(low, high)}")
    elif group[0].kind.is_time:
        parts.append(f"{fmt.time(low)} to {fmt.time(high)}")
    else:
        parts.append(f"such as {fmt.quoted(filled[0].first)}")
    return ", ".join(parts)
