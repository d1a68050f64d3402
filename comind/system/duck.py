"""Connect to DuckDB: databases in memory that spill to a given folder."""

from pathlib import Path

import duckdb

__all__ = ["duckdb", "in_memory"]


def in_memory(
    spill: Path, *, megabytes: int, threads: int, keep_order: bool = True
) -> duckdb.DuckDBPyConnection:
    """Return an empty in-memory database, of at most `megabytes`, that spills to the folder `spill`.

    Rows keep their insertion order unless `keep_order` is off, which takes less memory. The network is
    not accessed.
    """
    return duckdb.connect(
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
