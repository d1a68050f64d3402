"""Time that passes at once, for whoever waits."""

import threading
from collections.abc import Callable

from comind.llm.rate_limiter import Clock

__all__ = ["QuickClock"]

_MOMENT = 0.002  # for other threads to do what is waited for


class QuickClock(Clock):
    """A clock whose waits are over at once; `now` is how long they would have been.

    `waited` holds the waits of a known length, in order.
    """

    def __init__(self, passing: Callable[[float], None] = lambda _now: None) -> None:
        """Begin at 0; `passing` is told the time whenever it has moved on."""
        self._now = 0.0
        self._passing = passing
        self._lock = threading.Lock()
        self.waited: list[float] = []

    def now(self) -> float:
        """Return the seconds that have passed."""
        return self._now

    def pass_by(self, seconds: float) -> None:
        """Let time pass while nobody waits."""
        with self._lock:
            self._now += seconds

    def wait(self, changed: threading.Condition, seconds: float, at_most: float) -> None:
        """Let a pause pass; without an end of its own, wait a moment for others."""
        seconds = seconds if seconds == float("inf") else min(seconds, at_most)
        if seconds == float("inf"):
            changed.wait(_MOMENT)
            return
        with self._lock:
            self.waited.append(seconds)
            self._now += seconds
        self._passing(self._now)
        changed.wait(_MOMENT)
