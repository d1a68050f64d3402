"""Cache what was computed of files, such as hashes of pictures, so that a killed search can resume.

<folder>/.file-facts.sqlite    by kind, path, size and time of change; deleting it costs time only
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from comind.system.failpoints import failpoint
from comind.system.progress import counted

Compute = Callable[[Path, int, int], bytes | None]
"""A function of a file's path, size in bytes and time of change in nanoseconds."""

_NAME = ".file-facts.sqlite"
_BATCH = 1_000  # files, until what was computed of them is saved
_TABLE = (
    "CREATE TABLE IF NOT EXISTS facts (kind TEXT, path TEXT, size INTEGER, changed INTEGER, "
    "value BLOB, PRIMARY KEY (kind, path))"
)
_FIND = "SELECT value FROM facts WHERE kind = ? AND path = ? AND size = ? AND changed = ?"


def compute_saved(
    compute: Compute, paths: Sequence[Path], folder: Path | None, workers: int
) -> Iterator[bytes | None]:
    """Yield the value of each file, in threads; values are saved below `folder`, and read from there.

    Where the folder is None or cannot be written, all values are computed.
    """
    left = counted(paths, f"files looked at ({compute.__name__.strip('_')})", len(paths))
    with contextlib.closing(_opened(folder)) as saved, ThreadPoolExecutor(workers) as pool:
        while batch := list(islice(left, _BATCH)):
            facts = [(path, path.stat()) for path in batch]
            keys = [(compute.__name__, f"{path}", own.st_size, own.st_mtime_ns) for path, own in facts]
            known = {key: row for key in keys if (row := saved.execute(_FIND, key).fetchone())}
            missing = [number for number, key in enumerate(keys) if key not in known]
            values = pool.map(lambda n: compute(batch[n], *keys[n][2:]), missing)  # noqa: B023 - used here
            made = {keys[number]: (value,) for number, value in zip(missing, values, strict=True)}
            rows = [(*key, value) for key, (value,) in made.items()]
            with contextlib.suppress(sqlite3.Error), saved:  # another process writes
                saved.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)", rows)
            failpoint("files-looked-at")
            yield from ((known | made)[key][0] for key in keys)


def _opened(folder: Path | None) -> sqlite3.Connection:
    """Open the database of the folder, or one in memory where there is none or it cannot be written."""
    place = folder / _NAME if folder else ":memory:"
    try:
        saved = sqlite3.connect(place, check_same_thread=False)
        saved.execute(_TABLE)
    except sqlite3.Error:
        return _opened(None)
    return saved
