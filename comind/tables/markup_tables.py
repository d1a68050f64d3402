"""Read the records of an XML file, or the rows of a well-formed HTML table, as a table."""

from xml.etree import ElementTree as ET  # the expat of Python 3.11 refuses expanding entities

import pandas as pd


def markup_table(text: str) -> pd.DataFrame | None:
    """Return a row for each child of the element that has most; None for other text."""
    try:
        root = ET.fromstring(text)  # noqa: S314 - see the import
    except (ET.ParseError, ValueError):
        return None
    widest = max(root.iter(), key=len)
    rows = [_values(child) for child in widest]
    return pd.DataFrame(rows, dtype=object).fillna("") if rows else None


def _values(record: ET.Element) -> dict[str, str]:
    """Return the attributes and texts in a record by the number and name of their element."""
    found: dict[str, str] = {}
    for number, element in enumerate(record.iter()):
        tag = f"{number} {element.tag}"
        found |= {f"{tag} {name}": value for name, value in element.attrib.items()}
        if (text := (element.text or "").strip()) != "":
            found[tag] = text
    return found
