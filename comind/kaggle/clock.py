"""Time, for pauses and for when something was seen; a test has a clock that passes at once."""

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "WallClock"]


class Clock(Protocol):
    """What tells the time and waits."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class WallClock:
    """The clock on the wall."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
