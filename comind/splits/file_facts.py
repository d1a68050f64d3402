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


def compute_saved(
    compute: Compute, paths: Sequence[Path], folder: Path | None, workers: int
) -> Iterator[bytes | None]:
    """Yield the value of each file, in threads; values are saved below `folder`, and read from there.

    Where the folder is None or cannot be written, all values are computed.
    """
    left = counted(paths, f"files looked at ({compute.__name__.strip('_')})", len(paths))
    with contextlib.closing(_opened(folder)) as saved, ThreadPoolExecutor(workers) as pool:
        while batch := list(islice(left, _BATCH)):
            keys = [_key(compute.__name__, path) for path in batch]
            known = {key: found for key in keys if (found := _find(saved, key)) is not None}
            missing = [number for number, key in enumerate(keys) if key not in known]
            values = pool.map(lambda n: compute(batch[n], *keys[n][2:]), missing)  # noqa: B023 - used here
            made = {keys[number]: (value,) for number, value in zip(missing, values, strict=True)}
            rows = [(*key, value) for key, (value,) in made.items()]
            with contextlib.suppress(sqlite3.Error), saved:  # another process writes
                saved.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)", rows)
            failpoint("files-looked-at")
            yield from ((known | made)[key][0] for key in keys)


_Key = tuple[str, str, int, int]


def _key(kind: str, path: Path) -> _Key:
    facts = path.stat()
    return kind, str(path), facts.st_size, facts.st_mtime_ns


def _find(saved: sqlite3.Connection, key: _Key) -> tuple[bytes | None] | None:
    query = "SELECT value FROM facts WHERE kind = ? AND path = ? AND size = ? AND changed = ?"
    found: tuple[bytes | None] | None = saved.execute(query, key).fetchone()
    return found


def _opened(folder: Path | None) -> sqlite3.Connection:
    if folder is not None:
        with contextlib.suppress(sqlite3.Error):  # no database, or a folder that cannot be written
            return _created(str(folder / _NAME))
    return _created(":memory:")


def _created(place: str) -> sqlite3.Connection:
    saved = sqlite3.connect(place, check_same_thread=False)
    saved.execute(
        "CREATE TABLE IF NOT EXISTS facts (kind TEXT, path TEXT, size INTEGER, changed INTEGER, "
        "value BLOB, PRIMARY KEY (kind, path))"
    )
    return saved
