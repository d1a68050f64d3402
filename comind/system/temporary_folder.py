"""Private folders that must lie on the disk of the data, so that a killed process can leave them there.

Everybody who has one holds a shared lock on the file beside them. Whoever gets it alone knows that
nobody is at work, and that all such folders are leftovers. A lock ends with its process, in any case.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from comind.system.supervisor import remove_tree

__all__ = ["remove_stale_folders", "temporary_folder"]


@contextlib.contextmanager
def temporary_folder(home: Path, prefix: str) -> Iterator[Path]:
    """Have a new private folder in `home` for the length of the block.

    What killed processes left there under the same prefix is removed first.
    """
    home.mkdir(parents=True, exist_ok=True)
    with _lock_file(home, prefix) as descriptor:
        _clear(home, prefix, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        place = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=home))
        try:
            yield place
        finally:
            remove_tree(str(place))


def remove_stale_folders(home: Path, prefix: str) -> list[Path]:
    """Remove what killed processes left behind in `home`; returns what that was."""
    if not any(home.glob(f"{prefix}-*")):
        return []
    with _lock_file(home, prefix) as descriptor:
        return _clear(home, prefix, descriptor)


def _clear(home: Path, prefix: str, descriptor: int) -> list[Path]:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return []  # somebody is at work; the next one will clear up
    left = sorted(home.glob(f"{prefix}-*"))
    for place in left:
        remove_tree(str(place))
    return left


@contextlib.contextmanager
def _lock_file(home: Path, prefix: str) -> Iterator[int]:
    descriptor = os.open(home / f"{prefix}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
