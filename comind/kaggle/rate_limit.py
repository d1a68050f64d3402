"""Rate-limit and retry requests to Kaggle.

    request ──ok──► response
       │
       └─ busy ──► pause (its Retry-After, else exponential backoff) ──► retry

One request at a time, with a pause between two. A refusal is not retried; a submission only when it
was certainly not received, as it is not idempotent.
"""

import logging
import math
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

from comind.errors import KaggleBusyError
from comind.kaggle.port import Chunk, Kaggle
from comind.kaggle.settings import RateLimit
from comind.system.timing import Backoff, Clock

T = TypeVar("T")
_log = logging.getLogger(__name__)


def rate_limited(
    kaggle: Kaggle,
    rate_limit: RateLimit = RateLimit(),  # noqa: B008 - frozen
    *,
    clock: Clock | None = None,
    jitter: Callable[[], float] = random.random,
) -> Kaggle:
    """Return `kaggle` with each method rate-limited and retried; thread-safe.

    `jitter` returns numbers in [0, 1] for the backoff.
    """
    return cast("Kaggle", _RateLimited(kaggle, rate_limit, clock or Clock(), jitter))


class _RateLimited:
    """Forwards every method by `__getattr__`, so that the port is written down once."""

    def __init__(
        self, kaggle: Kaggle, rate_limit: RateLimit, clock: Clock, jitter: Callable[[], float]
    ) -> None:
        self._kaggle = kaggle
        self._rate_limit = rate_limit
        self._backoff = Backoff(rate_limit.back_off_seconds, rate_limit.longest_wait_seconds, jitter)
        self._clock = clock
        self._lock = threading.Lock()
        self._not_before = -math.inf

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._retry, getattr(self._kaggle, name), idempotent=name != "submit")

    def _retry(self, request: Callable[..., T], *args: object, idempotent: bool, **options: object) -> T:
        """Make a request; retry it while Kaggle is busy."""
        with self._lock:
            for failures in range(1, self._rate_limit.tries + 1):
                if (pause := self._not_before - self._clock.monotonic()) > 0:
                    self._clock.sleep(pause)
                try:
                    return request(*args, **options)
                except KaggleBusyError as error:
                    pause = self._backoff.seconds(failures)
                    if error.retry_after is not None:
                        pause = max(0.0, error.retry_after)
                    if (
                        failures == self._rate_limit.tries
                        or (error.may_have_succeeded and not idempotent)
                        or pause > self._rate_limit.longest_wait_seconds
                    ):
                        raise
                    _log.warning("%s; the request is retried in %.0f s", error, pause)
                finally:
                    self._not_before = self._clock.monotonic() + self._rate_limit.pause_seconds
                self._clock.sleep(pause)
        raise AssertionError("unreachable")


def paginate(ask: Callable[[str | None], Chunk[T]], *, chunks: int) -> Iterator[T]:
    """Yield the items of a paginated list, of at most `chunks` pages."""
    at: str | None = None
    seen: set[str] = set()
    for _ in range(chunks):
        chunk = ask(at)
        yield from chunk.items
        at = chunk.following
        if at is None or at in seen:  # a cycle
            return
        seen.add(at)
