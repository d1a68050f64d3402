"""Convert tables of other formats to CSV: other delimiters and encodings, Parquet, Feather and JSON.

A table is converted in place: a copy of the labels in another format could otherwise stay where agents
read it. Rows are streamed; only a JSON array of records is read as a whole.
"""

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from comind.competitions.download.array_files import (
    ARRAY_SUFFIXES,
    PICKLE_SUFFIXES,
    check_no_pickle,
    unpack_arrays,
)
from comind.errors import CompetitionError
from comind.tables.encodings import encoding_of
from comind.tables.table_files import near_files, stem, write_rows
from comind.tables.workbooks import SUFFIXES as WORKBOOKS
from comind.tables.workbooks import sheets_of

_DELIMITERS = "\t;|,"
_SAMPLED = 1_000  # rows that decide on delimiter and quoting
_MANY = 20  # documents of one folder, rather than tables
_ROLE = re.compile(r"train|test|sample|submission|label|target|answer")


class Converted(NamedTuple):
    """Converted tables, by name of the CSV file."""

    former: dict[str, str]
    """The former name, where it was another."""
    delimited: set[str]
    """Files whose cells were not separated by commas."""


_Rows = Iterator[Sequence[Any]]
_Quoting = Literal[0, 3]
"""csv.QUOTE_MINIMAL or csv.QUOTE_NONE."""


def convert_tables(public: Path, names: Collection[str] | None = None) -> Converted:
    """Convert the tables near the top of a folder to CSV.

    With `names`, only files of these names are converted.

    CSV files with commas, UTF-8 and a name for each column are left as they are. Arrays named like a
    table of the competition (`train.npy`) become tables, and pictures if they hold some. Of a table in
    several formats one is kept.

    Raises:
        CompetitionError: a table cannot be read, or is a pickle.
    """
    converted = Converted({}, set())
    if names is None:
        _convert_arrays(public)
        converted.former.update(_convert_workbooks(public))
    files = near_files(public, (*_DELIMITED, *_CONVERTERS))
    files = [path for path in files if names is None or path.relative_to(public).as_posix() in names]
    alike = Counter((path.parent, path.suffix.lower()) for path in files)

    def few(path: Path) -> bool:
        return alike[path.parent, path.suffix.lower()] <= _MANY

    for path in files:
        suffix = path.suffix.lower()
        if suffix in _AMBIGUOUS and not (few(path) and _ROLE.search(stem(path))):
            continue
        target = path.with_suffix(".csv")
        if target != path and target.exists():  # it would show the labels of validation rows
            path.unlink()
            continue
        try:
            rows = (
                _delimited(path, converted.delimited)
                if suffix in _DELIMITED
                else _CONVERTERS[suffix](path)
            )
            first = next(rows, None) if rows is not None else None
            if rows is None or first is None:
                continue
            write_rows(target, _named([str(name) for name in first]), _texts(rows))
        except (ValueError, KeyError, OSError, ImportError, csv.Error) as error:
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise CompetitionError(f"{path.relative_to(public)}: cannot be read ({reason})") from None
        if target != path:
            path.unlink()
            converted.former[target.relative_to(public).as_posix()] = path.relative_to(public).as_posix()
    return converted


def _convert_workbooks(public: Path) -> dict[str, str]:
    """Replace workbooks of one sheet, or with sheets named like tables, by a CSV file for each sheet."""
    converted = {}
    paths = near_files(public, WORKBOOKS)
    for path in paths if len(paths) <= _MANY else ():
        former = path.relative_to(public).as_posix()
        try:
            sheets = list(sheets_of(path.read_bytes()))
        except ValueError as error:
            if _ROLE.search(stem(path)):
                raise CompetitionError(f"{former}: cannot be read ({error})") from None
            continue
        if len(sheets) != 1 and not any(_ROLE.search(sheet.name.lower()) for sheet in sheets):
            continue
        for sheet in sheets:
            name = path.stem if len(sheets) == 1 else re.sub(r"[^\w.-]+", "_", sheet.name)
            target = path.with_name(f"{name}.csv")
            if not target.exists():
                write_rows(target, _named(sheet.rows[0]), iter(sheet.rows[1:]))
                converted[target.relative_to(public).as_posix()] = former
        path.unlink()
    return converted


def _convert_arrays(public: Path) -> None:
    """Replace arrays named like a table by tables and pictures; refuse pickles named so."""
    for path in near_files(public, (*ARRAY_SUFFIXES, *PICKLE_SUFFIXES)):
        if _ROLE.search(stem(path)):
            check_no_pickle(path)
            if path.suffix.lower() in ARRAY_SUFFIXES:
                unpack_arrays(path, path.parent)
                path.unlink()


def _delimited(path: Path, others: set[str]) -> _Rows | None:
    """Return the rows of delimited text; None for CSV that needs no conversion, and for plain text.

    The name of a file with another delimiter than a comma is added to `others`.
    """
    with path.open("rb") as file:
        encoding = encoding_of(file)
        if encoding is None:
            return None  # not text
        delimiter, quoting = _dialect(file, encoding, is_csv=path.suffix.lower() == ".csv")
        if delimiter == "":
            return None
        if path.suffix.lower() == ".csv" and delimiter == "," and encoding == "utf-8-sig":
            first = next(csv.reader(_lines(file, encoding)), [""])
            if all(name.strip() for name in first):
                return None
    if delimiter != ",":
        others.add(path.with_suffix(".csv").name)
    return _read_delimited(path, encoding, delimiter, quoting)


def _read_delimited(path: Path, encoding: str, delimiter: str, quoting: _Quoting) -> _Rows:
    with path.open("rb") as file:
        yield from _delimited_rows(file, encoding, delimiter, quoting)


def _delimited_rows(file: IO[bytes], encoding: str, delimiter: str, quoting: _Quoting) -> _Rows:
    reader = csv.reader(_lines(file, encoding), delimiter=delimiter, quoting=quoting)
    return (row for row in reader if row)


def _lines(file: IO[bytes], encoding: str) -> Iterator[str]:
    """Yield the lines of an open file from its beginning."""
    with open(os.dup(file.fileno()), encoding=encoding, newline="") as text:  # noqa: PTH123 - no path
        os.lseek(text.fileno(), 0, os.SEEK_SET)
        yield from text


def _dialect(file: IO[bytes], encoding: str, *, is_csv: bool) -> tuple[str, _Quoting]:
    """Return delimiter and quoting of the first rows; an empty delimiter for text without columns."""
    best: tuple[int, str, _Quoting] = (1, "", csv.QUOTE_MINIMAL)
    for delimiter in _DELIMITERS:
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            try:
                rows = list(islice(_delimited_rows(file, encoding, delimiter, quoting), _SAMPLED))
            except csv.Error:
                continue
            widths = {len(row) for row in rows}
            if len(widths) == 1 and (width := widths.pop()) > best[0]:
                best = (width, delimiter, quoting)
    if not best[1] and is_csv:
        return ",", csv.QUOTE_MINIMAL  # one column, or rows of several widths: reported on arrival
    return best[1], best[2]


def _parquet(path: Path) -> _Rows:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        yield from _batches(file.schema_arrow.names, file.iter_batches())


def _feather(path: Path) -> _Rows:
    from pyarrow import feather

    table = feather.read_table(path, memory_map=True)
    yield from _batches(table.schema.names, table.to_batches())


def _batches(names: Sequence[str], batches: Iterable[Any]) -> _Rows:
    """Yield header and rows of Arrow batches, without the unnamed index of a pandas frame."""
    kept = [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]
    yield kept
    for batch in batches:
        columns = [batch.column(names.index(name)).to_pylist() for name in kept]
        yield from zip(*columns, strict=True)


def _json_lines(path: Path) -> _Rows:
    with path.open(encoding="utf-8-sig") as file:
        yield from _records(json.loads(line) for line in file if line.strip())


def _json_array(path: Path) -> _Rows | None:
    try:
        with path.open(encoding="utf-8-sig") as file:
            values = json.load(file)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return _json_lines(path)
    if isinstance(values, list) and values and all(isinstance(each, dict) for each in values):
        return _records(iter(values))
    return None


def _records(records: Iterator[dict[str, Any]]) -> _Rows:
    """Yield header and rows of records; columns are the keys of the first thousand, as they appear."""
    first = list(islice(records, _SAMPLED))
    names = list(dict.fromkeys(name for record in first for name in record))
    yield names
    for record in chain(first, records):
        if surplus := next((name for name in record if name not in names), None):
            raise ValueError(f"the key {surplus!r} is not in the first {_SAMPLED} records")
        yield [record.get(name) for name in names]


def _texts(rows: _Rows) -> Iterator[Sequence[str]]:
    return ([_text(value) for value in row] for row in rows)


def _text(value: object) -> str:
    """Return a cell as text: missing values are empty, lists and records JSON."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return ""
    return (
        json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, list | dict)
        else str(value)
    )


def _named(names: list[str]) -> list[str]:
    """Return the header with a name for each column."""
    return [name if name.strip() else f"column_{number}" for number, name in enumerate(names)]


_DELIMITED = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
_CONVERTERS: dict[str, Callable[[Path], _Rows | None]] = {
    **dict.fromkeys((".parquet", ".pq"), _parquet),
    **dict.fromkeys((".feather", ".arrow"), _feather),
    **dict.fromkeys((".jsonl", ".ndjson"), _json_lines),
    ".json": _json_array,
}
_AMBIGUOUS = (".txt", ".dat", ".data", ".json")
"""Suffixes of documents as well as tables: converted if named like a table of the competition."""
