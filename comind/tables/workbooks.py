"""Read the sheets of Excel and OpenDocument workbooks as text."""

import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import NamedTuple

SUFFIXES = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
_MOST_BYTES = 256 << 20


class Sheet(NamedTuple):
    """The cells of a sheet as text, row by row; blank rows and columns around them are left out."""

    name: str
    rows: list[list[str]]


def sheets_of(data: bytes) -> Iterator[Sheet]:
    """Yield the sheets of a workbook that have cells.

    Raises:
        ValueError: it is damaged, encrypted or too large.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    if len(data) > _MOST_BYTES or (data.startswith(b"PK") and _unpacked(data) > _MOST_BYTES):
        raise ValueError(f"larger than {_MOST_BYTES >> 20} MiB")
    try:
        workbook = CalamineWorkbook.from_object(io.BytesIO(data))
        for name in workbook.sheet_names:
            rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=True)
            if any(cell != "" for row in rows for cell in row):
                yield Sheet(name, [[_text(cell) for cell in row] for row in rows])
    except (CalamineError, KeyError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"no workbook that can be read ({reason})") from None


def column_letters(count: int) -> list[str]:
    """Return the letters that spreadsheets call their first columns by: A to Z, AA, AB ..."""
    names: list[str] = []
    for place in range(count):
        before = names[place // 26 - 1] if place >= 26 else ""  # noqa: PLR2004 - letters
        names.append(before + chr(ord("A") + place % 26))
    return names


def _unpacked(data: bytes) -> int:
    """Return the size of the files in a zip, as its directory states them."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile:
        raise ValueError("a damaged workbook") from None


def _text(cell: object) -> str:
    """Return a cell as a CSV file would have it: whole numbers without a point, ISO dates."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
