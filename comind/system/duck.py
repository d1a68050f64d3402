"""Connect to DuckDB: databases in memory that spill to a given folder."""

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
    """Return an empty in-memory database without access to the network.

    Args:
        spill: folder for what exceeds the memory limit.
        megabytes: the memory limit.
        threads: of one query.
        keep_order: whether rows keep their insertion order, which takes more memory.
    """
    return connect(
        ":memory:",
        config={
            "memory_limit": f"{megabytes}MB",
            "threads": threads,
            "temp_directory": str(spill),
            "preserve_insertion_order": keep_order,
            # Extensions would be downloaded, and none is needed.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
