"""Read the rows of a whole text: its encoding and delimiter, and each record with its own text."""

import codecs
import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pandas as pd

from comind.tables.encodings import encoding_of

_SAMPLED = 1_000  # lines that decide on the delimiter
_SAME_WIDTH = 0.9
_DELIMITERS = "\t;|, "


def decoded(data: bytes) -> tuple[str, str]:
    """Return a text and its encoding."""
    encoding = encoding_of(io.BytesIO(data)) or "latin-1"
    if encoding == "utf-8-sig" and not data.startswith(codecs.BOM_UTF8):
        encoding = "utf-8"
    return data.decode(encoding, errors="replace"), encoding


def json_lines(text: str) -> list[Any] | None:
    """Return the values of JSON lines; None for other text."""
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None


def delimited(text: str, mark: str) -> pd.DataFrame:
    """Return a table of delimited text, its header a row of it; of other text, a row for each line."""
    rows = [cells for cells, _ in records(text, mark)]
    width = Counter(map(len, rows)).most_common(1)[0][0]
    padded = [(*row, *[""] * width)[:width] for row in rows]
    table = pd.DataFrame(padded, dtype=str)
    header = [name.strip() for name in padded[0]]
    if len(set(header)) == width and all(header):
        table = table.set_axis(header, axis="columns")
    return table.rename(columns=str)


def delimiter(text: str) -> str:
    """Return what divides the cells of nearly all lines; empty for lines without cells."""
    lines = list(islice(io.StringIO(text), _SAMPLED))
    best, widest = "", 1
    for mark in _DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        if width > widest and count >= _SAME_WIDTH * widths.total():
            best, widest = mark, width
    return best


def records(text: str, mark: str) -> Iterator[tuple[list[str], str]]:
    """Yield the cells of each record, and its own text."""
    lines = text.splitlines(keepends=True) if "\n" not in text else io.StringIO(text, newline="\n")
    if not mark:
        yield from (([line.rstrip("\r\n")], line) for line in lines if line.strip())
        return
    kept: list[str] = []

    def remembered() -> Iterator[str]:
        for line in lines:
            kept.append(line)
            yield line

    for row in csv.reader(remembered(), delimiter=mark):
        own = "".join(kept)
        kept.clear()
        if row:
            yield row, own
