"""A clock on which every wait returns at once."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from comind.system.timing import Clock

__all__ = ["QuickClock"]

_MOMENT = 0.002  # seconds in which other threads do what is waited for


class QuickClock(Clock):
    """Advances by the length of each wait; `waited` holds those of a known length, in order."""

    def __init__(
        self,
        passing: Callable[[float], None] = lambda _now: None,
        *,
        start: datetime = datetime(2024, 1, 1, tzinfo=UTC),
    ) -> None:
        """Start at `start` and 0 seconds; `passing` is called with the seconds after each wait."""
        self._start = start
        self._seconds = 0.0
        self._passing = passing
        self._lock = threading.Lock()
        self.waited: list[float] = []

    def now(self) -> datetime:
        """Return the start plus all waits since."""
        return self._start + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Let time pass without a wait."""
        with self._lock:
            self._seconds += seconds

    def sleep(self, seconds: float) -> None:
        """Advance by `seconds`."""
        with self._lock:
            self.waited.append(seconds)
            self._seconds += seconds
        self._passing(self._seconds)

    def wait(self, changed: threading.Condition, seconds: float, at_most: float) -> None:
        """Advance by the pause; without an end of its own, wait a moment for other threads."""
        if seconds != float("inf"):
            self.sleep(min(seconds, at_most))
        changed.wait(_MOMENT)
