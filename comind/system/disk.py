"""Check for free disk space, and recognize a full disk by errors of files, SQLite, git and DVC."""

import math
import shutil
from pathlib import Path

from comind.errors import DiskError
from comind.system.files import DISK_FULL

MIN_FREE_BYTES = 1 << 30
"""What campaigns leave free on a disk."""

_ROOM_HINT = "free disk space, then run the command again; nothing is lost"
_MESSAGES = ("No space left on device", "Disk quota exceeded", "database or disk is full")
_FULL_BYTES = 1 << 20  # with less, tools fail in ways that do not name the disk


def free_bytes(folder: Path) -> float:
    """Return the free bytes of the disk of a folder; infinity where the folder is gone."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf


def require_room(
    folder: Path, what: str, least: float = MIN_FREE_BYTES, *, may_free: float = 0.0
) -> None:
    """Check that `least` bytes are free on the disk of a folder, where `may_free` more can be freed.

    Raises:
        DiskError: fewer are, with which `what` does not start.
    """
    free = free_bytes(folder)
    if free + may_free < least:
        mebibytes = f"only {free / (1 << 20):.0f} MiB of its disk are free"
        needed = f"{what} with {least / (1 << 20):.0f} or more"
        raise DiskError(f"{folder}: {mebibytes}, and {needed}", hint=_ROOM_HINT)


def no_space_for(folder: Path, what: str) -> DiskError:
    """Return the error of a full disk: where, and what needs space."""
    return DiskError(f"{folder}: no space left on its disk for {what}", hint=_ROOM_HINT)


def full_disk(error: BaseException, folder: Path, what: str) -> DiskError | None:
    """Return the error of a full disk if `error`, or a cause of it, is due to one, else None.

    A disk without any space left counts, whatever `error` says: `what` needs space in `folder`.
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, DiskError):
            return found
        if isinstance(found, OSError) and found.errno in DISK_FULL:
            return no_space_for(Path(found.filename or folder), what)
        if any(message in str(found) for message in _MESSAGES):
            return no_space_for(folder, what)
        found = found.__cause__ or found.__context__
    return no_space_for(folder, what) if free_bytes(folder) < _FULL_BYTES else None
