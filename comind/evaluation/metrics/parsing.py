"""What may stand in a cell of a submission, and what is said when something else does."""

import numpy as np
import pandas as pd

from comind.evaluation.metrics.base import Parse

__all__ = [
    "numbers",
    "parse_binary_labels",
    "parse_integers",
    "parse_label_sets",
    "parse_labels",
    "parse_masks",
    "parse_non_empty",
    "parse_text",
    "refuse",
]

_EXACT_INTEGERS = 2**53


def parse_labels(column: "pd.Series[str]") -> "pd.Series":
    """Return labels as text in which `1`, `1.0` and ` 1` are the same label.

    Raises:
        ValueError: a label is missing.
    """
    text = column.str.strip()
    refuse(text == "", column, "no label")
    values = pd.to_numeric(text, errors="coerce")
    whole = values.notna() & (values % 1 == 0) & (values.abs() < _EXACT_INTEGERS)
    return text.mask(whole, values.where(whole, 0).astype("int64").astype(str))


def parse_binary_labels(column: "pd.Series[str]") -> "pd.Series":
    """Return labels that are `0` or `1`.

    Raises:
        ValueError: a label is missing, or another one.
    """
    labels = parse_labels(column)
    refuse(~labels.isin(["0", "1"]), column, "neither 0 nor 1")
    return labels


def parse_integers(column: "pd.Series[str]") -> "pd.Series":
    """Return whole numbers, shape (rows,), int64.

    Raises:
        ValueError: a cell holds something else.
    """
    values = numbers()(column)
    refuse(values % 1 != 0, column, "no whole number")
    refuse(values.abs() >= _EXACT_INTEGERS, column, "too large a number")
    return values.astype("int64")


def numbers(
    *, above: float | None = None, at_least: float | None = None, at_most: float | None = None
) -> Parse:
    """Return a parser for finite numbers within bounds; the result is float64, shape (rows,)."""

    def parse(column: "pd.Series[str]") -> "pd.Series":
        text = column.str.strip()
        refuse(text == "", column, "no number")
        values = pd.to_numeric(text, errors="coerce").astype("float64")
        refuse(values.isna(), column, "no number")
        refuse(values.abs() == np.inf, column, "no finite number")
        if above is not None:
            refuse(values <= above, column, f"no number above {above:g}")
        if at_least is not None:
            refuse(values < at_least, column, f"a number below {at_least:g}")
        if at_most is not None:
            refuse(values > at_most, column, f"a number above {at_most:g}")
        return values

    return parse


def parse_text(column: "pd.Series[str]") -> "pd.Series":
    """Return the text as it stands; an empty cell is empty text."""
    return column


def parse_non_empty(column: "pd.Series[str]") -> "pd.Series":
    """Return the text as it stands.

    Raises:
        ValueError: a cell is empty.
    """
    refuse(column.str.strip() == "", column, "nothing")
    return column


def parse_label_sets(column: "pd.Series[str]") -> "pd.Series":
    """Return a frozenset of labels for each cell; an empty cell is an empty set."""
    return column.map(lambda cell: frozenset(cell.split())).astype(object)


def parse_masks(column: "pd.Series[str]") -> "pd.Series":
    """Return runs of pixels for each cell, shape (runs, 2) of start and length; empty: no pixel.

    Raises:
        ValueError: the runs are no pairs of positive numbers, or overlap.
    """

    def parse(cell: str) -> np.ndarray | None:
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

    masks = column.map(parse).astype(object)
    refuse(masks.isna(), column, "no run-length encoding (pairs of start and length)")
    return masks


def refuse(wrong: "pd.Series", column: "pd.Series[str]", what: str) -> None:
    """Make sure that no row is wrong.

    Raises:
        ValueError: some are; the message counts them and shows the first.
    """
    count = int(wrong.sum())
    if count:
        first = str(column[wrong.to_numpy(dtype=bool)].iloc[0])[:40]
        example = f", for instance {first!r}" if first.strip() else ""
        raise ValueError(f"{what} in {count} of {len(column)} rows{example}")
