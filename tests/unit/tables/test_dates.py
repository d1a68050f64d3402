"""A column of dates has one format, decided over all its cells."""

import warnings

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.problem import AnswerKind
from comind.splits.search import plain_rule
from comind.tables.dates import are_like_dates, parse_dates
from comind.tables.unified_cells import unify
from tests.examples import examples

_GERMAN = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
_FRENCH = [
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
]
_SPANISH = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
]
_DAYS = pd.date_range("2015-01-01", periods=200, freq="D")
_FORMATS = {
    "ISO": lambda day: f"{day:%Y-%m-%d}",
    "ISO with time": lambda day: f"{day:%Y-%m-%dT00:00:00Z}",
    "slashes, year first": lambda day: f"{day.year}/{day.month}/{day.day}",
    "day first": lambda day: f"{day:%d/%m/%Y}",
    "day first without zeros": lambda day: f"{day.day}/{day.month}/{day.year}",
    "day first with time": lambda day: f"{day:%d/%m/%Y 00:00}",
    "day first, year of two digits": lambda day: f"{day:%d/%m/%y}",
    "day first with dashes": lambda day: f"{day:%d-%m-%Y}",
    "month first": lambda day: f"{day:%m/%d/%Y}",
    "dots": lambda day: f"{day:%d.%m.%Y}",
    "dots, year first": lambda day: f"{day:%Y.%m.%d}",
    "English months": lambda day: f"{day:%d-%b-%Y}",
    "long English months": lambda day: f"{day:%B %d, %Y}",
    "German months": lambda day: f"{day.day}. {_GERMAN[day.month - 1]} {day.year}",
    "French months": lambda day: f"{day.day} {_FRENCH[day.month - 1]} {day.year}",
    "Spanish months": lambda day: f"{day.day} de {_SPANISH[day.month - 1]} de {day.year}",
}
_DIRTY = ("0000-00-00", "", "9999-12-31", "n/a")


@pytest.mark.parametrize("form", _FORMATS)
def test_a_format_is_read(form: str) -> None:
    """Each cell is the day that it was written for, and no warning is given."""
    cells = pd.Series([_FORMATS[form](day) for day in _DAYS], dtype=str)
    assert are_like_dates(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = parse_dates(cells)
    assert found.times.dt.tz_localize(None).tolist() == _DAYS.tolist()
    assert not found.ambiguous


def test_weeks_and_quarters_are_their_first_days() -> None:
    """`2015-W07` is a Monday, `2015Q2` the first of April."""
    weeks = parse_dates(pd.Series(["2015-W07", "2015W08"], dtype=str)).times
    quarters = parse_dates(pd.Series(["2015Q2", "2015-Q4"], dtype=str)).times
    assert weeks.dt.strftime("%Y-%m-%d").tolist() == ["2015-02-09", "2015-02-16"]
    assert quarters.dt.strftime("%Y-%m-%d").tolist() == ["2015-04-01", "2015-10-01"]


def test_what_no_cell_decides_is_ambiguous() -> None:
    """The month is first, and the rule says so; between dots the day is first."""
    cells = pd.Series([f"{first:02d}/{second:02d}/2015" for first in range(1, 13) for second in (1, 2)])
    found = parse_dates(cells.astype(str))
    assert found.ambiguous
    assert found.times.dt.month.max() == 12
    dotted = parse_dates(cells.str.replace("/", ".").astype(str))
    assert (dotted.times.dt.month.max(), dotted.ambiguous) == (2, False)


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["Q3 2015", "4Q2015", "2016 Q1"], ["2015-07-01", "2015-10-01", "2016-01-01"]),
        (["KW 07/2015", "W08 2015", "2015-W09-3"], ["2015-02-09", "2015-02-16", "2015-02-25"]),
        (["2015M07", "2015-M8", "M09/2015"], ["2015-07-01", "2015-08-01", "2015-09-01"]),
        (["2015H1", "H2 2015", "1H2016"], ["2015-01-01", "2015-07-01", "2016-01-01"]),
        (["Mar-20", "Apr-98", "Mai '21"], ["2020-03-01", "1998-04-01", "2021-05-01"]),
        (["2015 Mar", "2015 Apr", "2016 Jan"], ["2015-03-01", "2015-04-01", "2016-01-01"]),
        (
            ["1er ao\u00fbt 2015", "2 mai 2016", "3 mars 2016"],
            ["2015-08-01", "2016-05-02", "2016-03-03"],
        ),
    ],
)
def test_a_period_of_a_year_is_its_first_day(cells: list[str], days: list[str]) -> None:
    """Quarters, weeks, months and halves, on either side of the year; a year may have two digits."""
    text = pd.Series(cells, dtype=str)
    assert are_like_dates(text)
    assert parse_dates(text).times.dt.strftime("%Y-%m-%d").tolist() == days


@pytest.mark.parametrize(
    "cells", [["2015Q5", "2016Q6"], ["2015-W54", "2016-W53"], ["2015M13", "2015M0"]]
)
def test_a_period_that_the_year_does_not_have_is_no_time(cells: list[str]) -> None:
    """It is no date of another year."""
    assert parse_dates(pd.Series(cells, dtype=str)).times.isna().all()


@pytest.mark.parametrize(
    "cells", [["1.5", "12.25"], ["1.10.2", "2.0.1"], ["may", "june"], ["A-1", "B-2"]]
)
def test_other_text_is_no_date(cells: list[str]) -> None:
    """Decimals, versions, words and codes are none."""
    assert not are_like_dates(pd.Series(cells, dtype=str))


@examples(20)
@given(
    form=st.sampled_from(sorted(_FORMATS)),
    dirty=st.lists(st.tuples(st.integers(0, 149), st.sampled_from(_DIRTY)), max_size=3),
)
def test_later_test_rows_give_a_time_rule(form: str, dirty: list[tuple[int, str]]) -> None:
    """In any format, also with a few cells that are no dates, later test rows are found."""
    cells = [_FORMATS[form](day) for day in _DAYS]
    for place, odd in dirty:
        cells[place] = odd
    tables = [pd.DataFrame({"date": part}, dtype=str) for part in (cells[:150], cells[150:])]
    rule, reason = plain_rule(*tables, (), AnswerKind.NUMBER)
    assert (rule.kind, rule.column) == ("time", "date")
    assert ("are no dates" in reason) == bool(dirty)


@pytest.mark.parametrize(
    ("train", "test", "what"),
    [
        ("12", "12.0", "numbers"),
        ("15.0", "15.00", "numbers"),
        ("1000", "1e3", "numbers"),
        ("Oslo", "OSLO", "words"),
        ("New York", " new  york ", "words"),
        ("2015-03-07", "2015/3/7", "dates"),
        ("07.03.2015", "2015-03-07", "dates"),
    ],
)
def test_cells_are_compared_by_value(train: str, test: str, what: str) -> None:
    """Columns that agree by value alone get one spelling, and a note has what was unified."""
    found = unify(pd.Series([train] * 3, dtype=str), pd.Series([test] * 3, dtype=str))
    assert found.one.tolist() == found.other.tolist()
    assert found.note.startswith(what)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (["007"], ["7"]),
        (["12"], ["13"]),
        (["ab", "AB"], ["Ab", "aB"]),
        (["Oslo", "Rome"], ["Oslo", "ROME"]),
        (["x1"], ["y1"]),
    ],
    ids=["codes", "other numbers", "case counts", "agree as they are", "other words"],
)
def test_other_columns_stay_as_they_are(train: list[str], test: list[str]) -> None:
    """Codes with zeros, letters whose case counts, and columns that agree are not changed."""
    train, test = train * 3, test * 3
    found = unify(pd.Series(train, dtype=str), pd.Series(test, dtype=str))
    assert (found.one.tolist(), found.other.tolist(), found.note) == (train, test, "")
