"""Limit the rate at which a driver sends to its nodes, or receives from them."""

import threading
import time
from collections.abc import Callable

_MEGABYTE = 10**6


class Bandwidth:
    """Rate limit in one direction, shared by all sessions; thread-safe.

    Bytes are spaced in the order in which they come, so sessions get equal rates.
    """

    def __init__(self, megabytes: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Set the most megabytes a second; None is no limit."""
        self._rate = None if megabytes is None else megabytes * _MEGABYTE
        self._clock = clock
        self._free_at = 0.0
        self._lock = threading.Lock()

    def delay(self, count: int) -> float:
        """Count bytes that were moved; returns the seconds until more may be moved by this session."""
        if self._rate is None:
            return 0.0
        with self._lock:
            now = self._clock()
            self._free_at = max(self._free_at, now) + count / self._rate
            return self._free_at - now
