"""Compute the group and time of each row from its cells and the split rule alone.

Any subset that holds whole groups gets the same groups.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.series_ids import series_names, series_times

PIXEL = re.compile(r"(.+)_\d+_\d+")
"""The id of a pixel, `<picture>_<row>_<column>`."""

_ID_PART = r"[A-Za-z]*\d+|[A-Za-z]+"  # `p12` and `s3` in `p12_s3`

_FORMATS = {"day": "%Y-%m-%d", "week": "%G-%V", "month": "%Y-%m", "year": "%Y"}
_SEPARATOR = "\x1f"
_LARGEST_COMPONENT = 0.5
_BLOCK_ROWS = 2_000_000


def check_rule_columns(table: pd.DataFrame, rule: SplitRule) -> None:
    """Check that a table has all columns that the rule reads.

    Raises:
        CompetitionError: one is missing.
    """
    for name in rule.used_columns:
        if name not in table.columns:
            raise CompetitionError(f"the split's column {name!r} is not in train.csv")


def row_groups(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    """Return the group of each row by a rule of kind `group`, as text.

    Of several groupings, rows linked by a chain of shared groups are one group, if no such group has
    more than half of the rows; otherwise the groups are those of the first grouping.

    Raises:
        CompetitionError: a cell cannot be parsed as the rule requires.
    """
    groups = [_own_groups(table, each) for each in rule.groupings]
    linked = linked_groups(groups) if rule.also else None
    return groups[0] if linked is None else linked


def linked_groups(groupings: "list[pd.Series[str]]") -> "pd.Series[str] | None":
    """Return the connected components of rows that share a group in any of several groupings.

    A component is named by the position of its first row. None if one has more than half of the rows.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = len(groupings[0])
    numbers = [pd.factorize(groups)[0] for groups in groupings]
    first = rows + np.cumsum([0, *(each.max(initial=-1) + 1 for each in numbers)])
    ends = np.concatenate([each + start for each, start in zip(numbers, first, strict=False)])
    starts = np.tile(np.arange(rows), len(numbers))
    links = coo_array((np.ones(len(ends)), (starts, ends)), shape=(first[-1], first[-1]))
    _, component = connected_components(links, directed=False)
    _, at, found, sizes = np.unique(
        component[:rows], return_index=True, return_inverse=True, return_counts=True
    )
    if sizes.max(initial=0) > _LARGEST_COMPONENT * rows:
        return None
    return pd.Series(at[found].astype(str), index=groupings[0].index, dtype=str)


def _own_groups(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    if rule.by == "place":
        return _blocks(table, rule)
    if rule.by == "twins":
        return _duplicates(table, rule)
    if rule.by == "date":
        return pd.Series(row_times(table, rule).dt.strftime("%Y-%m-%d"))
    return _groups_of_cells(table[str(rule.column)], rule)


def _groups_of_cells(column: "pd.Series[str]", rule: SplitRule) -> "pd.Series[str]":
    match rule.by:
        case "picture":
            return image_of_pixel(column)
        case "parts":
            return _id_parts(column, rule.parts)
        case "prefix" if rule.width is not None:
            return column.str.slice(stop=rule.width)
        case "prefix":
            return _prefixes(column, str(rule.separator))
        case "series":
            return series_names(column)
        case _:
            return column


def row_times(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[Any]":
    """Parse the rule's column as UTC times or, if all cells are numbers, as numbers.

    Raises:
        CompetitionError: a cell is neither.
    """
    text = table[str(rule.column)].str.strip()
    if rule.is_of_series:
        text = series_times(text)
    plain = pd.to_numeric(text, errors="coerce")
    if rule.by != "date" and plain.notna().all():
        return plain
    times = parse_times(text)
    if times.isna().any():
        first = text[times.isna()].iloc[0]
        raise CompetitionError(f"the split's column {rule.column!r} holds no time: {first!r}")
    return times


def parse_times(text: "pd.Series[str]") -> "pd.Series[Any]":
    """Parse text as UTC times, each cell by its own format, month first where ambiguous; else NaT."""
    form = guess_datetime_format(text.iloc[0]) if len(text) else None
    if form is not None and form.startswith("%m"):  # many times as fast, if all have this format
        times = _parse_blocks(text, form)
        if times.notna().all():
            return times
    return _parse_blocks(text, "mixed")


def _parse_blocks(text: "pd.Series[str]", form: str) -> "pd.Series[Any]":
    """Parse text as UTC times, else NaT; some rows at a time, as it takes 100 bytes a row."""
    blocks = [
        pd.to_datetime(text.iloc[first : first + _BLOCK_ROWS], errors="coerce", format=form, utc=True)
        for first in range(0, max(1, len(text)), _BLOCK_ROWS)
    ]
    return pd.concat(blocks) if len(blocks) > 1 else blocks[0]


def row_periods(table: pd.DataFrame, times: "pd.Series[Any]", rule: SplitRule) -> "pd.Series[str]":
    """Return the calendar period of each row or, if the rule's `within` is a column, its group.

    Raises:
        CompetitionError: `within` is a calendar period, and the times are numbers.
    """
    if (groups := rule.within_groups) is not None:
        return row_groups(table, groups)
    within = str(rule.within)
    if times.dtype.kind in "iuf":
        raise CompetitionError(
            f"the split's column {times.name!r} holds numbers, which have no {within}"
        )
    named: pd.Series[str] = times.dt.strftime(_FORMATS[within])
    return named


def image_of_pixel(ids: "pd.Series[str]") -> "pd.Series[str]":
    """Return the image of each pixel id; other ids are unchanged."""
    return ids.str.replace(r"_\d+_\d+$", "", regex=True)


def id_tokens(column: "pd.Series[str]") -> "pd.Series[Any]":
    """Return the tokens of each composite id, as lists."""
    tokens: pd.Series[Any] = column.str.findall(_ID_PART)
    return tokens


def _id_parts(ids: "pd.Series[str]", parts: tuple[int, ...]) -> "pd.Series[str]":
    """Join the tokens at positions `parts` (from 1) of each id; an id with too few keeps all of them."""
    last = max(parts)
    tokens = map(re.compile(_ID_PART).findall, ids)  # lazily: the lists take ten times the memory
    joined = [
        _SEPARATOR.join([cell[part - 1] for part in parts] if len(cell) >= last else cell)
        for cell in tokens
    ]
    return pd.Series(joined, index=ids.index, dtype=str)


def _prefixes(column: "pd.Series[str]", separator: str) -> "pd.Series[str]":
    """Return the text before the last separator of each cell; all of it without one."""
    return pd.Series([cell.rsplit(separator, 1)[0] for cell in column], index=column.index, dtype=str)


def numeric_columns(table: pd.DataFrame, columns: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Return columns as numbers, shape (rows, columns); NaN for other cells and infinity."""
    parsed = [pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64) for name in columns]
    numbers = np.column_stack(parsed)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _blocks(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    """Return the spatial block of each row; a row without coordinates is its own group."""
    at = np.floor(numeric_columns(table, rule.columns) / np.array(rule.sizes))
    named = [f"{x:.0f}:{y:.0f}" if x == x and y == y else f"row {row}" for row, (x, y) in enumerate(at)]  # noqa: PLR0124 - not a number
    return pd.Series(named, index=table.index, dtype=str)


def _duplicates(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    """Return the cluster of each row: its joined cells or, of near-duplicates, their first position.

    Near-duplicates are the connected components of rows that differ by at most `rule.sizes`.
    """
    if not rule.sizes:
        first, *rest = rule.columns
        joined = table[first]
        for name in rest:  # `str.cat` makes an object of each cell
            joined = joined + _SEPARATOR + table[name]
        return joined
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    points = numeric_columns(table, rule.columns) / np.array(rule.sizes)
    known = np.flatnonzero(np.isfinite(points).all(axis=1))
    places, at = np.unique(points[known], axis=0, return_inverse=True)  # equal rows are one point
    pairs = cKDTree(places).query_pairs(1.0, p=np.inf, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(places),) * 2)
    _, joined = connected_components(links, directed=False)
    component = np.arange(len(table)) + len(places)  # rows without numbers stay single
    component[known] = joined[at.reshape(-1)]
    _, first_rows, numbers = np.unique(component, return_index=True, return_inverse=True)
    return pd.Series(first_rows[numbers].astype(str), index=table.index, dtype=str)
