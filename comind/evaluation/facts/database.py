"""Tables of any size in DuckDB, read as a stream: what a file holds, or one line why it cannot be read.

A table that does not fit into memory goes to a scratch folder. Types hold for all rows: what looks like
numbers at first and holds a word later is text.
"""

import codecs
import csv
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from io import StringIO
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pandas as pd

from comind.errors import CompetitionError
from comind.evaluation.facts.words import plain
from comind.system.cores import usable_cores

__all__ = ["TABLE_ENDINGS", "Column", "Database", "Kind", "Table"]

TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")

_MEGABYTES = 1_024
_THREADS = 4
_LINE_BYTES = 16 << 20
_HEADER_BYTES = 4 << 20
_CHUNK = 1 << 20
_LINES_SEEN = 1_000
_REASON_AT, _REASON_LENGTH = 2, 150
_SAMPLE_ROWS = 20_480
_MOST_BYTES = 20 << 30
"""A larger file is read up to `_MOST_ROWS`, and that is said."""
_MOST_ROWS = 20_000_000
_TYPES = ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"]
_MISSING = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
]
"""What pandas takes for a missing cell."""


class Kind(StrEnum):
    """What the cells of a column are."""

    WHOLE = "int"
    NUMBER = "float"
    DATE = "date"
    TIME = "time"
    TEXT = "text"

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers."""
        return self in (Kind.WHOLE, Kind.NUMBER)

    @property
    def is_moment(self) -> bool:
        """Whether the cells are dates or times."""
        return self in (Kind.DATE, Kind.TIME)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name in the file, its name in the database, what its cells are."""

    name: str
    key: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """A table in the database."""

    key: str
    columns: tuple[Column, ...]
    rows: int
    note: str = ""
    """What is odd about the file, or could not be read of it."""

    def column(self, name: str) -> Column | None:
        """Return the column of that name in the file, if there is one."""
        return next((column for column in self.columns if column.name == name), None)


class Database:
    """The tables of one folder, for as long as the block lasts."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._tables = 0
        self._database = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": f"{_MEGABYTES}MB",
                "threads": min(usable_cores(), _THREADS),
                "temp_directory": str(scratch / "spilled"),
                # Extensions would be fetched from afar, and nothing here needs one.
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        self._database.execute("SET TimeZone = 'UTC'")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds.

        Raises:
            CompetitionError: there is no room for what the query needs.
        """
        with _one_line():
            found: list[tuple[Any, ...]] = self._database.execute(query).fetchall()
            return found

    def put(self, name: str, table: pd.DataFrame) -> None:
        """Keep a table of ours under a name.

        Raises:
            CompetitionError: there is no room for it.
        """
        with _one_line():
            self._database.from_df(table).create(name)

    def drop(self, table: Table) -> None:
        """Forget a table."""
        self._database.execute(f"DROP TABLE {table.key}")

    def load(self, path: Path) -> Table:
        """Read a whole file.

        Raises:
            CompetitionError: it is no table, or too broken to be read as one; the reason alone.
        """
        with _one_line():
            if not path.stat().st_size:
                raise CompetitionError("is empty")
            match path.suffix.lower():
                case ".parquet":
                    return self._keep(self._database.read_parquet(self._plain(path)), path)
                case ".jsonl" | ".ndjson":
                    return self._keep(self._json(path), path)
                case _:
                    return self._load_csv(path)

    def _json(self, path: Path) -> duckdb.DuckDBPyRelation:
        return self._database.read_json(
            self._plain(path), format="newline_delimited", maximum_object_size=_LINE_BYTES
        )

    def _plain(self, path: Path) -> str:
        """Return a name for a file that has no characters of patterns in it."""
        link = self._scratch / f"file{path.suffix.lower()}"
        link.unlink(missing_ok=True)
        link.symlink_to(path.resolve())
        return str(link)

    def _load_csv(self, path: Path) -> Table:
        """Try the types of the first rows, then those of all rows, then text without the broken lines.

        A file that is not UTF-8 is read from a copy that is.
        """
        separator, names, padded = _header(path)
        keys = [f"c{number}" for number in range(len(names))]
        given: dict[str, Any] = {
            "header": True,
            "sep": separator,
            "quotechar": '"',
            "escapechar": '"',
            "comment": "",
            "na_values": _MISSING,
            "max_line_size": _LINE_BYTES,
        }
        typed = {
            "names": keys,
            "auto_type_candidates": _TYPES,
            "dtype": {keys[number]: "VARCHAR" for number in padded},
        }
        text = {
            "columns": dict.fromkeys(keys, "VARCHAR"),
            "auto_detect": False,
            "strict_mode": False,
            "ignore_errors": True,
            "store_rejects": True,
        }
        reason = ""
        for more in ({**typed, "sample_size": _SAMPLE_ROWS}, {**typed, "sample_size": -1}, text):
            if more is text and (encoding := _other_encoding(path)):
                copy = self._recoded(path, encoding)
                return replace(self._load_csv(copy), note=f"not UTF-8, read as {encoding}")
            try:
                file = self._database.read_csv(self._plain(path), **given, **more)
                if len(file.columns) != len(names):
                    reason = f"the header has {len(names)} cells, but rows have {len(file.columns)}"
                    continue
                table = self._keep(file, path, names)
            except duckdb.Error as error:
                reason = reason or _first_line(error)
                continue
            lost = self._rejected() if more is text else 0
            if table.rows or not lost:
                return replace(table, note=f"{lost} broken lines left out") if lost else table
        raise CompetitionError(reason)

    def _recoded(self, path: Path, encoding: str) -> Path:
        """Return a copy of a file in UTF-8; characters that it does not have are replaced."""
        copy = self._scratch / f"utf8{path.suffix.lower()}"
        with (
            path.open(encoding=encoding, errors="replace", newline="") as source,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(source, target, _CHUNK)
        return copy

    def _rejected(self) -> int:
        """Return how many lines the last reading left out."""
        [(lost,)] = self._database.execute("SELECT count(DISTINCT line) FROM reject_errors").fetchall()
        self._database.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
        return int(lost)

    def _keep(
        self, file: duckdb.DuckDBPyRelation, path: Path, names: Sequence[str] = (), note: str = ""
    ) -> Table:
        """Store what a file holds, each column as one of few types."""
        key = f"t{self._tables}"
        found = [(name, str(kind)) for name, kind in zip(file.columns, file.types, strict=True)]
        names = names or file.columns
        query = file.project(
            ", ".join(f"{_cell(name, kind)} AS c{at}" for at, (name, kind) in enumerate(found))
        )
        large = path.stat().st_size > _MOST_BYTES
        (query.limit(_MOST_ROWS) if large else query).create(key)
        self._tables += 1
        columns = tuple(
            Column(name.strip() or f"(column {at + 1} without a name)", f"c{at}", _kind(kind))
            for at, (name, (_, kind)) in enumerate(zip(names, found, strict=True))
        )
        rows = int(self.ask(f"SELECT count(*) FROM {key}")[0][0])
        return Table(key, columns, rows, "the first rows of more" if rows == _MOST_ROWS else note)


def _other_encoding(path: Path) -> str:
    """Return the likely encoding of a file that is not UTF-8; nothing for one that is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        file.seek(0)
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
        except UnicodeDecodeError:
            return "latin-1"
    return ""


def _cell(name: str, kind: str) -> str:
    """Return the expression that turns a cell into one of our types."""
    quoted = '"' + name.replace('"', '""') + '"'
    if kind in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted}::DOUBLE END"
    match _kind(kind):
        case Kind.WHOLE:
            return f"{quoted}::BIGINT"
        case Kind.NUMBER:
            return f"{quoted}::DOUBLE"
        case Kind.DATE | Kind.TIME:
            return f"{quoted}::TIMESTAMP"
        case Kind.TEXT:
            return (
                f"'<' || octet_length({quoted}) || ' bytes>'" if kind == "BLOB" else f"{quoted}::VARCHAR"
            )


def _kind(kind: str) -> Kind:
    if kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"):
        return Kind.WHOLE
    if kind in ("FLOAT", "DOUBLE", "HUGEINT", "UHUGEINT", "UBIGINT") or kind.startswith("DECIMAL"):
        return Kind.NUMBER
    if kind == "DATE":
        return Kind.DATE
    return Kind.TIME if kind.startswith("TIMESTAMP") else Kind.TEXT


def _header(path: Path) -> tuple[str, list[str], list[int]]:
    """Return a file's separator, its columns' names, and which columns have numbers such as 007."""
    with path.open("rb") as file:
        text = file.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(",;\t|", key=first.count) if path.suffix.lower() != ".tsv" else "\t"
    lines = csv.reader(StringIO(text, newline=""), delimiter=separator)
    try:
        names = next(line for line in lines if "".join(line).strip())
    except (csv.Error, StopIteration):
        raise CompetitionError("has no header line") from None
    padded: set[int] = set()
    try:
        for line in islice(lines, _LINES_SEEN):
            padded |= {at for at, cell in enumerate(line[: len(names)]) if _padded(cell)}
    except csv.Error:
        pass  # the end of what was read, in the middle of a cell
    return separator, names, sorted(padded)


def _padded(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == "0" and cell.isdigit()


def _first_line(error: Exception) -> str:
    """Return the reason alone: a scratch folder's name is another each time, and a line may be long."""
    text = [line for line in str(error).splitlines() if line.strip()]
    if not text:
        return type(error).__name__
    said = text[0].partition(": ")[2] or text[0]
    if said.startswith("CSV Error on Line") and len(text) > _REASON_AT:
        said = f"{said.removeprefix('CSV Error on ').lower()}: {text[_REASON_AT]}"
    return plain(re.sub(r"\S*/(?:file|utf8)\.\w+\S?", "it", said), _REASON_LENGTH)


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what the engine or the disk says into one line."""
    try:
        yield
    except (duckdb.Error, OSError, ValueError) as error:
        raise CompetitionError(_first_line(error)) from None
