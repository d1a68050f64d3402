"""Parsing of cells."""

import pandas as pd
import pytest

from comind.metrics import METRICS


def _parsed(name: str, *cells: str) -> list[object]:
    return list(METRICS[name].parse(pd.Series(cells, dtype=str)))


def test_labels_are_the_same_however_a_program_writes_them() -> None:
    """Integers, floats and white space normalise to one label; text is unchanged."""
    assert _parsed("accuracy", "1", "1.0", " 1", "+1", "01", "1e0") == ["1"] * 6
    assert _parsed("accuracy", "1.5", "yes ", "Yes", "nan", "inf") == ["1.5", "yes", "Yes", "nan", "inf"]


def test_labels_beyond_exact_numbers_stay_text() -> None:
    """Long numbers that are equal as floats are different labels."""
    one, other = "9007199254740993", "9007199254740992"
    assert len(set(_parsed("accuracy", one, other))) == 2


def test_only_the_first_of_several_guesses_counts() -> None:
    """The top-1 error uses the first label of a list."""
    assert _parsed("top-1-error", "7 8 9", " a b") == ["7", "a"]


def test_lists_that_are_all_empty_are_refused() -> None:
    """A column without any guess has no labels."""
    with pytest.raises(ValueError, match="no label in 2 of 2 rows"):
        _parsed("top-1-error", "", " ")


def test_numbers_are_read_as_programs_write_them() -> None:
    """Exponents, signs and white space are valid in numbers."""
    assert _parsed("rmse", "1", " 2.5 ", "-1e-3", "+4") == [1.0, 2.5, -0.001, 4.0]


@pytest.mark.parametrize("cell", ["0x10", "1_000", "1,5", "True", "$3", "３", "--1", "1 2"])  # noqa: RUF001
def test_what_is_no_number_is_refused(cell: str) -> None:
    """Cells that other readers do not parse as numbers are rejected."""
    with pytest.raises(ValueError, match="no number in 1 of 2 rows, for instance"):
        _parsed("rmse", "1", cell)


def test_a_set_has_a_label_once() -> None:
    """Order and repetition are irrelevant in label sets; an empty cell is the empty set."""
    assert _parsed("micro-f1", "a b a", "") == [frozenset({"a", "b"}), frozenset()]


def test_runs_of_a_mask_may_come_in_any_order() -> None:
    """Runs are sorted by their start; an empty cell, or a dash, is an empty mask."""
    first, second, third = METRICS["pixel-f05"].parse(pd.Series(["5 2 1 3", "", "-"], dtype=str))
    assert first.tolist() == [[1, 3], [5, 2]]
    assert second.size == third.size == 0
