"""Receive resumable uploads in files, each under a random token."""

import secrets
import threading
from dataclasses import dataclass
from pathlib import Path

from comind.live.fault_injection import RouteError
from comind.system.supervisor import remove_tree
from comind.system.temporary_folders import make_scratch_folder

MAX_UPLOAD_BYTES = 1 << 28
_MAX_OPEN = 20


@dataclass
class _Upload:
    user: str
    name: str
    expected: int
    """Bytes."""
    path: Path
    received: int = 0
    """Bytes."""

    @property
    def complete(self) -> bool:
        return self.received == self.expected


class Uploads:
    """Thread-safe table of uploads by token; the oldest is evicted beyond twenty.

    Their files are in a scratch folder, which is removed at the latest when this process has exited.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._files: dict[str, _Upload] = {}

    def start(self, user: str, name: str, size: int) -> str:
        """Start an upload of `size` bytes; returns its token.

        Raises:
            RouteError: 413 for a file of more than 256 MiB.
        """
        if not 0 <= size <= MAX_UPLOAD_BYTES:
            raise RouteError(413, f"A file has at most {MAX_UPLOAD_BYTES} bytes")
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._folder = self._folder or make_scratch_folder("uploads")
            file = _Upload(user, name, size, self._folder / token)
            file.path.touch()
            self._files[token] = file
            while len(self._files) > _MAX_OPEN:
                self._files.pop(next(iter(self._files))).path.unlink(missing_ok=True)
        return token

    def find(self, token: str) -> _Upload:
        """Return an upload, complete or not; `RouteError` 404 for an unknown token."""
        with self._lock:
            found = self._files.get(token)
        if found is None:
            raise RouteError(404, "There is no such upload")
        return found

    def write(self, token: str, content: bytes, offset: int) -> _Upload:
        """Write bytes at an offset, after which nothing is kept.

        Raises:
            RouteError: 400 for a gap, or for more than the announced size.
        """
        file = self.find(token)
        if offset > file.received or offset + len(content) > file.expected:
            raise RouteError(400, "These bytes do not belong to this upload")
        with file.path.open("r+b") as target:
            target.seek(offset)
            target.write(content)
            target.truncate()
        file.received = offset + len(content)
        return file

    def pop(self, token: str, user: str) -> _Upload:
        """Remove and return an upload, whose file the caller deletes.

        Raises:
            RouteError: 400 if it is incomplete or another user's.
        """
        file = self.find(token)
        if file.user != user or not file.complete:
            raise RouteError(400, "The file of this submission has not arrived")
        with self._lock:
            self._files.pop(token, None)
        return file

    def close(self) -> None:
        """Delete all files; idempotent."""
        with self._lock:
            self._files.clear()
            folder, self._folder = self._folder, None
        if folder is not None:
            remove_tree(str(folder))
