"""Parse the cells of submissions; a ValueError counts the invalid cells and shows the first."""

import re
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from comind.domain.numbers import is_number
from comind.errors import ComindError
from comind.metrics.metric_types import Parse

__all__ = [
    "are_number_lists",
    "cell_parser",
    "number_parser",
    "parse_binary_labels",
    "parse_columns",
    "parse_integers",
    "parse_label_sets",
    "parse_labels",
    "parse_mask",
    "parse_masks",
    "parse_non_empty",
    "parse_text",
    "reject_cells",
]

_EXACT_INTEGERS = 2**53
_LEAST_OF_LIST = 4  # numbers, as of a box
_BETWEEN_NUMBERS = re.compile(r"[\s\[\](){},;]+")


def parse_labels(column: "pd.Series[str]") -> "pd.Series":
    """Normalise labels, so that `1`, `1.0` and ` 1` are the same text.

    Raises:
        ValueError: a label is missing.
    """
    text = column.str.strip()
    reject_cells(text == "", column, "no label")
    numbers, labels = pd.factorize(text, use_na_sentinel=False)  # few of many rows
    distinct = pd.Series(labels)
    values = pd.to_numeric(distinct, errors="coerce")
    whole = values.notna() & (values % 1 == 0) & (values.abs() < _EXACT_INTEGERS)
    spelled = distinct.mask(whole, values.where(whole, 0).astype("int64").astype(str))
    return pd.Series(spelled.array.take(numbers), index=text.index, name=text.name)


def parse_binary_labels(column: "pd.Series[str]") -> "pd.Series":
    """Parse binary labels, which are returned as `0` or `1`.

    Raises:
        ValueError: a label is missing or not binary.
    """
    labels = parse_labels(column)
    reject_cells(~labels.isin(["0", "1"]), column, "neither 0 nor 1")
    return labels


def parse_integers(column: "pd.Series[str]") -> "pd.Series":
    """Parse integers as int64, shape (rows,).

    Raises:
        ValueError: a cell is not an integer, or its magnitude is 2**53 or more.
    """
    values = number_parser()(column)
    reject_cells(values % 1 != 0, column, "no whole number")
    reject_cells(values.abs() >= _EXACT_INTEGERS, column, "too large a number")
    return values.astype("int64")


def number_parser(
    *, above: float | None = None, at_least: float | None = None, at_most: float | None = None
) -> Parse:
    """Return a parser for finite numbers within bounds; the result is float64, shape (rows,)."""

    def parse(column: "pd.Series[str]") -> "pd.Series":
        text = column.str.strip()
        reject_cells(text == "", column, "no number")
        values = pd.to_numeric(text, errors="coerce").astype("float64")
        reject_cells(values.isna(), column, "no number")
        reject_cells(values.abs() == np.inf, column, "no finite number")
        if above is not None:
            reject_cells(values <= above, column, f"no number above {above:g}")
        if at_least is not None:
            reject_cells(values < at_least, column, f"a number below {at_least:g}")
        if at_most is not None:
            reject_cells(values > at_most, column, f"a number above {at_most:g}")
        return values

    return parse


def parse_text(column: "pd.Series[str]") -> "pd.Series":
    """Return the text unchanged; an empty cell is empty text."""
    return column


def parse_non_empty(column: "pd.Series[str]") -> "pd.Series":
    """Return the text unchanged.

    Raises:
        ValueError: a cell is empty.
    """
    reject_cells(column.str.strip() == "", column, "nothing")
    return column


def parse_label_sets(column: "pd.Series[str]") -> "pd.Series":
    """Parse each cell as a frozenset of labels; an empty cell is an empty set."""
    return column.map(lambda cell: frozenset(cell.split())).astype(object)


def cell_parser(parse_cell: Callable[[str], object | None], complaint: str) -> Parse:
    """Return a parser of single cells; cells for which `parse_cell` returns None are invalid."""

    def parse(column: "pd.Series[str]") -> "pd.Series":
        cells = [parse_cell(cell) for cell in column]
        parsed = pd.Series(cells, index=column.index, name=column.name, dtype=object)
        reject_cells(parsed.isna(), column, complaint)
        return parsed

    return parse


def parse_mask(cell: str) -> np.ndarray | None:
    """Parse one mask, shape (runs, 2); None if it is invalid, as in `parse_masks`."""
    if cell.strip() in ("", "-"):
        return np.empty((0, 2), dtype=np.int64)
    try:
        runs = np.array(cell.split(), dtype=np.int64).reshape(-1, 2)
    except (ValueError, OverflowError):
        return None
    if (runs >= _EXACT_INTEGERS).any():
        return None
    runs = runs[np.argsort(runs[:, 0])]
    overlap = (runs[1:, 0] < runs[:-1].sum(axis=1)).any()
    return None if (runs < 1).any() or overlap else runs


parse_masks = cell_parser(parse_mask, "no run-length encoding (pairs of start and length)")
"""Parses run-length encoded masks, shape (runs, 2) of start and length, sorted; empty: no pixel.

The runs are pairs of positive integers and do not overlap.
"""


def are_number_lists(cells: Iterable[str]) -> bool:
    """Return whether each cell that is not blank lists four numbers or more, as boxes and masks do."""
    lists = [_BETWEEN_NUMBERS.sub(" ", cell).split() for cell in cells if cell.strip()]
    return bool(lists) and all(
        len(words) >= _LEAST_OF_LIST and all(map(is_number, words)) for words in lists
    )


def reject_cells(wrong: "pd.Series", column: "pd.Series[str]", what: str) -> None:
    """Raise an error if any cell is invalid.

    Raises:
        ValueError: with the number of invalid cells and the first of them.
    """
    count = int(wrong.sum())
    if count:
        first = str(column[wrong.to_numpy(dtype=bool)].iloc[0])[:40]
        example = f", for instance {first!r}" if first.strip() else ""
        raise ValueError(f"{what} in {count} of {len(column)} rows{example}")


def parse_columns(
    parse: Parse, table: pd.DataFrame, columns: Iterable[str], failure: type[ComindError]
) -> pd.DataFrame:
    """Parse some columns of a table of text.

    Raises:
        ComindError: of type `failure`; a cell is of the wrong type.
    """
    found = {}
    for name in columns:
        try:
            found[name] = parse(table[name])
        except ValueError as error:
            raise failure(f"column {name!r}: {error}") from None
    return pd.DataFrame(found)
