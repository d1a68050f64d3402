"""What makes rows one group, and what their times are; facts of the rows and the rule alone.

A part that holds whole groups gives its rows the same groups.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from comind.domain.competition import PERIODS, SplitRule
from comind.errors import CompetitionError
from comind.evaluation.splits.answer_files import image_of_pixel

__all__ = [
    "PART",
    "id_parts",
    "id_tokens",
    "numeric_columns",
    "parse_times",
    "row_groups",
    "row_periods",
    "row_times",
]

PART = r"[A-Za-z]*\d+|[A-Za-z]+"
"""A part of a composite id: `p12` and `s3` in `p12_s3`."""

_FORMATS = {"day": "%Y-%m-%d", "week": "%G-%V", "month": "%Y-%m", "year": "%Y"}
_BETWEEN = "\x1f"


def row_groups(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    """Return the group of each row, as text.

    Raises:
        CompetitionError: a cell is not what the rule needs.
    """
    match rule.by:
        case "date":
            return pd.Series(row_times(table, rule).dt.strftime("%Y-%m-%d"))
        case "picture":
            return image_of_pixel(table[rule.column])
        case "parts":
            return id_parts(id_tokens(table[str(rule.column)]), rule.parts)
        case "place":
            return _blocks(table, rule)
        case "twins":
            return _twins(table, rule)
        case None:
            return table[str(rule.column)]


def row_times(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[Any]":
    """Return the split's column as times or, where it holds plain numbers, as those.

    Raises:
        CompetitionError: a cell holds neither.
    """
    text = table[str(rule.column)].str.strip()
    plain = pd.to_numeric(text, errors="coerce")
    if rule.by is None and plain.notna().all():
        return plain
    times = parse_times(text)
    if times.isna().any():
        first = text[times.isna()].iloc[0]
        raise CompetitionError(f"the split's column {rule.column!r} holds no time: {first!r}")
    return times


def parse_times(text: "pd.Series[str]") -> "pd.Series[Any]":
    """Return text as times, each cell by its own form, month before day where both may be; else none."""
    form = guess_datetime_format(text.iloc[0]) if len(text) else None
    if form is not None and form.startswith("%m"):  # many times as fast, where all have this form
        times = pd.to_datetime(text, errors="coerce", format=form, utc=True)
        if times.notna().all():
            return times
    return pd.to_datetime(text, errors="coerce", format="mixed", utc=True)


def row_periods(table: pd.DataFrame, times: "pd.Series[Any]", within: str) -> "pd.Series[str]":
    """Return the stretch of the calendar, or the cell of the column `within`, that each row is in.

    Raises:
        CompetitionError: `within` is neither, or the times are plain numbers.
    """
    if within not in PERIODS:
        return table[within]
    if times.dtype.kind in "iuf":
        raise CompetitionError(
            f"the split's column {times.name!r} holds numbers, which have no {within}"
        )
    named: pd.Series[str] = times.dt.strftime(_FORMATS[within])
    return named


def id_tokens(column: "pd.Series[str]") -> "pd.Series[Any]":
    """Return the parts of each cell, as lists."""
    parts: pd.Series[Any] = column.str.findall(PART)
    return parts


def id_parts(tokens: "pd.Series[Any]", parts: tuple[int, ...]) -> "pd.Series[str]":
    """Return the named parts of each cell; a cell that lacks one stands for itself."""
    last = max(parts)
    read = [
        _BETWEEN.join([cell[part - 1] for part in parts]) if len(cell) >= last else _BETWEEN.join(cell)
        for cell in tokens
    ]
    return pd.Series(read, index=tokens.index, dtype=str)


def numeric_columns(table: pd.DataFrame, columns: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Return columns as numbers, one row a row; what is none, or infinite, is not a number."""
    read = [pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64) for name in columns]
    numbers = np.column_stack(read)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _blocks(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    """Return the block that each row lies in; rows without a place stand for themselves."""
    at = np.floor(numeric_columns(table, rule.columns) / np.array(rule.sizes))
    named = [f"{x:.0f}:{y:.0f}" if x == x and y == y else f"row {row}" for row, (x, y) in enumerate(at)]  # noqa: PLR0124 - not a number
    return pd.Series(named, index=table.index, dtype=str)


def _twins(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    """Return a name for each set of twins: cells joined or, of near ones, the place of the first row."""
    if not rule.sizes:
        first, *rest = rule.columns
        return table[first].str.cat(table[rest], sep=_BETWEEN) if rest else table[first]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    points = numeric_columns(table, rule.columns) / np.array(rule.sizes)
    known = np.flatnonzero(np.isfinite(points).all(axis=1))
    places, at = np.unique(points[known], axis=0, return_inverse=True)  # equal rows are one place
    pairs = cKDTree(places).query_pairs(1.0, p=np.inf, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(places),) * 2)
    _, joined = connected_components(links, directed=False)
    component = np.arange(len(table)) + len(places)  # rows without a place stand alone
    component[known] = joined[at.reshape(-1)]
    _, first_rows, numbers = np.unique(component, return_index=True, return_inverse=True)
    return pd.Series(first_rows[numbers].astype(str), index=table.index, dtype=str)
