"""DuckDB behind a few plain methods: tables larger than memory, read and written as they stream."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from comind.errors import CommunityError, DiskError
from comind.system import duck

__all__ = ["Engine"]

_ROOM = "make room on the disk of the store; the import goes on where it was"
_THREAD_MEGABYTES = 256
"""Memory that a thread of the engine wants for itself; with less it fails where it should wait."""
_LINE_BYTES = 16 << 20
_GROUP_ROWS = 50_000
"""Rows that Parquet keeps together; small groups let a query pass over what it does not need."""


class Engine:
    """One database in memory over files on disk; what does not fit goes to the folder `scratch`."""

    def __init__(self, scratch: Path, *, megabytes: int) -> None:
        threads = min(os.cpu_count() or 1, max(1, megabytes // _THREAD_MEGABYTES))
        self._database = duck.in_memory(scratch, megabytes=megabytes, threads=threads, keep_order=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def run(self, name: str) -> None:
        """Run the statements of the file `sql/<name>.sql`."""
        with _plain_errors(name):
            self._database.execute(_statements(name))

    def rows(self, name: str, **values: object) -> list[dict[str, Any]]:
        """Return the rows that the query `sql/<name>.sql` finds, `values` standing for its `$names`."""
        with _plain_errors(name):
            found = self._database.execute(_statements(name), values or None)
            columns = [column[0] for column in found.description or ()]
            return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def count(self, view: str, *conditions: str) -> list[int]:
        """Return how many rows a view has for which each of the conditions holds."""
        counts = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in conditions)
        with _plain_errors(view):
            return list(self._database.view(view).aggregate(counts).fetchall()[0])

    def let(self, **values: object) -> None:
        """Set variables that later statements read by `getvariable`."""
        for name, value in values.items():
            self._database.execute(f"SET VARIABLE {name} = ?", [value])

    def define(self, name: str, query: str) -> None:
        """Name what a query finds."""
        with _plain_errors(name):
            self._database.sql(query).create_view(name, replace=True)

    def view(self, name: str, paths: Sequence[Path], columns: Mapping[str, str]) -> None:
        """Name what lies in Parquet files; a column that one of them lacks is empty.

        Without files it is a view of these columns, without rows.
        """
        with _plain_errors(name):
            if paths:
                found = self._database.read_parquet([str(path) for path in paths], union_by_name=True)
            else:
                given = ", ".join(f'NULL::{kind} AS "{column}"' for column, kind in columns.items())
                found = self._database.sql(f"SELECT {given} LIMIT 0")
            found.create_view(name, replace=True)

    def csv(self, name: str, path: Path, columns: Sequence[str], *, strict: bool = True) -> None:
        """Name the rows of a CSV file, all text, without those that have too few or many parts.

        A byte that is no UTF-8 may end the reading; if it is not strict it does not, and extra
        parts of a row are passed over.
        """
        with _plain_errors(path.name):
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
        """Name the objects of a file that has one a line."""
        with _plain_errors(path.name):
            given = dict(columns)
            self._database.read_json(
                str(path), columns=given, format="newline_delimited", maximum_object_size=_LINE_BYTES
            ).create_view(name, replace=True)

    def rejected(self) -> dict[str, int]:
        """Return how many lines of CSV files were passed over since the last call, by reason."""
        with contextlib.suppress(duck.CatalogException):  # the table comes with the first one
            query = (
                "SELECT lower(error_type::VARCHAR), count(DISTINCT line) FROM reject_errors GROUP BY ALL"
            )
            found = dict(self._database.execute(query).fetchall())
            self._database.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
            return found
        return {}

    def write(self, view: str, path: Path, order: str = "") -> int:
        """Write a view to a Parquet file, sorted where an order is given; returns how many rows."""
        with _plain_errors(path.stem):
            found = self._database.view(view)
            if order:
                found = found.order(order)
            found.write_parquet(str(path), compression="zstd", row_group_size=_GROUP_ROWS)
            counted = self._database.read_parquet(str(path)).aggregate("count(*)").fetchall()
        return int(counted[0][0])


def _statements(name: str) -> str:
    return (files("comind.community.store") / "sql" / f"{name}.sql").read_text()


@contextlib.contextmanager
def _plain_errors(what: str) -> Iterator[None]:
    try:
        yield
    except duck.OutOfMemoryException as error:
        raise DiskError(
            f"{what}: there is not enough room: {str(error).splitlines()[0]}",
            hint=_ROOM,
        ) from None
    except duck.IOException as error:
        if "No space left" in str(error):
            raise DiskError(f"{what}: no room on the disk", hint=_ROOM) from None
        raise CommunityError(f"{what}: cannot be read: {str(error).splitlines()[0]}") from None
    except duck.InvalidInputException as error:
        raise CommunityError(f"{what}: cannot be read: {str(error).splitlines()[0]}") from None
