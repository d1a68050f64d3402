"""Read columns of dates and times: one format for a column, decided over all its cells."""

import re
import warnings
from typing import Any, Literal, NamedTuple

import pandas as pd
from pandas.tseries.api import guess_datetime_format

FEW = 0.1
"""Share of the cells of a column of dates that may be none."""
_BLOCK_ROWS = 2_000_000
_FIRST, _LOOKED_AT = 20, 1_000
_TWO_DIGIT_YEAR = 69  # from which on such a year is of the last century, as for strptime
_NAMES = {
    "jan": "jan|janvier|januar|j\u00e4nner|january|enero|ene|gennaio|gen|janeiro",
    "feb": "feb|f\u00e9v|fev|f\u00e9vrier|fevrier|februar|february|febrero|febbraio|fevereiro",
    "mar": "mar|mars|m\u00e4r|m\u00e4rz|maerz|mrz|march|marzo|mar\u00e7o|marco",
    "apr": "apr|avr|avril|april|abril|abr|aprile",
    "may": "may|mai|mayo|maggio|mag|maio",
    "jun": "jun|juin|juni|june|junio|giugno|giu|junho",
    "jul": "jul|juil|juillet|juli|july|julio|luglio|lug|julho",
    "aug": "aug|ao\u00fbt|aout|august|agosto|ago",
    "sep": "sep|sept|septembre|september|septiembre|settembre|set|setembro",
    "oct": "oct|octobre|okt|oktober|october|octubre|ottobre|ott|outubro|out",
    "nov": "nov|novembre|november|noviembre|novembro",
    "dec": "dec|d\u00e9c|d\u00e9cembre|decembre|dez|dezember|december|dic|diciembre|dicembre|dezembro",
}
_MONTH_OF = {name: month for month, names in _NAMES.items() for name in names.split("|")}
_NAME = rf"\b(?:{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\b\.?"
_MONTH = re.compile(_NAME, re.IGNORECASE)
_PERIOD = re.compile(
    r"\s*(?:(\d{4})[-/ .]?(Q|H|M|W|KW)[- .]?(\d{1,2})(?:-?([1-7]))?"
    r"|(Q|H|M|W|KW)[- .]?(\d{1,2})[-/ .](\d{4})|([1-4])(Q|H)[-/ .]?(\d{4}))\s*$",
    re.IGNORECASE,
)
"""A quarter, half, month or week with its year, such as `2015Q3`, `KW 07/2015` or `2015-W07-3`."""
_MONTHS_OF = {"Q": 3, "H": 6, "M": 1}
_LIKE_DATES = re.compile(
    r"\d[-/:]\d|\b\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})\b|\b\d{4}\.\d{1,2}\.\d{1,2}\b|^(?:"
    rf"{_PERIOD.pattern})|(?=.*\d)(?:{_NAME})|\b\d{{4}} (?:{_NAME})",
    re.IGNORECASE,
)
_PARTS = re.compile(r"^\s*(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\d)(.*)$")
_FILLERS = re.compile(r"(?<=\d)\.(?=\s|-)|\b(?:de|of|the)\b|(?<=\d)(?:st|nd|rd|th|er)\b")
_MONTH_OF_YEAR = re.compile(rf"^\s*({_NAME})(?:-|\s?')(\d{{2}})\s*$", re.IGNORECASE)


class Dates(NamedTuple):
    """The times of a column."""

    times: "pd.Series[Any]"
    """UTC; NaT for cells that are none."""
    ambiguous: bool = False
    """Whether no cell decides between day and month first."""


def are_like_dates(cells: "pd.Series[str]") -> bool:
    """Return whether nearly all of some cells, which are not blank, have the form of a date."""
    text = cells.tolist()
    first = text[:_FIRST]
    if sum(map(_is_like_a_date, first)) < len(first) / 2 or not first:
        return False  # of most columns no cell is a date
    return sum(map(_is_like_a_date, text)) >= (1 - FEW) * len(text)


def _is_like_a_date(cell: str) -> bool:
    return _LIKE_DATES.search(cell) is not None


def parse_dates(text: "pd.Series[str]") -> Dates:
    """Parse a column of text as UTC times; cells that are none are NaT.

    Day or month is first in all cells alike, as the cells decide; if none does, the month, but the day
    between dots. Months may have their names in six languages; a week, quarter or half is its first day.
    """
    head = text.iloc[:_LOOKED_AT].str.strip()
    head = head[head != ""]
    if are_numeric_dates(head):
        first = _day_first(text)
        if first is not None and first.times:
            return Dates(_in_range(_by_distinct(text, iso_of_day_first)), first.ambiguous)
        return Dates(_in_range(_by_pandas(text)), first is not None and first.ambiguous)
    if head.str.contains(_MONTH).any() or head.str.match(_PERIOD).any():
        return Dates(_in_range(_by_distinct(text, _plain_names)))
    return Dates(_in_range(_by_pandas(text)))


def order_of_dates(text: "pd.Series[str]") -> Literal["day", "month", "open", ""]:
    """Return what is first in numeric dates, or that no cell decides it; empty for other text."""
    if not are_numeric_dates(text.iloc[:_LOOKED_AT]) or (order := _day_first(text)) is None:
        return ""
    if order.ambiguous:
        return "open"
    return "day" if order.times else "month"


def are_numeric_dates(cells: "pd.Series[str]") -> bool:
    """Return whether nearly all cells that are not blank are dates such as `3/4/2020`."""
    filled = cells[cells.str.strip() != ""]
    return bool(filled.str.match(_PARTS).mean() > 1 - FEW)


def without_few_missing(times: "pd.Series[Any]") -> "pd.Series[Any] | None":
    """Return times with the earliest one in place of a few missing ones; None if many are missing."""
    missing = times.isna()
    if not missing.any():
        return times
    return times.fillna(times.min()) if missing.mean() <= FEW else None


class _Order(NamedTuple):
    times: bool
    ambiguous: bool


def _day_first(text: "pd.Series[str]") -> _Order | None:
    """Return whether the day is first in numeric dates; None where some cells say so, and others not."""
    cells = pd.Series(text.unique(), dtype=str).str.extract(_PARTS)
    first, second = (pd.to_numeric(cells[place], errors="coerce") for place in (0, 2))
    by_day, by_month = bool((first > 12).any()), bool((second > 12).any())  # noqa: PLR2004 - months
    if by_day and by_month:
        return None
    if by_day or by_month:
        return _Order(by_day, ambiguous=False)
    dotted = bool((cells[1] == ".").mean() > 1 - FEW)
    return _Order(dotted, ambiguous=not dotted)


def iso_of_day_first(cells: "pd.Series[str]") -> "pd.Series[str]":
    """Return day-first dates as ISO dates, other cells unchanged."""
    parts = cells.str.extract(_PARTS)
    year = parts[3]
    short = year.str.len() == 2  # noqa: PLR2004 - digits
    year = year.where(~short, year.where(short, "0").map(_century) + year)
    iso = year + "-" + parts[2].str.zfill(2) + "-" + parts[0].str.zfill(2) + parts[4]
    return iso.fillna(cells)


def _plain_names(cells: "pd.Series[str]") -> "pd.Series[str]":
    """Return dates with numbers for names of months; weeks, months and quarters as their first days."""
    plain = cells.str.replace(_PERIOD, _first_day, regex=True)
    plain = plain.str.replace(_MONTH_OF_YEAR, _first_of_month, regex=True)
    plain = plain.str.replace(_MONTH, lambda found: _month(found[0]), regex=True)
    return plain.str.replace(_FILLERS, " ", regex=True)


def _month(name: str) -> str:
    return _MONTH_OF[name.lower().rstrip(".")]


def _first_day(found: re.Match[str]) -> str:
    parts = [part for part in found.groups() if part is not None]
    year = next(int(part) for part in parts if len(part) == 4)  # noqa: PLR2004 - digits
    [unit] = (part.upper() for part in parts if part.isalpha())
    number, *day = (int(part) for part in parts if part.isdigit() and len(part) < 4)  # noqa: PLR2004
    try:
        if unit in _MONTHS_OF:
            return pd.Timestamp(year, (number - 1) * _MONTHS_OF[unit] + 1, 1).date().isoformat()
        return pd.Timestamp.fromisocalendar(year, number, *(day or [1])).date().isoformat()
    except ValueError:
        return found[0]


def _first_of_month(found: re.Match[str]) -> str:
    return f"1 {_month(found[1])} {_century(found[2])}{found[2]}"


def _century(year: str) -> str:
    return "19" if int(year) >= _TWO_DIGIT_YEAR else "20"


def _by_distinct(text: "pd.Series[str]", rewrite: Any) -> "pd.Series[Any]":
    """Parse the distinct cells of a column, rewritten, for all its rows."""
    codes, cells = pd.factorize(text)
    plain = rewrite(pd.Series(cells, dtype=str))
    times: pd.Series[Any] = pd.to_datetime(plain, errors="coerce", format="mixed", utc=True)
    return times.iloc[codes].set_axis(text.index)


def _by_pandas(text: "pd.Series[str]") -> "pd.Series[Any]":
    """Parse each cell by its own format, month first where ambiguous."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on the order of day and month, decided here
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


def _in_range(times: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return times with NaT for those that nanoseconds cannot count, such as the end of year 9999."""
    years = times.dt.year
    odd = (years < pd.Timestamp.min.year + 1) | (years >= pd.Timestamp.max.year)
    return times.mask(odd) if odd.any() else times
