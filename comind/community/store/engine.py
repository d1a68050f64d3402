"""Run DuckDB queries on files larger than memory."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from comind.errors import CommunityError, DiskError
from comind.system.duck import duckdb, in_memory

_DISK_HINT = "free disk space for the store; the import resumes"
_THREAD_MEGABYTES = 256
"""Memory per thread; with less, DuckDB fails instead of waiting."""
_LINE_BYTES = 16 << 20
_GROUP_ROWS = 50_000
"""Rows per Parquet row group; small groups let a query skip what it does not need."""


class Engine:
    """An in-memory database over files; data beyond `megabytes` spills to the folder `scratch`."""

    def __init__(self, scratch: Path, *, megabytes: int) -> None:
        threads = min(os.cpu_count() or 1, max(1, megabytes // _THREAD_MEGABYTES))
        self._database = in_memory(scratch, megabytes=megabytes, threads=threads, keep_order=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def run(self, name: str) -> None:
        """Execute the statements of `sql/<name>.sql`."""
        with _translate_errors(name):
            self._database.execute(_statements(name))

    def rows(self, name: str, **values: object) -> list[dict[str, Any]]:
        """Return the rows of the query `sql/<name>.sql` with the parameters `values`."""
        with _translate_errors(name):
            found = self._database.execute(_statements(name), values or None)
            columns = [column[0] for column in found.description or ()]
            return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def count(self, view: str, *conditions: str) -> list[int]:
        """Return the number of rows of a view that satisfy each condition."""
        counts = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in conditions)
        with _translate_errors(view):
            return list(self._database.view(view).aggregate(counts).fetchall()[0])

    def set_variables(self, **values: object) -> None:
        """Set variables for later statements, read by `getvariable`."""
        for name, value in values.items():
            self._database.execute(f"SET VARIABLE {name} = ?", [value])

    def define(self, name: str, query: str) -> None:
        """Create a view of a query."""
        with _translate_errors(name):
            self._database.sql(query).create_view(name, replace=True)

    def store(self, name: str, query: str) -> None:
        """Create a temporary table of the rows of a query."""
        with _translate_errors(name):
            self._database.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def view(self, name: str, paths: Sequence[Path], columns: Mapping[str, str]) -> None:
        """Create a view of Parquet files; columns missing from a file are null.

        Without files, the view has these columns and no rows.
        """
        with _translate_errors(name):
            if paths:
                found = self._database.read_parquet([str(path) for path in paths], union_by_name=True)
            else:
                given = ", ".join(f'NULL::{kind} AS "{column}"' for column, kind in columns.items())
                found = self._database.sql(f"SELECT {given} LIMIT 0")
            found.create_view(name, replace=True)

    def csv(self, name: str, path: Path, columns: Sequence[str], *, strict: bool = True) -> None:
        """Create a view of the rows of a CSV file as text, without rows of the wrong number of fields.

        Invalid UTF-8 may end reading; if not `strict`, it does not, and extra fields are ignored.
        """
        with _translate_errors(path.name):
            self._database.read_csv(
                str(path),
                header=True,
                delimiter=",",
                quotechar='"',
                escapechar='"',
                all_varchar=True,
                auto_detect=False,
                columns=dict.fromkeys(columns, "VARCHAR"),
                max_line_size=_LINE_BYTES,
                ignore_errors=True,
                strict_mode=strict,
                store_rejects=True,
            ).create_view(name, replace=True)

    def json(self, name: str, path: Path, columns: Mapping[str, str]) -> None:
        """Create a view of a JSON Lines file."""
        with _translate_errors(path.name):
            given = dict(columns)
            self._database.read_json(
                str(path), columns=given, format="newline_delimited", maximum_object_size=_LINE_BYTES
            ).create_view(name, replace=True)

    def rejected(self) -> dict[str, int]:
        """Return the number of CSV lines rejected since the last call, by reason."""
        with contextlib.suppress(duckdb.CatalogException):  # no table before the first rejection
            query = (
                "SELECT lower(error_type::VARCHAR), count(DISTINCT line) FROM reject_errors GROUP BY ALL"
            )
            found = dict(self._database.execute(query).fetchall())
            self._database.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
            return found
        return {}

    def write(
        self,
        view: str,
        path: Path,
        columns: Iterable[str] = ("*",),
        order: Iterable[str] = (),
        compression: str = "lz4_raw",
    ) -> int:
        """Write columns of a view to a Parquet file, sorted by `order`; returns the number of rows.

        Text of version 2 is read faster than that of version 1, and takes less space.
        """
        by = f"ORDER BY {', '.join(order)}" if order else ""
        query = f"""
            COPY (SELECT {", ".join(columns)} FROM (FROM {view} {by})) TO $path
            (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION {compression}, ROW_GROUP_SIZE {_GROUP_ROWS})
        """  # noqa: S608 - our own names
        with _translate_errors(path.stem):
            return int(self._database.execute(query, {"path": str(path)}).fetchall()[0][0])


def _statements(name: str) -> str:
    return (files("comind.community.store") / "sql" / f"{name}.sql").read_text()


@contextlib.contextmanager
def _translate_errors(what: str) -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise DiskError(
            f"{what}: not enough disk space: {str(error).splitlines()[0]}",
            hint=_DISK_HINT,
        ) from None
    except duckdb.IOException as error:
        if "No space left" in str(error):
            raise DiskError(f"{what}: no space left on the disk", hint=_DISK_HINT) from None
        raise CommunityError(f"{what}: cannot be read: {str(error).splitlines()[0]}") from None
    except duckdb.InvalidInputException as error:
        raise CommunityError(f"{what}: cannot be read: {str(error).splitlines()[0]}") from None
