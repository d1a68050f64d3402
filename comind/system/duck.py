"""DuckDB, the one place that connects to it: a database in memory that spills to a folder of ours."""

from pathlib import Path

from duckdb import (
    CatalogException,
    DuckDBPyConnection,
    Error,
    InvalidInputException,
    IOException,
    OutOfMemoryException,
    connect,
)

__all__ = [
    "CatalogException",
    "Error",
    "IOException",
    "InvalidInputException",
    "OutOfMemoryException",
    "in_memory",
]


def in_memory(
    spill: Path, *, megabytes: int, threads: int, keep_order: bool = True
) -> DuckDBPyConnection:
    """Return an empty database that holds at most `megabytes` in memory and puts the rest into `spill`.

    Rows keep their order unless `keep_order` is off, which takes less memory. Nothing is fetched.
    """
    return connect(
        ":memory:",
        config={
            "memory_limit": f"{megabytes}MB",
            "threads": threads,
            "temp_directory": str(spill),
            "preserve_insertion_order": keep_order,
            # Extensions would be fetched from afar, and nothing here needs one.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
