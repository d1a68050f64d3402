"""Manners towards Kaggle: one request at a time, pauses between them, patience that ends.

    request ──ok──► answer
       │
       └─ busy ──► wait (what it asks for, else twice as long as before, less up to a half) ──► again

What is refused is not asked again. A submission that may have been taken is never sent again.
"""

import random
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from pydantic import Field

from comind.domain.value import Value
from comind.errors import KaggleBusyError
from comind.kaggle.clock import Clock, WallClock
from comind.kaggle.port import Chunk, Kaggle

__all__ = ["RateLimit", "rate_limited", "walk"]

T = TypeVar("T")


class RateLimit(Value):
    """How Kaggle is asked."""

    pause_seconds: float = Field(default=1, ge=0)
    """Between two requests."""
    tries: int = Field(default=6, ge=1)
    """Of one request, before it counts as down."""
    back_off_seconds: float = Field(default=2, ge=0)
    """Before the second try, doubled with each; what Kaggle asks for goes first."""
    longest_wait_seconds: float = Field(default=300, gt=0)
    """Of one wait; whoever is asked to wait longer gives up."""


def rate_limited(
    kaggle: Kaggle,
    rate_limit: RateLimit = RateLimit(),  # noqa: B008 - frozen
    *,
    clock: Clock | None = None,
    jitter: Callable[[], float] = random.random,
) -> Kaggle:
    """Return the port again, with manners; threads may share it, and then wait for each other.

    `jitter` gives numbers from 0 to 1, by which waits are shortened.
    """
    return cast("Kaggle", _Lane(kaggle, rate_limit, clock or WallClock(), jitter))


class _Lane:
    """Makes each request of the port one at a time, again while Kaggle is busy."""

    def __init__(
        self, kaggle: Kaggle, rate_limit: RateLimit, clock: Clock, jitter: Callable[[], float]
    ) -> None:
        self._kaggle = kaggle
        self._rate_limit = rate_limit
        self._clock = clock
        self._jitter = jitter
        self._lane = threading.Lock()
        self._free_at: datetime | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method of this name; what may have been handed in is not sent again."""
        method = getattr(self._kaggle, name)

        def ask(*args: Any, **options: Any) -> Any:
            return self._ask(lambda: method(*args, **options), twice=name != "submit")

        return ask

    def _ask(self, request: Callable[[], T], *, twice: bool = True) -> T:
        """Make a request, again while Kaggle is busy; `twice` tells whether it may be done twice."""
        with self._lane:
            for failures in range(1, self._rate_limit.tries + 1):
                self._pause()
                try:
                    return request()
                except KaggleBusyError as error:
                    if failures == self._rate_limit.tries or (error.perhaps_done and not twice):
                        raise
                    wait = self._wait(error, failures)
                    if wait > self._rate_limit.longest_wait_seconds:
                        raise
                finally:
                    pause = timedelta(seconds=self._rate_limit.pause_seconds)
                    self._free_at = self._clock.now() + pause
                self._clock.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _pause(self) -> None:
        now = self._clock.now()
        if self._free_at is not None and self._free_at > now:
            longest = self._rate_limit.pause_seconds  # however the clock on the wall was set meanwhile
            self._clock.sleep(min((self._free_at - now).total_seconds(), longest))

    def _wait(self, error: KaggleBusyError, failures: int) -> float:
        """Return the seconds before the next try; more than the longest wait where that is asked for."""
        if error.retry_after is not None:
            return max(0.0, error.retry_after)
        doubled: float = self._rate_limit.back_off_seconds * 2.0 ** (failures - 1)
        return min(doubled, self._rate_limit.longest_wait_seconds) * (1 - self._jitter() / 2)


def walk(ask: Callable[[str | None], Chunk[T]], *, chunks: int) -> Iterator[T]:
    """Yield the items of a list, of at most so many chunks; lists of Kaggle can be very long."""
    at: str | None = None
    seen: set[str] = set()
    for _ in range(chunks):
        chunk = ask(at)
        yield from chunk.items
        at = chunk.following
        if at is None or at in seen:  # a list that leads back to itself would never end
            return
        seen.add(at)
