"""Read the cells of the sheets of an Excel workbook, which is a zip of XML files."""

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree as ET  # the expat of Python 3.11 refuses expanding entities

import pandas as pd

_MOST_BYTES = 256 << 20


def workbook_tables(data: bytes) -> Iterator[pd.DataFrame]:
    """Yield the sheets of a workbook as tables of text, without a header.

    Raises:
        ValueError: it is damaged or too large.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
            raise ValueError(f"larger than {_MOST_BYTES >> 20} MiB")
        try:
            shared = []
            if "xl/sharedStrings.xml" in names:
                root = ET.fromstring(archive.read("xl/sharedStrings.xml"))  # noqa: S314 - see the import
                shared = ["".join(item.itertext()) for item in root]
            for name in names:
                if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name):
                    root = ET.fromstring(archive.read(name))  # noqa: S314
                    rows = [_cells(row, shared) for row in root.iter() if row.tag.endswith("}row")]
                    if rows:
                        yield pd.DataFrame(rows, dtype=object).fillna("")
        except (ET.ParseError, IndexError) as error:
            raise ValueError(f"a damaged workbook ({error})") from None


def _cells(row: ET.Element, shared: list[str]) -> dict[str, str]:
    """Return the text of each cell by its column."""
    found: dict[str, str] = {}
    for cell in row:
        column = re.sub(r"\d", "", cell.get("r", str(len(found))))
        text = "".join(part.text or "" for part in cell.iter() if part.tag.endswith(("}v", "}t")))
        found[column] = shared[int(text)] if cell.get("t") == "s" and text else text
    return found
