"""Time, for pauses and for when something was seen; a test has a clock that passes at once."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "ServerClock", "WallClock"]


class Clock(Protocol):
    """What tells the time and waits."""

    def now(self) -> datetime:
        """Return the time, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class WallClock:
    """The clock on the wall."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class ServerClock(WallClock):
    """The time at the place that is asked: what its last answer said, and what has passed here since.

    A past competition is served at its own time, and a fast one; deadlines and days are counted in it.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Begin with the clock on the wall.

        Args:
            seconds: seconds since some moment.
        """
        self._seconds = seconds
        self.hear(datetime.now(UTC))

    def hear(self, at: datetime) -> None:
        """Take note of what time it is there."""
        self._heard = (at, self._seconds())

    def now(self) -> datetime:
        """Return the time, in UTC."""
        at, since = self._heard
        return at + timedelta(seconds=self._seconds() - since)
