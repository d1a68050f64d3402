"""A line for each request that a server got: who can say which client has called?"""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

__all__ = ["RequestLog"]


class RequestLog:
    """Appends to a file, from many threads; without a file it writes nothing."""

    def __init__(self, path: Path | None) -> None:
        """Open the file."""
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")

    def write(self, method: str, route: str, agent: str, status: int) -> None:
        """Note a request: real time, method, route, user agent, status of the answer."""
        with self._lock:
            if self._file is None:
                return
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "method": method,
                "route": route,
                "user_agent": agent,
                "status": status,
            }
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
