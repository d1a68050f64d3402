"""Simulated time: frozen, accelerated, or the real time."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from comind.errors import UsageError


class SimulatedClock:
    """Clock of a replayed competition; thread-safe.

    Without a start time it is the real clock, and nothing is hidden for being later.
    """

    def __init__(
        self,
        start: datetime | None = None,
        *,
        speed: float = 0.0,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the clock.

        Args:
            start: initial time with its zone, or None for the real time.
            speed: simulated seconds per real second; 0 freezes the clock.
            seconds: a monotonic clock in real seconds.

        Raises:
            UsageError: the start has no zone, or the speed is negative.
        """
        self._seconds = seconds
        self._lock = threading.Lock()
        self._speed = _checked_speed(speed)
        self._at = None if start is None else _checked_time(start)
        self.start = self._at
        """The earliest time it was set to; None for the real clock."""
        self._since = seconds()

    @property
    def moment(self) -> datetime | None:
        """The as-of time, after which nothing is visible; None for the real clock."""
        with self._lock:
            return None if self._at is None else self._simulated(self._at)

    def now(self) -> datetime:
        """Return the time in UTC."""
        return self.moment or datetime.now(UTC)

    def set(self, at: datetime) -> None:
        """Jump to a time, forwards or back; the speed stays the same."""
        with self._lock:
            self._at = _checked_time(at)
            self.start = min(self.start or self._at, self._at)
            self._since = self._seconds()

    def set_speed(self, speed: float) -> None:
        """Continue from now at another speed; 86,400 is a day per second, 0 freezes the clock."""
        checked = _checked_speed(speed)
        self.set(self.now())
        self._speed = checked

    def _simulated(self, at: datetime) -> datetime:
        try:
            return at + timedelta(seconds=(self._seconds() - self._since) * self._speed)
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)


def _checked_time(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise UsageError(f"{at}: a simulated time needs a zone", hint="such as 2023-04-01T00:00:00Z")
    return at.astimezone(UTC)


def _checked_speed(speed: float) -> float:
    if not 0 <= speed < float("inf"):
        raise UsageError(
            f"{speed}: the clock's speed must be finite and not negative",
            hint="0 freezes the clock, 1 is real time",
        )
    return speed
