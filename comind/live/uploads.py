"""Files on their way in: each is expected under a token that nobody can guess, and taken once."""

import secrets
import threading
from dataclasses import dataclass

from comind.live.routes import RouteError

__all__ = ["LARGEST", "Arrived", "Uploads"]

LARGEST = 1 << 28
"""So many bytes a file may have."""
_OPEN = 20


@dataclass
class Arrived:
    """A file, as far as it has come."""

    user: str
    name: str
    expected: int
    content: bytes = b""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return len(self.content) == self.expected


class Uploads:
    """Safe to use from many threads; the oldest of too many is forgotten."""

    def __init__(self) -> None:
        """Expect nothing yet."""
        self._lock = threading.Lock()
        self._files: dict[str, Arrived] = {}

    def expect(self, user: str, name: str, size: int) -> str:
        """Return the token under which a file may come."""
        if not 0 <= size <= LARGEST:
            raise RouteError(400, f"A file has at most {LARGEST} bytes")
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._files[token] = Arrived(user, name, size)
            while len(self._files) > _OPEN:
                del self._files[next(iter(self._files))]
        return token

    def find(self, token: str) -> Arrived:
        """Return what has come under a token."""
        with self._lock:
            found = self._files.get(token)
        if found is None:
            raise RouteError(404, "There is no such upload")
        return found

    def add(self, token: str, content: bytes, start: int) -> Arrived:
        """Put the bytes from `start` on in place."""
        file = self.find(token)
        if start > len(file.content) or start + len(content) > file.expected:
            raise RouteError(400, "These bytes do not belong to this upload")
        file.content = file.content[:start] + content
        return file

    def take(self, token: str, user: str) -> Arrived:
        """Return a file that has come whole, and forget it."""
        file = self.find(token)
        if file.user != user or not file.whole:
            raise RouteError(400, "The file of this submission has not arrived")
        with self._lock:
            self._files.pop(token, None)
        return file
