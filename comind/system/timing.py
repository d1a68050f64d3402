"""Read the time, wait, and compute pauses: exponential backoff and Retry-After headers."""

import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_MAX_DOUBLINGS = 30


class Clock:
    """Reads the time and waits; a test passes one on which every wait returns at once."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block for `seconds`."""
        time.sleep(seconds)

    def wait(self, changed: threading.Condition, seconds: float, at_most: float) -> None:
        """Wait, with the lock of `changed` held, until it is notified or a timeout passes.

        Args:
            changed: the condition to wait on.
            seconds: pause that is due; infinite: until a notification.
            at_most: seconds left before the deadline of the caller.
        """
        timeout = min(seconds, at_most)
        changed.wait(None if math.isinf(timeout) else timeout)


class ServerClock(Clock):
    """Follows the `Date` header of a server's responses; between two of them, the monotonic clock.

    A past competition is served at its own, faster time; deadlines and days are counted in it.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start at the wall-clock time; `seconds` is a monotonic clock."""
        self._seconds = seconds
        self.set(datetime.now(UTC))

    def set(self, at: datetime) -> None:
        """Set the time to that of a response."""
        self._set = (at, self._seconds())

    def now(self) -> datetime:
        """Return the server's time in UTC."""
        at, since = self._set
        return at + timedelta(seconds=self._seconds() - since)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with equal jitter: a pause is 50 to 100 % of `initial` doubled per failure.

    Our own in place of tenacity, which retries a single call: here one pause holds for all calls that
    share an endpoint, a `Retry-After` replaces it, and the jitter is injected.
    """

    initial: float
    """Seconds of the first pause."""
    maximum: float
    """Longest pause in seconds."""
    jitter: Callable[[], float] = random.random
    """Returns a number in [0, 1]."""

    def seconds(self, failures: int) -> float:
        """Return the pause after `failures` failures in a row."""
        doublings = min(max(0, failures - 1), _MAX_DOUBLINGS)
        return min(self.initial * 2.0**doublings, self.maximum) * (0.5 + 0.5 * self.jitter())


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the Retry-After of a response in seconds; None where there is none that is valid.

    A date is relative to the response's own Date header, as clocks differ.
    """
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
        date = headers.get("date")
        base = parsedate_to_datetime(date) if date else datetime.now(UTC)
        return max(0.0, (until - base).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
