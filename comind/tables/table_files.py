"""Find CSV files near the top of a folder, and read their headers and cells as streams."""

import csv
import os
import re
import sys
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO

import pandas as pd

from comind.system.files import identity_of
from comind.system.progress import counted
from comind.tables.mapped_table import release_memory
from comind.tables.regular_csv import read_regular

_EVERY = 10_000  # rows between two reports of progress
_BETWEEN_RELEASES = 20 * _EVERY
_KEPT, _KEPT_HEADERS = 3, 1_000  # tables: train, test and sample

csv.field_size_limit(sys.maxsize)  # cells may contain whole documents


def near_files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files with these suffixes in a folder and its subfolders, those nearest the top first.

    Of other files, of which there may be many, no paths are made.
    """
    folders = [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir()]
    found = [
        Path(entry.path)
        for each in (folder, *folders)
        for entry in os.scandir(each)
        if entry.name.lower().endswith(suffixes) and entry.is_file()
    ]
    return sorted(found, key=lambda path: (len(path.parts), path))


def tables_of(folder: Path) -> dict[Path, list[str]]:
    """Return the header of each CSV file near the top of a folder; files without one are left out."""
    return {path: names for path in near_files(folder, (".csv",)) if (names := header(path))}


def count_rows(path: Path) -> int:
    """Return the number of rows of a CSV file, without its header."""
    table = _table(path, identity_of(path))
    if table is not None:
        return len(table)
    with _opened(path) as rows:
        return max(0, sum(map(bool, csv.reader(rows))) - 1)


def header(path: Path) -> list[str]:
    """Return the column names of a CSV file; an empty list if it has none."""
    try:
        return list(_header(path, identity_of(path)))
    except (csv.Error, OSError):
        return []


def cells(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of some columns, row by row; missing ones of a short row as empty."""
    table = _table(path, identity_of(path)) if columns else None
    if table is not None:
        for first in range(0, len(table), _EVERY):
            block = slice(first, first + _EVERY)  # of each column: of a wide table's rows it takes long
            yield from zip(*(table[name].iloc[block].tolist() for name in columns), strict=True)
            if first % _BETWEEN_RELEASES == 0:
                release_memory()
        return
    with _opened(path) as rows:
        reader = csv.reader(rows)
        names = next(reader, [])
        places = [names.index(name) for name in columns]
        for row in reader:
            if row:
                yield tuple(row[place] if place < len(row) else "" for place in places)


def text_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the cells of some columns as a table of text that may be changed."""
    table = _table(path, identity_of(path)) if columns else None
    if table is not None:
        return table[list(columns)].copy()
    return pd.DataFrame(cells(path, columns), columns=list(columns), dtype=str)


def has_repeats(path: Path, columns: Sequence[str]) -> bool:
    """Return whether several rows of a CSV file have the same cells in some columns."""
    table = _table(path, identity_of(path)) if columns else None
    if table is not None:
        return bool(table[list(columns)].duplicated().any())
    seen: set[tuple[str, ...]] = set()
    for key in cells(path, columns):
        if key in seen:
            return True
        seen.add(key)
    return False


def write_rows(path: Path, names: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    """Write a CSV file from a stream of rows; it may read the file that it replaces."""
    staged = path.with_name(f".{path.name}.new")
    with staged.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in counted(rows, f"rows of {path.name} converted", every=_EVERY):
            # The csv module does not quote a carriage return by itself.
            writer.writerow([cell.replace("\r\n", "\n").replace("\r", "\n") for cell in row])
    staged.replace(path)
    forget_tables()


def rename_columns(path: Path, names: Sequence[str]) -> None:
    """Give a CSV file another header; its present names may repeat."""
    with _opened(path) as lines:
        rows = csv.reader(lines)
        next(rows, None)
        write_rows(path, names, (row for row in rows if row))


def forget_tables() -> None:
    """Free the tables that `cells` and `count_rows` have kept for the next call."""
    _table.cache_clear()
    _header.cache_clear()


def stem(path: Path) -> str:
    """Return the letters of a file's name in lower case, without its suffix."""
    return re.sub(r"[^a-z]+", "", path.stem.lower())


def is_sample(path: Path) -> bool:
    """Return whether a file is called like a sample submission."""
    return re.search(r"sub(mission)?s?(format|template)?$|sample", stem(path)) is not None


def like_an_id(name: str) -> bool:
    """Return whether a column is called like an id."""
    return re.search(r"(^|[^a-z])(id|key|uuid)($|[^a-z])|Id$|ID$", name) is not None


def _opened(path: Path) -> IO[str]:
    return path.open(encoding="utf-8-sig", errors="replace", newline="")


@lru_cache(_KEPT)
def _table(path: Path, _identity: Hashable) -> pd.DataFrame | None:
    """Return a regular file as a table, see `read_regular`; None for others, which are streamed."""
    try:
        return read_regular(path)
    except OSError:  # no space for a mapped table
        return None


@lru_cache(_KEPT_HEADERS)
def _header(path: Path, _identity: Hashable) -> list[str]:
    with _opened(path) as rows:
        return next(csv.reader(rows), [])
