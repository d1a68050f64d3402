"""Write numbers with decimal commas, separators of thousands, or signs as plain numbers.

A column is converted only where each of its cells is such a number, in every table that has it.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
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
_UNIT = re.compile(r"(?<=\d)\s?([^\W\d_]{1,6}|%)$")
_SPELLED = re.compile(
    r"\d\s?(?!(?i:n/?a|nan|null|none)\b)(?:[^\W\d_]{1,6}|%)(?:\s|$)"
    rf"|\d,\d|\d\.\d{{3}}\.\d|\(\d|\u2212\d|{_SIGN.pattern}"
)
"""What makes a number no plain one; words are a hint that it has a unit."""
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[-+]?(\d+|[1-9]\d{0,2}([. ]\d{3})+)(,\d+)?", re.ASCII)
_POINTS = re.compile(r"\d\.\d{3}(?!\d)")
_NONE = frozenset(["na", "n/a", "nan", "null", "none", "-", "\u2013", "\u2014", "?"])
"""Cells without a number in a column of numbers."""
_SOME_NONE = re.compile(r"(?:^| )(?:na|n/a|nan|null|none|[-\u2013\u2014])(?= |$)", re.IGNORECASE)


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
            example = f"{spelling.cell} is {spelling.number}" if spelling.number else spelling.cell
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
    of_sample = any(map(is_sample, paths))
    if not any(
        _may_be_spelled(path, name, decimal_comma=path in decimal, of_sample=of_sample) for path in paths
    ):
        return None
    read = _Read()
    are_numbers = all(read.add(path, name, decimal) for path in paths)
    return read.spelling(of_sample=of_sample) if are_numbers else None


def _may_be_spelled(path: Path, name: str, *, decimal_comma: bool, of_sample: bool) -> bool:
    """Return whether the first cells look like numbers that are no plain ones."""
    head = " ".join(islice(_filled(path, name), _LOOKED_AT))
    spelled = _SPELLED.search(head) or (of_sample and _SOME_NONE.search(head))
    return bool(spelled or (decimal_comma and _POINTS.search(head)))


@dataclass
class _Read:
    """Facts on the cells of a column that were read so far."""

    found: _Spelling | None = None
    asked: str = ""
    """The first cell of the sample that is no plain number."""
    missing: str = ""
    """The first cell without a number."""
    signs: set[str] = field(default_factory=set)
    units: set[str] = field(default_factory=set)
    """Of train and test; "" for numbers without one."""
    distinct: set[str] = field(default_factory=set)
    none: int = 0
    rows: int = 0

    def add(self, path: Path, name: str, decimal: Collection[Path]) -> bool:
        """Read the cells of one table; return whether they are numbers, of one unit in all tables."""
        decimal_comma = _has_commas(path, name, decimal)
        units: set[str] = set()
        for cell in _filled(path, name):
            number = _plain(cell, decimal_comma=decimal_comma)
            if number is None:
                return False
            self.rows, self.none = self.rows + 1, self.none + (not number)
            self.signs |= {_CURRENCIES.get(sign, sign) for sign in _SIGN.findall(cell)}
            if number:
                units.add(_unit_of(cell))
            if len(self.distinct) <= _MOST_CLASSES:
                self.distinct.add(cell)
            if not number:
                self.missing = self.missing or cell
            elif number != cell:
                what = _format_of(cell, decimal_comma=decimal_comma)
                self.found = self.found or _Spelling(what, cell, number)
                if is_sample(path) and not decimal_comma:
                    self.asked = self.asked or cell
        if not is_sample(path):
            self.units |= units
        same = len(units) <= 1 and len(self.units - {""}) <= 1  # codes such as 12A have several
        return same and not (self.asked and any(units))

    def spelling(self, *, of_sample: bool) -> _Spelling | None:
        """Return how all cells are written; None for plain numbers and classes."""
        few = len(self.distinct) <= _MOST_CLASSES
        if self.asked and few:
            what = "classes that the sample spells so, left as they are"
            return _Spelling(what, self.asked, left=True)
        if len(self.signs) > 1:
            what = "several currencies, left as they are"
            return _Spelling(what, ", ".join(sorted(self.signs)), left=True)
        if self.found is not None and self.units == {"", "%"}:  # 0.45 may be meant by 45%
            what = "signs of percent in one table alone, left as they are"
            return _Spelling(what, self.found.cell, left=True)
        if self.none >= self.rows / 2:
            return None
        if self.found is None and self.missing and of_sample and not few:
            return _Spelling("cells without a number, blank here", self.missing)
        return self.found


def _unit_of(cell: str) -> str:
    found = _UNIT.search(_SIGN.sub("", cell).strip())
    return found[1] if found else ""


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
    if _unit_of(cell):
        return "units"
    if not re.search("[,.]", cell) or cell.startswith("\u2212"):
        return "signs of minus"
    return "decimal commas" if decimal_comma and "," in cell else "thousands separators"


def _plain(cell: str, *, decimal_comma: bool) -> str | None:
    """Return a number without signs and separators, "" for a missing one; None for other text."""
    if cell.casefold() in _NONE:
        return ""
    text = _SIGN.sub("", cell).strip().replace("\u2212", "-")
    text = _UNIT.sub("", text)
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
