"""Follow the files of a working directory that untrusted code writes, and send what changed."""

import hashlib
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import BinaryIO, NamedTuple

from comind.errors import SubmissionError
from comind.nodes.manifest import LONGEST_NAME, FileEntry
from comind.session.workspace import walk_files
from comind.system.files import open_untrusted

_MOST_FILES = 10_000
_MOST_BYTES = 8 << 30  # of one file
_DEPTH = 20
_TRIES = 3  # for a file that changes while it is read

Marks = tuple[int, int, int, int]
"""Modification time (ns), time of change (ns), inode, size (bytes)."""


def list_plain_files(workspace: Path) -> dict[str, Marks]:
    """Return the regular files with one link, by path, at most 10,000.

    Without those whose path is longer than 1,000 characters or not printable.
    """
    found: dict[str, Marks] = {}
    for name, facts in walk_files(workspace, depth=_DEPTH):
        if len(found) == _MOST_FILES:
            break
        if facts.st_nlink == 1 and len(name) <= LONGEST_NAME and name.isprintable():
            found[name] = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_size)
    return found


class Changes(NamedTuple):
    """Changes in a working directory since the last scan."""

    written: tuple[FileEntry, ...]
    """Oldest first."""
    removed: tuple[str, ...]
    left: tuple[str, ...]
    """Files that were not sent, as they are too large or changed while they were read."""


class WorkspaceFiles:
    """Sends the files of a working directory that are new or changed."""

    def __init__(
        self, workspace: Path, known: Mapping[str, str], send: Callable[[str, BinaryIO], bool]
    ) -> None:
        """Start with the files as they are now.

        Args:
            workspace: the folder.
            known: hash by path of the files that the receiver has.
            send: sends an open file under its hash; False if its content has changed meanwhile.
        """
        self._workspace = workspace
        self._known = dict(known)
        self._send = send
        self._marks = list_plain_files(workspace)

    def send_changes(self) -> Changes:
        """Send what changed since the last call; a file whose content is the same is not sent again."""
        before, self._marks = self._marks, list_plain_files(self._workspace)
        changed = sorted((mark, name) for name, mark in self._marks.items() if before.get(name) != mark)
        written: dict[str, FileEntry] = {}
        for mark, name in changed:
            sent = {entry.sha256 for entry in written.values()}
            entry = self._sent(name, sent) if mark[3] <= _MOST_BYTES else None
            if entry is not None:
                written[name] = entry
        self._known |= {name: entry.sha256 for name, entry in written.items()}
        left = tuple(name for _, name in changed if name not in written)
        removed = tuple(name for name in before if name not in self._marks and name in self._known)
        for name in removed:
            del self._known[name]
        return Changes(tuple(written.values()), removed, left)

    def _sent(self, name: str, sent: AbstractSet[str]) -> FileEntry | None:
        """Send a file, unless its content was; None if it cannot be read or keeps changing."""
        for _ in range(_TRIES):
            try:
                with open_untrusted(self._workspace, name) as file:
                    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                    entry = FileEntry(name=name, size=file.tell(), sha256=sha256)
                    file.seek(0)
                    if self._known.get(name) == sha256 or sha256 in sent or self._send(sha256, file):
                        return entry
            except (SubmissionError, OSError):
                return None
        return None
