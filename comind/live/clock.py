"""The time of a world: it stands where it was set, runs fast, or is the real one."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from comind.errors import UsageError

__all__ = ["Clock"]


class Clock:
    """Tells what time it is in a world; safe to read from many threads.

    Without a start it is the real time, and nothing is hidden for being later. With one, the world is
    as it was then: `speed` says how many of its seconds pass in a real one, and 0 stands still.
    """

    def __init__(
        self,
        start: datetime | None = None,
        *,
        speed: float = 0.0,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start at once.

        Args:
            start: a time with its zone, or None for the real time.
            speed: seconds of the world in a real second.
            seconds: real seconds since some moment.

        Raises:
            UsageError: the start has no zone, or the speed is negative.
        """
        self._seconds = seconds
        self._lock = threading.Lock()
        self._speed = _checked_speed(speed)
        self._at = None if start is None else _checked(start)
        self.start = self._at
        """The earliest time it was set to; None where the real time is told."""
        self._since = seconds()

    @property
    def moment(self) -> datetime | None:
        """The time that nothing visible may be later than; None where the real time is told."""
        with self._lock:
            return None if self._at is None else self._reckoned(self._at)

    def now(self) -> datetime:
        """Return the time in UTC."""
        return self.moment or datetime.now(UTC)

    def set(self, at: datetime) -> None:
        """Go to a time, forwards or back; from there it goes on at the same speed."""
        with self._lock:
            self._at = _checked(at)
            self.start = min(self.start or self._at, self._at)
            self._since = self._seconds()

    def run(self, speed: float) -> None:
        """Go on from now at another speed; 86,400 is a day a second, 0 stands still."""
        checked = _checked_speed(speed)
        self.set(self.now())
        self._speed = checked

    def _reckoned(self, at: datetime) -> datetime:
        try:
            return at + timedelta(seconds=(self._seconds() - self._since) * self._speed)
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)


def _checked(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise UsageError(f"{at}: a world's time needs a zone", hint="such as 2023-04-01T00:00:00Z")
    return at.astimezone(UTC)


def _checked_speed(speed: float) -> float:
    if not 0 <= speed < float("inf"):
        raise UsageError(
            f"{speed}: a world's clock runs forwards", hint="0 stands still, 1 is real time"
        )
    return speed
