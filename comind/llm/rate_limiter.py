"""The gate to an endpoint, through which all calls of a campaign pass: limits, pauses, one breaker.

    closed ──(failures in a row, or a Retry-After)──► open ──(pause over)──► one call is let through
      ▲                                                ▲                              │
      └────────────────(it succeeds)───────────────────┼──────────────────────────────┘
                                                       └───────(it fails: a longer pause)

It begins as if the pause were just over: the first call goes alone, so that a wrong key costs one call
however many attempts wait. Nobody holds a place while waiting.
"""

import math
import random
import threading
import time
from collections.abc import Callable

from comind.errors import ModelBusyError, ModelRefusedError, ModelServiceError
from comind.llm.settings import Traffic

__all__ = ["Clock", "RateLimiter"]

_MINUTE = 60.0
_LONGEST_EXPONENT = 30


class Clock:
    """Time for those who wait at the gate; a test has a clock of its own, on which it passes at once."""

    def now(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

    def wait(self, changed: threading.Condition, seconds: float, at_most: float) -> None:
        """Wait until others notify `changed`, whose lock is held; at most for the shorter of two times.

        `seconds` is the pause, infinite for until something changes; `at_most` is what the caller has.
        """
        longest = min(seconds, at_most)
        changed.wait(None if math.isinf(longest) else longest)


class RateLimiter:
    """Lets calls pass; safe to share between threads.

    A call is `enter`, then one of `succeeded`, `failed`, `refused` or `left`.
    """

    def __init__(
        self,
        traffic: Traffic = Traffic(),  # noqa: B008 - frozen
        *,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Open for one call.

        `jitter` gives numbers from 0 to 1: pauses are between a half and the whole of their length.
        """
        self._traffic = traffic
        self._clock = clock or Clock()
        self._jitter = jitter
        self._changed = threading.Condition()
        self._refusals: dict[str, ModelServiceError] = {}
        self._gone: ModelServiceError | None = None
        self._under_way = 0
        self._proven = False  # whether the breaker is closed
        self._prober: int | None = None  # the thread whose call is to tell whether the endpoint is well
        self._opens_at = -math.inf
        self._failures = 0  # in a row
        self._pauses = 0
        self._last_failure = -math.inf
        self._down = 0.0  # seconds that calls have waited and failed since the last success
        self._came: dict[int, float] = {}  # when the threads whose calls are under way came to the gate
        self._next_request = self._next_token = -math.inf
        self.retries = 0
        """Failed calls so far that were to be made again."""
        self.successes = 0
        """Calls that were answered."""

    def enter(self, model: str, tokens: int, *, not_before: float = 0.0, seconds_left: float) -> bool:
        """Wait for leave to make a call of about so many tokens; return False where time is over before.

        `not_before` is the end of the caller's own pause, by the clock.

        Raises:
            ModelServiceError: the endpoint has refused this model for good, or is gone.
        """
        came = self._clock.now()
        until = came + seconds_left
        with self._changed:
            while True:
                self._raise_if_over(model)
                now = self._clock.now()
                pause = self._pause(now, not_before)
                if pause <= 0:
                    break
                if now >= until or (math.isfinite(pause) and now + pause > until):
                    return False
                self._clock.wait(self._changed, pause, until - now)
            self._under_way += 1
            self._came[threading.get_ident()] = came
            if not self._proven:
                self._prober = threading.get_ident()
            self._book(self._clock.now(), tokens)
        return True

    def succeeded(self) -> None:
        """Say that a call was answered: the endpoint is well."""
        with self._changed:
            self._leave()
            self.successes += 1
            self._proven, self._failures, self._pauses, self._down = True, 0, 0, 0.0
            self._changed.notify_all()

    def left(self) -> None:
        """Say that a call ended in a way that tells nothing about the endpoint."""
        with self._changed:
            self._leave()
            self._changed.notify_all()

    def refused(self, model: str, error: ModelRefusedError) -> None:
        """Say that the endpoint refuses a model for good; nobody asks it again."""
        with self._changed:
            self._leave()
            self._refusals[model] = error
            self._changed.notify_all()

    def failed(self, error: ModelBusyError, failures: int) -> float:
        """Say that a call failed, for so many times now; return the moment to make it again from.

        Raises:
            ModelServiceError: it should not be made again at all.
        """
        with self._changed:
            now, came = self._clock.now(), self._came[threading.get_ident()]
            probe = self._leave()
            self._failures += 1
            self._down += now - max(came, self._last_failure)  # not what passed while nobody asked
            self._last_failure = now
            if error.retry_after is not None or probe or self._failures >= self._traffic.open_after:
                self._open(now, error.retry_after, probe=probe)
            self._close_for_good(error)
            self._changed.notify_all()
            self._raise_if_over("")
            self.retries += 1
            asked = error.retry_after or 0.0
            return now + (0.0 if asked >= self._traffic.back_off_seconds else self._back_off(failures))

    def _pause(self, now: float, not_before: float) -> float:
        """Return how long a call has to wait as things stand; infinite for until something changes."""
        if self._prober is not None or self._under_way >= self._traffic.concurrent:
            return math.inf
        return max(self._opens_at, not_before, self._next_request, self._next_token) - now

    def _book(self, now: float, tokens: int) -> None:
        if self._traffic.requests_per_minute is not None:
            self._next_request = now + _MINUTE / self._traffic.requests_per_minute
        if self._traffic.tokens_per_minute is not None:
            self._next_token = now + _MINUTE * tokens / self._traffic.tokens_per_minute

    def _leave(self) -> bool:
        """Count a call out; return whether it was the one that the others wait for."""
        self._under_way -= 1
        self._came.pop(threading.get_ident(), None)
        probe = self._prober == threading.get_ident()
        if probe:
            self._prober = None
        return probe

    def _open(self, now: float, retry_after: float | None, *, probe: bool) -> None:
        """Pause everyone; the longer, the more probes have failed in a row."""
        self._pauses += probe or self._proven
        pause = self._back_off(self._pauses) if retry_after is None else retry_after
        self._proven = False
        self._opens_at = max(self._opens_at, now + pause)

    def _back_off(self, failures: int) -> float:
        doublings = min(max(0, failures - 1), _LONGEST_EXPONENT)
        longest = self._traffic.longest_back_off_seconds
        pause = min(self._traffic.back_off_seconds * 2.0**doublings, longest)
        return pause * (0.5 + 0.5 * self._jitter())

    def _close_for_good(self, error: ModelBusyError) -> None:
        waited = self._down
        patience = _MINUTE * self._traffic.patience_minutes
        why = ""
        if self.retries >= self._traffic.retries:
            why = f"all {self._traffic.retries} retries of the campaign are used up"
        elif waited + max(0.0, error.retry_after or 0.0) > patience:
            why = f"no success for {waited / _MINUTE:.0f} minutes"
            if error.retry_after is not None:
                why += f", and it asks for {error.retry_after / _MINUTE:.0f} more"
        if why:
            hint = error.hint or "go on later with comind solve --resume"
            self._gone = ModelServiceError(f"{error}; {why}", hint=hint)

    def _raise_if_over(self, model: str) -> None:
        found = self._refusals.get(model) or self._gone
        if found is not None:
            raise type(found)(str(found), hint=found.hint)
