"""Load tables of any size into DuckDB as a stream; failures are reported in one line.

Tables that do not fit into memory spill to a scratch folder. Column types hold for all rows: a column of
numbers with a word in a late row is text.
"""

import csv
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from comind.errors import CompetitionError
from comind.profile import formatting as fmt
from comind.system.duck import duckdb, in_memory
from comind.system.hardware import usable_cores
from comind.tables.encodings import encoding_of

TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")

_MEGABYTES = 1_024
_THREADS = 4
_LINE_BYTES = 16 << 20
_HEADER_BYTES = 4 << 20
_CHUNK = 1 << 20
_LINES_SEEN = 1_000
_REASON_AT, _REASON_LENGTH = 2, 150
_SAMPLE_ROWS, _SAMPLE_CELLS, _LEAST_SAMPLE = 20_480, 1_000_000, 50
_MOST_BYTES = 20 << 30
"""Larger files are truncated to `_MOST_ROWS`, with a note."""
_MOST_ROWS = 20_000_000
_TYPES = ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"]
_MISSING = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
]
"""The strings that pandas parses as missing."""
_WITHOUT_NAN = "DOUBLE of a CSV file"


class ColumnType(StrEnum):
    """Type of the cells of a column."""

    INTEGER = "int"
    NUMBER = "float"
    DATE = "date"
    TIME = "time"
    TEXT = "text"

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers."""
        return self in (ColumnType.INTEGER, ColumnType.NUMBER)

    @property
    def is_time(self) -> bool:
        """Whether the cells are dates or times."""
        return self in (ColumnType.DATE, ColumnType.TIME)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name in the file, its name in the database, its type."""

    name: str
    key: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Table:
    """A table in the database."""

    key: str
    columns: tuple[Column, ...]
    rows: int
    note: str = ""
    """A warning about the file, such as omitted lines."""


class Database:
    """An in-memory database of the tables of one folder."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._tables = 0
        threads = min(usable_cores(), _THREADS)
        self._database = in_memory(scratch / "spilled", megabytes=_MEGABYTES, threads=threads)
        self._database.execute("SET TimeZone = 'UTC'")

    def close(self) -> None:
        """Close the connection, which drops all tables."""
        self._database.close()

    def query(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows.

        Raises:
            CompetitionError: memory or disk space ran out.
        """
        with _as_competition_error():
            found: list[tuple[Any, ...]] = self._database.execute(query).fetchall()
            return found

    def create_table(self, name: str, table: pd.DataFrame) -> None:
        """Create a table from a data frame.

        Raises:
            CompetitionError: memory or disk space ran out.
        """
        with _as_competition_error():
            self._database.from_df(table).create(name)

    def drop(self, table: Table) -> None:
        """Drop a table."""
        self._database.execute(f"DROP TABLE {table.key}")

    def load(self, path: Path) -> Table:
        """Load a whole file.

        Raises:
            CompetitionError: it cannot be parsed as a table; the message is the reason only.
        """
        with _as_competition_error():
            if not path.stat().st_size:
                raise CompetitionError("is empty")
            match path.suffix.lower():
                case ".parquet":
                    return self._load_self_describing(f"read_parquet('{self._link(path)}')", path)
                case ".jsonl" | ".ndjson":
                    options = _options(format="newline_delimited", maximum_object_size=_LINE_BYTES)
                    return self._load_self_describing(
                        f"read_json('{self._link(path)}', {options})", path
                    )
                case _:
                    return self._load_csv(path)

    def _load_self_describing(self, source: str, path: Path) -> Table:
        found = [(row[0], row[1]) for row in self.query(f"DESCRIBE SELECT * FROM {source}")]
        return self._create_table(source, path, found, [name for name, _ in found])

    def _link(self, path: Path) -> str:
        """Return a symbolic link to a file whose path contains no glob characters."""
        link = self._scratch / f"file{path.suffix.lower()}"
        link.unlink(missing_ok=True)
        link.symlink_to(path.resolve())
        return str(link)

    def _load_csv(self, path: Path) -> Table:
        """Infer types from the first rows, else from all rows, else load text without broken lines.

        Files in other encodings are first copied as UTF-8.
        """
        header = _header(path)
        reason = ""
        for sample in (max(_LEAST_SAMPLE, min(_SAMPLE_ROWS, _SAMPLE_CELLS // len(header.names))), -1, 0):
            if not sample and (encoding := _guess_encoding(path)):
                copy = self._copy_as_utf8(path, encoding)
                return replace(self._load_csv(copy), note=f"not UTF-8, read as {encoding}")
            try:
                table = self._load_typed(path, header, sample)
            except duckdb.Error as error:
                reason = reason or _error_reason(error)
                continue
            lost = 0 if sample else self._count_rejected()
            if table.rows or not lost:
                return replace(table, note=f"{lost} broken lines left out") if lost else table
        raise CompetitionError(reason)

    def _load_typed(self, path: Path, header: "_Header", sample: int) -> Table:
        """Load a file with types inferred from `sample` rows (-1: all), or as text (0)."""
        keys = [f"c{number}" for number in range(len(header.names))]
        plain_path = self._link(path)
        given: dict[str, Any] = {
            "header": True,
            "sep": header.separator,
            "quote": '"',
            "escape": '"',
            "comment": "",
            "nullstr": _MISSING,
            "max_line_size": _LINE_BYTES,
        }
        if sample:
            options = _options(
                **given,
                names=keys,
                auto_type_candidates=_TYPES,
                sample_size=sample,
                **({"types": {keys[at]: "VARCHAR" for at in header.padded}} if header.padded else {}),
            )
            [(columns, dates, times, skip)] = self._database.execute(
                "SELECT Columns, DateFormat, TimestampFormat, SkipRows "
                f"FROM sniff_csv('{plain_path}', {options})"
            ).fetchall()
            if len(columns) != len(keys):
                reason = f"the header has {len(keys)} cells, but rows have {len(columns)}"
                raise duckdb.InvalidInputException(reason)
            given |= {"dateformat": dates} if dates else {}
            given |= {"timestampformat": times} if times else {}
            types = {column["name"]: column["type"] for column in columns}
        else:
            skip, types = header.blank, dict.fromkeys(keys, "VARCHAR")
            given |= {"strict_mode": False, "ignore_errors": True, "store_rejects": True}
        options = _options(**given, auto_detect=False, skip=skip, columns=types)
        found = [(key, _WITHOUT_NAN if given == "DOUBLE" else given) for key, given in types.items()]
        return self._create_table(f"read_csv('{plain_path}', {options})", path, found, header.names)

    def _copy_as_utf8(self, path: Path, encoding: str) -> Path:
        """Copy a file as UTF-8; undecodable bytes are replaced."""
        copy = self._scratch / f"utf8{path.suffix.lower()}"
        with (
            path.open(encoding=encoding, errors="replace", newline="") as source,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(source, target, _CHUNK)
        return copy

    def _count_rejected(self) -> int:
        """Return the number of lines that the last load skipped, and reset DuckDB's records of them."""
        [(lost,)] = self._database.execute("SELECT count(DISTINCT line) FROM reject_errors").fetchall()
        self._database.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
        return int(lost)

    def _create_table(
        self, source: str, path: Path, found: Sequence[tuple[str, str]], names: Sequence[str]
    ) -> Table:
        """Create a table from a file, each column cast to one of few types.

        Args:
            source: table function that reads the file, in SQL.
            path: the file.
            found: names and types of the columns in `source`.
            names: names of the columns in the file.
        """
        key = f"t{self._tables}"
        cells = [_cast_expression(name, given) for name, given in found]
        as_it_is = cells == [f'"c{at}"' for at in range(len(cells))]  # thousands of columns cost time
        chosen = "*" if as_it_is else ", ".join(f"{cell} AS c{at}" for at, cell in enumerate(cells))
        limit = f"LIMIT {_MOST_ROWS}" if path.stat().st_size > _MOST_BYTES else ""
        self._database.execute(f"CREATE TABLE {key} AS SELECT {chosen} FROM {source} {limit}")
        self._tables += 1
        columns = tuple(
            Column(name.strip() or f"(column {at + 1} without a name)", f"c{at}", _type_of(given))
            for at, (name, (_, given)) in enumerate(zip(names, found, strict=True))
        )
        rows = int(self.query(f"SELECT count(*) FROM {key}")[0][0])
        return Table(key, columns, rows, "the first rows of more" if rows == _MOST_ROWS else "")


class _Header(NamedTuple):
    """Separator, column names and layout, parsed from the first lines of a text file."""

    separator: str
    names: list[str]
    padded: list[int]
    """Indices of columns with zero-padded numbers such as 007, which are kept as text."""
    blank: int
    """Number of blank lines before the header."""


def _options(**values: object) -> str:
    return ", ".join(f"{name} = {_literal(value)}" for name, value in values.items())


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _guess_encoding(path: Path) -> str:
    """Return the likely encoding of a file; an empty string for UTF-8."""
    with path.open("rb") as file:
        found = encoding_of(file) or "latin-1"
    return "" if found == "utf-8-sig" else found


def _cast_expression(name: str, given: str) -> str:
    """Return the SQL expression that casts a column to one of our types."""
    quoted = '"' + name.replace('"', '""') + '"'
    if given in ("BIGINT", "VARCHAR", _WITHOUT_NAN):
        return quoted
    if given in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted}::DOUBLE END"
    if given == "BLOB":
        return f"'<' || octet_length({quoted}) || ' bytes>'"
    ours = {ColumnType.INTEGER: "BIGINT", ColumnType.NUMBER: "DOUBLE", ColumnType.TEXT: "VARCHAR"}
    return f"{quoted}::{ours.get(_type_of(given), 'TIMESTAMP')}"


def _type_of(given: str) -> ColumnType:
    if given in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"):
        return ColumnType.INTEGER
    if given in ("FLOAT", "DOUBLE", _WITHOUT_NAN, "HUGEINT", "UHUGEINT", "UBIGINT") or given.startswith(
        "DECIMAL"
    ):
        return ColumnType.NUMBER
    if given == "DATE":
        return ColumnType.DATE
    return ColumnType.TIME if given.startswith("TIMESTAMP") else ColumnType.TEXT


def _header(path: Path) -> _Header:
    with path.open("rb") as file:
        text = file.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    blank, first = next(
        ((at, line) for at, line in enumerate(text.splitlines()) if line.strip()), (0, "")
    )
    separator = max(",;\t|", key=first.count) if path.suffix.lower() != ".tsv" else "\t"
    lines = csv.reader(StringIO(text, newline=""), delimiter=separator)
    padded: set[int] = set()
    try:
        names = next(line for line in lines if "".join(line).strip())
    except (csv.Error, StopIteration):
        raise CompetitionError("has no header line") from None
    with suppress(csv.Error):  # the buffer may end within a cell
        for line in islice(lines, _LINES_SEEN):
            padded |= {at for at, cell in enumerate(line[: len(names)]) if _padded(cell)}
    return _Header(separator, names, sorted(padded), blank)


def _padded(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == "0" and cell.isdigit()


def _error_reason(error: Exception) -> str:
    """Return an error's reason, truncated, without scratch paths, which differ between runs."""
    text = [line for line in str(error).splitlines() if line.strip()]
    if not text:
        return type(error).__name__
    reason = text[0].partition(": ")[2] or text[0]
    if reason.startswith("CSV Error on Line") and len(text) > _REASON_AT:
        reason = f"{reason.removeprefix('CSV Error on ').lower()}: {text[_REASON_AT]}"
    return fmt.line(re.sub(r"\S*/(?:file|utf8)\.\w+\S?", "it", reason), _REASON_LENGTH)


@contextmanager
def _as_competition_error() -> Iterator[None]:
    """Convert errors of DuckDB and of the disk to a one-line CompetitionError."""
    try:
        yield
    except (duckdb.Error, OSError, ValueError) as error:
        raise CompetitionError(_error_reason(error)) from None
