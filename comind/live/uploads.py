"""Receive resumable uploads, each under a random token."""

import secrets
import threading
from dataclasses import dataclass

from comind.live.fault_injection import RouteError

__all__ = ["MAX_UPLOAD_BYTES", "Uploads"]

MAX_UPLOAD_BYTES = 1 << 28
_MAX_OPEN = 20


@dataclass
class _Upload:
    user: str
    name: str
    expected: int
    """Bytes."""
    content: bytes = b""

    @property
    def complete(self) -> bool:
        return len(self.content) == self.expected


class Uploads:
    """Thread-safe table of uploads by token; the oldest is evicted beyond twenty."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, _Upload] = {}

    def start(self, user: str, name: str, size: int) -> str:
        """Start an upload of `size` bytes; returns its token."""
        if not 0 <= size <= MAX_UPLOAD_BYTES:
            raise RouteError(400, f"A file has at most {MAX_UPLOAD_BYTES} bytes")
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._files[token] = _Upload(user, name, size)
            while len(self._files) > _MAX_OPEN:
                del self._files[next(iter(self._files))]
        return token

    def find(self, token: str) -> _Upload:
        """Return an upload, complete or not; `RouteError` 404 for an unknown token."""
        with self._lock:
            found = self._files.get(token)
        if found is None:
            raise RouteError(404, "There is no such upload")
        return found

    def write(self, token: str, content: bytes, offset: int) -> _Upload:
        """Write bytes at an offset; `RouteError` 400 for a gap or more than the announced size."""
        file = self.find(token)
        if offset > len(file.content) or offset + len(content) > file.expected:
            raise RouteError(400, "These bytes do not belong to this upload")
        file.content = file.content[:offset] + content
        return file

    def pop(self, token: str, user: str) -> _Upload:
        """Remove and return an upload; `RouteError` 400 if it is incomplete or another user's."""
        file = self.find(token)
        if file.user != user or not file.complete:
            raise RouteError(400, "The file of this submission has not arrived")
        with self._lock:
            self._files.pop(token, None)
        return file
