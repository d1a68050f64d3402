"""Compare cells of two columns by value: `12`, `12.0` and `12 cm`, `Oslo` and `OSLO`, and dates."""

import re
import unicodedata
from typing import Any, NamedTuple

import pandas as pd

from comind.domain.numbers import NUMBER
from comind.tables.dates import are_like_dates, parse_dates

_LOOKED_AT = 1_000
_MOST_DISTINCT = 100_000
_REPEATED = 0.9
"""Share of different cells above which a column has hardly any cell twice, so that none is compared."""
_AGREE = 0.5
"""Share of the cells of the column with fewer different ones that the other has, too."""
_MEASURE = re.compile(
    r"([-+]?)\s*([$\u20ac\u00a3]?)\s*(\d+(?:[.,]\d+)?)\s*([^\W\d]{0,5}[%\u00b0\u00b2\u00b3]?)"
)
"""A number with a sign of currency or a unit, or with a decimal comma."""
_DASHES = {ord(dash): "-" for dash in "\u2010\u2011\u2012\u2013\u2014\u2212"}
_FLAGS = {"true": "1", "yes": "1", "t": "1", "y": "1", "false": "0", "no": "0", "f": "0", "n": "0"}
_CODE = re.compile(r"[-+]?0\d")  # a number with a leading zero is a code


class Unified(NamedTuple):
    """Two columns, in one spelling where they were made to agree."""

    one: "pd.Series[str]"
    other: "pd.Series[str]"
    note: str = ""
    """What was unified, with an example; empty where nothing was."""


def unify(one: "pd.Series[str]", other: "pd.Series[str]") -> Unified:
    """Return two columns in one spelling where that alone makes them agree.

    Numbers are spelled as Python writes them and without units, words without blanks around them and in
    small letters, dates as ISO dates, yes and no as 1 and 0. Columns that agree as they are, or do not
    agree in any spelling, are returned as they are.
    """
    heads = one.head(_LOOKED_AT), other.head(_LOOKED_AT)
    if _agree(*heads) or min(head.nunique() / max(1, len(head)) for head in heads) > _REPEATED:
        return Unified(one, other)
    distinct = [pd.Series(column.unique(), dtype=str) for column in (one, other)]
    if max(map(len, distinct)) > _MOST_DISTINCT or min(map(len, distinct)) == 0 or _agree(*distinct):
        return Unified(one, other)
    for what, spell in _SPELLINGS:
        spelled = spell(*distinct)
        if spelled is not None and _agree(*spelled):
            first, second = (
                dict(zip(cells, new, strict=True)) for cells, new in zip(distinct, spelled, strict=True)
            )
            pairs = (pair for pair in (*first.items(), *second.items()) if pair[0] != pair[1])
            cell, new = next(pairs)
            return Unified(one.map(first), other.map(second), f"{what} ({cell!r} is {new!r})")
    return Unified(one, other)


def _agree(one: "pd.Series[str]", other: "pd.Series[str]") -> bool:
    """Return whether most different cells of one column are in the other, too."""
    first, second = set(one), set(other)
    return len(first & second) >= _AGREE * min(len(first), len(second))


def _numbers(*columns: "pd.Series[str]") -> "list[pd.Series[str]] | None":
    found = []
    for column in columns:
        text = column.str.strip()
        filled = text[text != ""]
        if not filled.str.fullmatch(NUMBER).all() or filled.str.match(_CODE).any():
            return None
        found.append(text.map(_number))
    return found


def _number(cell: str) -> str:
    if not cell:
        return cell
    value = float(cell)
    return str(int(value)) if value.is_integer() else repr(value)


def _measures(*columns: "pd.Series[str]") -> "list[pd.Series[str]] | None":
    """Return numbers without units, signs of currency and decimal commas.

    None if a cell is no number, or a column has several units, as codes such as 12A and 12B.
    """
    found = []
    for column in columns:
        read = [_MEASURE.fullmatch(cell.strip().translate(_DASHES)) for cell in column]
        if len({(each[2], each[4]) for each in read if each is not None}) > 1:
            return None
        plain = [
            cell if each is None else f"{each[1]}{each[3].replace(',', '.')}"
            for cell, each in zip(column, read, strict=True)
        ]
        found.append(pd.Series(plain, index=column.index, dtype=str))
    return _numbers(*found)


def _flags(*columns: "pd.Series[str]") -> "list[pd.Series[str]] | None":
    """Return yes and no as 1 and 0; None for columns of other cells."""
    found = [column.map(lambda cell: _FLAGS.get(_word(cell), cell.strip())) for column in columns]
    return found if all(spelled.isin(["1", "0", ""]).all() for spelled in found) else None


def _dates(*columns: "pd.Series[str]") -> "list[pd.Series[str]] | None":
    found: list[Any] = []
    for column in columns:
        if not are_like_dates(column[column.str.strip() != ""].head(_LOOKED_AT)):
            return None
        times = parse_dates(column).times
        found.append(times.dt.strftime("%Y-%m-%d %H:%M:%S").fillna(column))
    return found


def _words(*columns: "pd.Series[str]") -> "list[pd.Series[str]] | None":
    """Return words in small letters; None if case makes cells of one column different."""
    found = [column.map(_word) for column in columns]
    return found if all(words.is_unique for words in found) else None


def _word(cell: str) -> str:
    plain = unicodedata.normalize("NFC", cell).translate(_DASHES)
    return " ".join(plain.split()).casefold()


_SPELLINGS = (
    ("numbers", _numbers),
    ("dates", _dates),
    ("words", _words),
    ("yes and no", _flags),
    ("numbers", _measures),
)
