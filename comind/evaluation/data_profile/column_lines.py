"""What was counted of columns, a line a column: in full, in brief, or a name and a kind."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from comind.evaluation.data_profile.column_statistics import ColumnStatistics
from comind.evaluation.data_profile.duckdb_tables import Kind
from comind.evaluation.data_profile.formatting import (
    count,
    listed,
    moment,
    number,
    plain,
    quoted,
    share,
    spread,
)

__all__ = ["LEGEND", "brief_line", "full_line", "label_lines", "names_by_kind", "span_of"]

LEGEND = "numbers: least | 1 25 50 75 99 % quantiles | greatest"

_CLASSES = 12
"""A column of at most so many values is told by them."""
_VALUES_SHOWN, _CLASSES_SHOWN, _LABELS_SHOWN = 3, 6, 20
_RARE = 0.005
_GROUPS = 20
"""Of more values it is told in how many rows one stands."""
_OFTEN = 0.2
_LONG = 20
_MEDIAN = 2
_APART = 0.05
"""Shares of missing cells that differ by more are told for each part."""

Others = Mapping[str, Sequence[ColumnStatistics]]
"""The same columns in other parts, in the same order; where a part has them all."""


def full_line(group: Sequence[ColumnStatistics], others: Others) -> str:
    """Return the line of one column, or of several that are alike, with what differs in other parts."""
    if len(group) > 1:
        return f"{span_of(group)} ({len(group)} columns): {_together(group)}"
    [facts] = group
    parts = [_kind(facts), *_missing(facts), *_values(facts)]
    for part, found in others.items():
        parts += [f"{part} {words}" for words in _differences(facts, found[0])]
    return f"{plain(facts.column.name)}: {', '.join(parts)}"


def brief_line(group: Sequence[ColumnStatistics]) -> str:
    """Return the same in few words, without quantiles and examples."""
    if len(group) > 1:
        return f"{span_of(group)}: {len(group)} x {group[0].column.kind}"
    [facts] = group
    parts = [_kind(facts), *_missing(facts)]
    if facts.column.kind.is_number and facts.quantiles:
        parts.append(f"{number(facts.low)} to {number(facts.high)}, median {number(facts.quantiles[2])}")
    elif facts.column.kind.is_moment and facts.present:
        parts.append(_span(facts))
    else:
        parts.append(_distinct(facts))
    return f"{plain(facts.column.name)}: {', '.join(parts)}"


def label_lines(group: Sequence[ColumnStatistics]) -> list[str]:
    """Return the lines of a label: its classes and their balance, or what any column tells."""
    facts = group[0]
    classes = facts.exact and not facts.all_different and facts.distinct > 1
    if len(group) > 1 or not classes or (facts.column.kind.is_number and facts.distinct > _LABELS_SHOWN):
        mean = f", mean {number(facts.mean)}" if len(group) == 1 and facts.column.kind.is_number else ""
        return [f"{full_line(group, {})}{mean}"]
    parts = [_kind(facts), *_missing(facts), f"{count(facts.distinct)} classes"]
    if facts.least == facts.most:
        parts.append(f"{count(facts.most)} rows each")
    elif facts.distinct > _LABELS_SHOWN:
        parts.append(
            f"{count(facts.least)} to {count(facts.most)} rows each, median {count(facts.usual)}"
        )
    line = f"{plain(facts.column.name)}: {', '.join(parts)}"
    if facts.least == facts.most and facts.distinct > _CLASSES:
        return [f"{line}, such as {_value(facts, facts.frequent[0][0])}"]
    return [f"{line}: {_shares(facts, _LABELS_SHOWN, rare=0)}"]


def names_by_kind(groups: Sequence[Sequence[ColumnStatistics]], length: int) -> str:
    """Return the names of columns, the kinds apart, in about so many characters."""
    kinds: dict[str, list[str]] = {}
    for group in groups:
        kinds.setdefault(str(group[0].column.kind), []).append(span_of(group))
    return "; ".join(
        f"{kind}: {listed(names, _fitting(names, length // len(kinds)))}"
        for kind, names in kinds.items()
    )


def _fitting(names: Sequence[str], length: int) -> int:
    """Return how many names there is room for; one at least."""
    ends = accumulate(len(name) + len(", ") for name in names)
    return max(1, sum(end <= length for end in ends))


def span_of(group: Sequence[ColumnStatistics]) -> str:
    """Return the name of a column, or the first and the last of several."""
    first, last = plain(group[0].column.name), plain(group[-1].column.name)
    return first if len(group) == 1 else f"{first}..{last}"


def _kind(facts: ColumnStatistics) -> str:
    kind = str(facts.column.kind)
    if facts.column.kind is Kind.TEXT and facts.present and 2 * facts.numeric >= facts.present:
        return f"{kind} ({share(facts.numeric, facts.present)} are numbers)"
    return kind


def _missing(facts: ColumnStatistics) -> list[str]:
    return [f"{share(facts.missing, facts.rows)} missing"] if facts.missing and facts.present else []


def _values(facts: ColumnStatistics) -> list[str]:
    if not facts.present:
        return ["all missing"]
    if facts.low == facts.high:
        return [f"always {_value(facts, facts.low)}"]
    if facts.exact and facts.distinct <= _CLASSES and not facts.all_different:
        return [f"{facts.distinct} values: {_shares(facts, _CLASSES_SHOWN)}"]
    parts = [_distinct(facts)]
    if facts.column.kind.is_moment:
        return [_span(facts), *parts, *_repeats(facts)]
    if facts.column.kind.is_number:
        often = facts.frequent[:1] if facts.most >= max(2, _OFTEN * facts.rows) else ()
        parts += [f"{_value(facts, value)} in {share(rows, facts.rows)}" for value, rows in often]
        return [*parts, spread(facts.low, facts.quantiles, facts.high)]
    if facts.exact and not facts.all_different:
        parts.append(f"most often {_shares(facts, _VALUES_SHOWN)}")
    return [*parts, *_repeats(facts), *_lengths(facts)]


def _shares(facts: ColumnStatistics, most: int, rare: float = _RARE) -> str:
    """Return the most frequent values with their shares, and how many rarer ones there are."""
    some = facts.frequent[:most]
    shown = [pair for pair in some if pair[1] >= rare * facts.rows] or list(some[:1])
    told = [f"{_value(facts, value)} {share(rows, facts.rows)}" for value, rows in shown]
    rest = facts.distinct - len(shown)
    return ", ".join([*told, f"{count(rest)} rarer"] if rest and facts.distinct <= _GROUPS else told)


def _value(facts: ColumnStatistics, value: object) -> str:
    kind = facts.column.kind
    if kind.is_number:
        return number(float(str(value)))
    return str(value).removesuffix(" 00:00:00") if kind.is_moment else quoted(value, _LONG * 2)


def _distinct(facts: ColumnStatistics) -> str:
    if facts.all_different:
        return "all different"
    return f"{'' if facts.exact else 'about '}{count(facts.distinct)} values"


def _repeats(facts: ColumnStatistics) -> list[str]:
    if not facts.exact or facts.all_different or facts.distinct <= _GROUPS:
        return []
    return [f"median {count(facts.usual)} and at most {count(facts.most)} rows a value"]


def _lengths(facts: ColumnStatistics) -> list[str]:
    low, _, middle, _, high = facts.quantiles
    if high <= _LONG and not facts.all_different:
        return []
    length = f"{number(low)} to {number(high)} characters (1 to 99 %), median {number(middle)}"
    if low == high:
        length = f"{number(low)} characters"
    return [length, f"such as {quoted(facts.first)}"]


def _span(facts: ColumnStatistics) -> str:
    return f"{moment(facts.low)} to {moment(facts.high)}"


def _differences(facts: ColumnStatistics, other: ColumnStatistics) -> list[str]:
    """Return what differs in another part: kind, gaps, times, shares, the middle, the range."""
    if not other.present:
        return ["all missing"] if facts.present else []
    words = []
    if other.column.kind.is_number != facts.column.kind.is_number:
        words.append(str(other.column.kind))
    gap = abs(other.missing / other.rows - facts.missing / max(1, facts.rows))
    if gap > _APART or bool(other.missing) > bool(facts.missing):
        words.append(f"{count(other.missing)} missing ({share(other.missing, other.rows)})")
    if other.column.kind.is_moment and facts.column.kind.is_moment:
        return [*words, _span(other)]
    if not (facts.column.kind.is_number and other.column.kind.is_number and facts.present):
        return [*words, *_other_shares(facts, other)]
    if facts.exact and facts.distinct <= _CLASSES:
        return [*words, *_other_shares(facts, other)]
    wide = facts.quantiles[-1] - facts.quantiles[0]
    if abs(other.quantiles[_MEDIAN] - facts.quantiles[_MEDIAN]) > wide / 10:
        words.append(f"median {number(other.quantiles[_MEDIAN])}")
    room = (facts.high - facts.low) / 2
    if other.low < facts.low - room or other.high > facts.high + room:
        words.append(f"from {number(other.low)} to {number(other.high)}")
    return words


def _other_shares(facts: ColumnStatistics, other: ColumnStatistics) -> list[str]:
    """Return the values whose shares are other ones in another part."""
    if not (facts.exact and other.exact and facts.distinct <= _CLASSES):
        return []
    known = {_value(facts, value): rows / facts.rows for value, rows in facts.frequent}
    found = {_value(other, value): rows for value, rows in other.frequent}
    if other.distinct <= len(found):
        found |= {value: 0 for value in known if value not in found}
    told = [
        f"{value} {share(rows, other.rows)}"
        for value, rows in found.items()
        if abs(rows / other.rows - known.get(value, 0)) > _APART
    ]
    return [" and ".join(told[:_VALUES_SHOWN])] if told else []


def _together(group: Sequence[ColumnStatistics]) -> str:
    """Return what columns that are alike hold, all of them together."""
    rows = group[0].rows
    gaps = sorted(facts.missing for facts in group)
    parts = [str(group[0].column.kind)]
    if gaps[-1]:
        parts.append(f"{share(gaps[0], rows)} to {share(gaps[-1], rows)} missing")
    filled = [facts for facts in group if facts.present]
    if constant := sum(facts.constant for facts in group):
        parts.append(f"{constant} of them constant")
    if not filled:
        return ", ".join(parts)
    distinct = sorted(facts.distinct for facts in filled)
    many = "" if distinct[0] == distinct[-1] else f" to {count(distinct[-1])}"
    parts.append(f"about {count(distinct[0])}{many} values each")
    low, high = min(facts.low for facts in filled), max(facts.high for facts in filled)
    if group[0].column.kind.is_number:
        few = distinct[-1] <= _CLASSES  # then the median says little: think of zeros and ones
        middles = sorted(facts.mean if few else facts.quantiles[_MEDIAN] for facts in filled)
        parts.append(f"{'means' if few else 'medians'} {number(middles[0])} to {number(middles[-1])}")
        parts.append(f"all within {number(low)} to {number(high)}")
    elif group[0].column.kind.is_moment:
        parts.append(f"{moment(low)} to {moment(high)}")
    else:
        parts.append(f"such as {quoted(filled[0].first)}")
    return ", ".join(parts)
