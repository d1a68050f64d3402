"""Write numbers with decimal commas, separators of thousands, or signs as plain numbers.

A column is converted only where each of its cells is such a number, in every table that has it.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from comind.competitions.download.findings import Finding
from comind.domain.numbers import is_number
from comind.tables.table_files import (
    cells,
    header,
    is_sample,
    like_an_id,
    tables_of,
    write_rows,
)

_LOOKED_AT = 1_000
"""First cells of a column; where these are words or plain numbers, it is left as it is."""
_SHOWN = 6
_MOST_CLASSES = 20
_CURRENCIES = {"$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "US": "USD", "US$": "USD"}
_SIGN = re.compile(r"US\$|[$\u20ac\u00a3\u00a5\u20b9]|\b(?:USD|EUR|GBP|US)\b")
_SPELLED = re.compile(rf"\d,\d|\d\.\d{{3}}\.\d|\d\s?%|\(\d|\u2212\d|{_SIGN.pattern}")
"""What makes a number no plain one."""
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[-+]?(\d+|[1-9]\d{0,2}([. ]\d{3})+)(,\d+)?", re.ASCII)
_POINTS = re.compile(r"\d\.\d{3}(?!\d)")
_NONE = frozenset(["na", "n/a", "nan", "null", "none", "-", "\u2013", "\u2014", "?"])
"""Cells without a number in a column of numbers."""


class _Spelling(NamedTuple):
    """The form of the numbers of a column, with a cell before and after."""

    what: str
    cell: str = ""
    number: str = ""
    left: bool = False
    """Whether they are left as they are, for the reason in `what`."""


def convert_numbers(public: Path, with_commas: Collection[str]) -> list[Finding]:
    """Convert the numbers of the tables near the top of a folder; return what was done.

    A comma is a decimal one in the files `with_commas`, whose cells other characters separate, and
    separates thousands in the others. Classes that the sample spells are left as they are, as a
    submission needs the spelling.
    """
    tables = tables_of(public)
    decimal = {path for path in tables if path.name in with_commas and _has_decimal_commas(path)}
    places: dict[str, list[Path]] = defaultdict(list)
    for path, names in tables.items():
        for name in names:
            places[name].append(path)
    found: dict[str, list[str]] = defaultdict(list)
    for name, paths in places.items():
        spelling = None if like_an_id(name) else _spelling(name, paths, decimal)
        if spelling is not None:
            example = spelling.cell if spelling.left else f"{spelling.cell} is {spelling.number}"
            found[spelling.what].append(f"{name} ({example})")
        places[name] = paths if spelling is not None and not spelling.left else []
    for path, names in tables.items():
        if mine := [name for name in names if path in places[name]]:
            _rewrite(path, names, mine, decimal)
    return [
        Finding(
            topic="numbers",
            text=f"{what}: {'; '.join(columns[:_SHOWN])}"
            + (f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""),
        )
        for what, columns in found.items()
    ]


def _has_decimal_commas(path: Path) -> bool:
    rows = islice(cells(path, header(path)), _LOOKED_AT)
    return any("," in cell and _DECIMAL_COMMA.fullmatch(cell.strip()) for row in rows for cell in row)


def _spelling(name: str, paths: list[Path], decimal: Collection[Path]) -> _Spelling | None:
    """Return how a column's numbers are written; None for plain numbers, and for other text."""
    heads = {path: " ".join(islice(_filled(path, name), _LOOKED_AT)) for path in paths}
    if not any(
        _SPELLED.search(head) or (path in decimal and _POINTS.search(head))
        for path, head in heads.items()
    ):
        return None
    found, asked = None, ""
    signs: set[str] = set()
    distinct: set[str] = set()
    none, rows = 0, 0
    for path in paths:
        decimal_comma = _has_commas(path, name, decimal)
        for cell in _filled(path, name):
            number = _plain(cell, decimal_comma=decimal_comma)
            if number is None:
                return None
            rows, none = rows + 1, none + (not number)
            signs |= {_CURRENCIES.get(sign, sign) for sign in _SIGN.findall(cell)}
            if len(distinct) <= _MOST_CLASSES:
                distinct.add(cell)
            if number and number != cell:
                found = found or _Spelling(_format_of(cell, decimal_comma=decimal_comma), cell, number)
                asked = asked or (cell if is_sample(path) and not decimal_comma else "")
    if asked and len(distinct) <= _MOST_CLASSES:
        return _Spelling("classes that the sample spells so, left as they are", asked, left=True)
    if len(signs) > 1:
        return _Spelling("several currencies, left as they are", ", ".join(sorted(signs)), left=True)
    return found if none < rows / 2 else None


def _has_commas(path: Path, name: str, decimal: Collection[Path]) -> bool:
    """Return whether commas in a column are decimal ones, and points separate thousands."""
    return path in decimal and all(
        _plain(cell, decimal_comma=True) is not None for cell in _filled(path, name)
    )


def _format_of(cell: str, *, decimal_comma: bool) -> str:
    if _SIGN.search(cell):
        return "currency signs"
    if "%" in cell:
        return "signs of percent"
    if not re.search("[,.]", cell) or cell.startswith("\u2212"):
        return "signs of minus"
    return "decimal commas" if decimal_comma and "," in cell else "thousands separators"


def _plain(cell: str, *, decimal_comma: bool) -> str | None:
    """Return a number without signs and separators, "" for a missing one; None for other text."""
    if cell.casefold() in _NONE:
        return ""
    text = _SIGN.sub("", cell).strip().replace("\u2212", "-").removesuffix("%").rstrip()
    text = re.sub(r"^\((\S+)\)$", r"-\1", text)  # as accountants write what is negative
    text = re.sub(r"^([-+])\s+", r"\1", text)
    if decimal_comma:
        if _DECIMAL_COMMA.fullmatch(text):
            return text.replace(".", "").replace(" ", "").replace(",", ".")
        return None
    if _THOUSANDS.fullmatch(text):
        return text.replace(",", "")
    return text if is_number(text) else None


def _filled(path: Path, name: str) -> Iterator[str]:
    """Yield the cells of a column that are not blank, without blanks around them."""
    return (text for (cell,) in cells(path, [name]) if (text := cell.strip()))


def _rewrite(path: Path, names: list[str], mine: Iterable[str], decimal: Collection[Path]) -> None:
    commas = {names.index(name): _has_commas(path, name, decimal) for name in mine}

    def converted(row: tuple[str, ...]) -> list[str]:
        return [
            _plain(text, decimal_comma=commas[place]) or ""
            if place in commas and (text := cell.strip())
            else cell
            for place, cell in enumerate(row)
        ]

    write_rows(path, names, map(converted, cells(path, names)))
