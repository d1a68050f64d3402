"""Keep large tables of text in a temporary file that is mapped into memory.

The system may drop the pages of such a file at any time and read them again, so a table may be larger
than memory. The file has no name: it is gone when the table is, also after a kill.
"""

import ctypes
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from comind.system.files import DISK_FULL

Rows = list[int] | npt.NDArray[np.intp] | slice

_FOLDER = Path("/var/tmp")  # noqa: S108 - on disk, where /tmp may be in memory; the file has no name
_maps: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()


def map_table(blocks: Iterable[pa.Table]) -> pd.DataFrame:
    """Return the rows of all blocks, tables of text with the same columns, as one mapped table.

    The file is in the folder that `TMPDIR` names, or in `/var/tmp`.

    Raises:
        OSError: the folder has no space left; names the folder.
    """
    pa.set_memory_pool(pa.system_memory_pool())  # returns freed memory at once, unlike the default
    folder = None if "TMPDIR" in os.environ or not os.access(_FOLDER, os.W_OK) else _FOLDER
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _write(iter(blocks), file)
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise OSError(error.errno, error.strerror, str(folder or tempfile.gettempdir())) from None
        raise
    _maps.add(pages)
    with pa.ipc.open_file(pa.BufferReader(pa.py_buffer(pages))) as reader:
        found: pd.DataFrame = reader.read_all().to_pandas()  # refers to the pages
    return found


def _write(blocks: Iterator[pa.Table], file: IO[bytes]) -> None:
    first = next(blocks)
    with pa.ipc.new_file(file, first.schema) as writer:
        writer.write_table(first)
        del first
        for table in blocks:
            writer.write_table(table)
            del table
            trim_memory()
    file.flush()


def take_rows(table: pd.DataFrame, rows: Rows) -> pd.DataFrame:
    """Return the rows at some positions; of a mapped table one column is in memory at a time."""
    columns = {}
    for name in table.columns:
        columns[name] = table[name].iloc[rows]
        release_memory()
    return pd.DataFrame(columns, index=table.index[rows], columns=table.columns)


def release_memory() -> None:
    """Return what is not in use to the system, if there are mapped tables: freed memory, their pages."""
    if not _maps:
        return
    for pages in list(_maps):
        pages.madvise(mmap.MADV_DONTNEED)
    trim_memory()


def trim_memory() -> None:
    """Return freed memory to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
    if trim is not None:
        trim(0)
