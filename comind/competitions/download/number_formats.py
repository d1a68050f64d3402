"""Write numbers with decimal commas, thousands separators or currency signs as plain numbers.

A column is converted only where each of its cells is such a number, in every table that has it.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path

from comind.competitions.download.findings import Finding
from comind.domain.numbers import is_number
from comind.tables.table_files import cells, like_an_id, tables_of, write_rows

_LOOKED_AT = 1_000
"""First cells of a column; where these are words or plain numbers, it is left as it is."""
_SHOWN = 6
_SIGN = re.compile(r"[$\u20ac\u00a3\u00a5\u20b9]|\b(USD|EUR|GBP|US)(?=\b|\$)")
_SPELLED = re.compile(rf"\d,\d|\d\.\d{{3}}\.\d|{_SIGN.pattern}")
"""What makes a number no plain one."""
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[-+]?(\d+|\d{1,3}([. ]\d{3})+)(,\d+)?", re.ASCII)


def convert_numbers(public: Path, with_commas: Collection[str]) -> list[Finding]:
    """Convert the numbers of the tables near the top of a folder; return what was done.

    A comma is a decimal one in the files `with_commas`, whose cells other characters separate, and
    separates thousands in the others.
    """
    tables = tables_of(public)
    places: dict[str, list[Path]] = defaultdict(list)
    for path, names in tables.items():
        for name in names:
            places[name].append(path)
    found: dict[str, list[str]] = defaultdict(list)
    for name, paths in places.items():
        if not like_an_id(name) and (example := _example(name, paths, with_commas)):
            found[example[0]].append(f"{name} ({example[1]} is {example[2]})")
            places[name] = paths
        else:
            places[name] = []
    for path, names in tables.items():
        if mine := [name for name in names if path in places[name]]:
            _rewrite(path, names, mine, decimal_comma=path.name in with_commas)
    return [
        Finding(
            topic="numbers",
            text=f"{what}: {'; '.join(columns[:_SHOWN])}"
            + (f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""),
        )
        for what, columns in found.items()
    ]


def _example(name: str, paths: list[Path], with_commas: Collection[str]) -> tuple[str, str, str] | None:
    """Return the format of a column's numbers, and a cell before and after; None to leave it."""
    heads = [[*islice(_filled(path, name), _LOOKED_AT)] for path in paths]
    if not any(_SPELLED.search(" ".join(head)) for head in heads):
        return None
    found = None
    for path in paths:
        decimal_comma = path.name in with_commas and any("," in cell for cell in _filled(path, name))
        for cell in _filled(path, name):
            number = _plain(cell, decimal_comma=decimal_comma)
            if number is None:
                return None
            if found is None and number != cell:
                what = "decimal commas" if decimal_comma else "thousands separators"
                found = ("currency signs" if _SIGN.search(cell) else what), cell, number
    return found


def _plain(cell: str, *, decimal_comma: bool) -> str | None:
    """Return a number without signs and separators; None for what is none."""
    text = _SIGN.sub("", cell).strip()
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


def _rewrite(path: Path, names: list[str], mine: Iterable[str], *, decimal_comma: bool) -> None:
    commas = {
        names.index(name): decimal_comma and any("," in cell for cell in _filled(path, name))
        for name in mine
    }

    def converted(row: tuple[str, ...]) -> list[str]:
        return [
            (_plain(cell.strip(), decimal_comma=commas[place]) or cell) if place in commas else cell
            for place, cell in enumerate(row)
        ]

    write_rows(path, names, map(converted, cells(path, names)))
