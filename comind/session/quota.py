"""Limit the disk usage of a session by polling from the host, as a writable mount has no limit."""

import errno
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from comind.system.disk import MIN_FREE_BYTES, free_bytes, require_room

_SLACK_BYTES = 64 << 20  # what a cell that starts above the quota may add, so that it can free space
_SLACK_FILES = 1_000
_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of all folders of one session together."""

    disk_bytes: int = 32 << 30
    files: int = 500_000
    free_bytes: int = MIN_FREE_BYTES
    """What must stay free on the disk."""
    look_seconds: float = 1.0
    """Between two checks, at least."""
    cost: float = 20
    """A check takes at most one part in so many of the time."""


class _Measured(NamedTuple):
    size: int
    """Bytes on disk."""
    entries: int
    deep: bool
    """Whether they are nested too deep."""
    written_at: float
    """Time of the last change of a file."""


class QuotaWatch:
    """Checks the disk usage of folders while a cell runs."""

    def __init__(self, quota: Quota, folders: Iterable[Path], skipped: Iterable[Path] = ()) -> None:
        """Measure `folders`, without the `skipped` ones below them, at the start of a cell.

        Raises:
            DiskError: too little space is free, and not because of this session.
        """
        self._folders = tuple(folders)
        self._skipped = frozenset(map(str, skipped))
        self._free = quota.free_bytes
        self._limits = quota
        begun = time.monotonic()
        size, count, _, self.written_at = self._measured(quota.disk_bytes * 2, quota.files * 2)
        """Time of the last change of a file, as of the last check."""
        for folder in self._folders:  # else every cell would be stopped for space that others use
            require_room(folder, "code is run", self._free, may_free=size)
        self._bytes = max(quota.disk_bytes, size + _SLACK_BYTES if size > quota.disk_bytes else 0)
        self._files = max(quota.files, count + _SLACK_FILES if count > quota.files else 0)
        self.next_look = self._after(begun)

    def exceeded(self) -> str:
        """Return in one line which limit is exceeded; empty if none is or the next check is not due."""
        begun = time.monotonic()
        if begun < self.next_look:
            return ""
        size, count, deep, self.written_at = self._measured(self._bytes, self._files)
        self.next_look = self._after(begun)
        if size > self._bytes:
            return f"its files take more than {self._limits.disk_bytes / (1 << 30):.3g} GiB of disk"
        if count > self._files:
            return f"it has more than {self._limits.files} files and folders"
        if deep:
            return f"its folders are nested more than {_DEPTH} deep"
        if any(free_bytes(folder) < self._free for folder in self._folders):
            return "the disk is nearly full"
        return ""

    def _after(self, begun: float) -> float:
        now = time.monotonic()
        return now + max(self._limits.look_seconds, self._limits.cost * (now - begun))

    def _measured(self, most_bytes: int, most_files: int) -> _Measured:
        """Measure the folders.

        Stops as soon as a limit is exceeded. Links are not followed; a file with several names counts
        once.
        """
        size, count, deep, written_at = 0, 0, False, 0.0
        linked: set[int] = set()
        pending = [(str(folder), 0) for folder in self._folders]
        while pending and size <= most_bytes and count <= most_files and not deep:
            path, depth = pending.pop()
            try:
                found = os.scandir(path)
            except OSError as error:  # it was removed, or its mode denies access
                deep = deep or error.errno == errno.ENAMETOOLONG
                continue
            with found as entries:
                for entry in entries:
                    count += 1
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            if entry.path not in self._skipped:
                                pending.append((entry.path, depth + 1))
                                deep = deep or depth > _DEPTH
                            continue
                        facts = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    written_at = max(written_at, facts.st_mtime)
                    if facts.st_nlink == 1 or facts.st_ino not in linked:
                        size += facts.st_blocks * 512
                    if facts.st_nlink > 1:
                        linked.add(facts.st_ino)
                    if count > most_files:
                        break
        return _Measured(size, count, deep, written_at)
