"""Cells of two columns are compared by value where that alone makes the columns agree."""

import unicodedata

import pandas as pd
import pytest

from comind.tables.unified_cells import unify

_TOWNS = ["Malm\u00f6", "Troms\u00f8", "\u00c5re"]


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        pytest.param(["12", "13"], ["12.0", "13.0"], "numbers", id="integers and decimals"),
        pytest.param(["12.5", "13.5"], ["12,5", "13,5"], "numbers", id="decimal commas"),
        pytest.param(["12", "13"], ["12 cm", "13 cm"], "numbers", id="units"),
        pytest.param(["12", "13"], ["$12", "$13"], "numbers", id="signs of currency"),
        pytest.param(["-3", "-4"], ["\u22123", "\u22124"], "words", id="signs of minus"),
        pytest.param(["a-b", "c-d"], ["a\u2013b", "c\u2013d"], "words", id="dashes"),
        pytest.param(["Oslo", "Rome"], [" OSLO", "rome "], "words", id="case and blanks"),
        pytest.param(
            _TOWNS, [unicodedata.normalize("NFD", each) for each in _TOWNS], "words", id="accents"
        ),
        pytest.param(["True", "False"], ["1", "0"], "yes and no", id="truth values"),
        pytest.param(["2015-07-01", "2015-07-02"], ["1.7.2015", "2.7.2015"], "dates", id="dates"),
    ],
)
def test_columns_that_agree_in_one_spelling_get_it(one: list[str], other: list[str], what: str) -> None:
    """Each cell is then in both columns, and a note names the change."""
    found = unify(*(pd.Series(cells * 5, dtype=str) for cells in (one, other)))
    assert set(found.one) == set(found.other)
    assert found.note.startswith(f"{what} (")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(["12A", "12B", "13A"], ["12", "13"], id="codes that end with letters"),
        pytest.param(["12 cm", "13 mm"], ["12", "13"], id="several units"),
        pytest.param(["u12", "u13"], ["12", "13"], id="prefixes"),
        pytest.param(["007", "008"], ["7", "8"], id="codes with leading zeros"),
        pytest.param(["cat", "Cat"], ["CAT", "dog"], id="case that makes cells different"),
        pytest.param(["Oslo", "Rome"], ["Bonn", "Bern"], id="other words"),
    ],
)
def test_columns_that_differ_stay_as_they_are(one: list[str], other: list[str]) -> None:
    """What may mean something else is not unified."""
    columns = [pd.Series(cells * 5, dtype=str) for cells in (one, other)]
    found = unify(*columns)
    assert found.note == ""
    assert found.one.equals(columns[0])
    assert found.other.equals(columns[1])
