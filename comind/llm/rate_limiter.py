"""Rate-limit the calls of a campaign to an endpoint: limits, backoff and a circuit breaker.

    closed ──(failures in a row, or a Retry-After)──► open ──(pause over)──► one call is admitted
      ▲                                                ▲                              │
      └────────────────(it succeeds)───────────────────┼──────────────────────────────┘
                                                       └───────(it fails: a longer pause)

The breaker starts half open: the first call is admitted alone, so a wrong key costs one call however
many attempts wait. A waiting call counts towards no limit.
"""

import logging
import math
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from comind.errors import ModelBusyError, ModelRefusedError, ModelServiceError
from comind.llm.settings import Traffic
from comind.system.plurals import quantity
from comind.system.timing import Backoff, Clock

_log = logging.getLogger(__name__)
_MINUTE = 60.0


class AdmissionTimeoutError(TimeoutError):
    """A call was not admitted in the time that its caller had."""


@dataclass(slots=True, eq=False)
class _Call:
    arrived: float
    """Monotonic time at which it began to wait."""
    retry_at: float = -math.inf
    """After a failure: monotonic time from which the call may be retried."""


class RateLimiter:
    """Admits calls; thread-safe."""

    def __init__(
        self,
        traffic: Traffic = Traffic(),  # noqa: B008 - frozen
        *,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Start half open; `jitter` returns numbers in [0, 1] for the backoff."""
        self._traffic = traffic
        self._clock = clock or Clock()
        self._backoff = Backoff(traffic.back_off_seconds, traffic.longest_back_off_seconds, jitter)
        self._changed = threading.Condition()
        self._refusals: dict[str, ModelServiceError] = {}
        self._gone: ModelServiceError | None = None
        self._in_flight = 0
        self._closed = False  # the breaker
        self._probe: _Call | None = None  # the one call that is admitted while the breaker is half open
        self._open_until = -math.inf
        self._failures = 0  # in a row
        self._pauses = 0
        self._last_failure = -math.inf
        self._down = 0.0  # seconds of calls that waited and failed since the last success
        self._next_request = self._next_token = -math.inf
        self.retries = 0
        """Failed calls so far that may be retried."""
        self.successes = 0
        """Calls that were answered."""

    @contextmanager
    def admit(
        self,
        model: str,
        tokens: int,
        *,
        failures: int = 0,
        not_before: float = -math.inf,
        seconds_left: float = math.inf,
    ) -> Iterator[_Call]:
        """Wait until a call may be made; make it inside the `with` block, whose outcome is recorded.

        No exception: the endpoint is up. `ModelBusyError`: the call failed, and `retry_at` of what the
        block was given is set. `ModelRefusedError`: later calls to this model raise it at once. Any
        other exception says nothing about the endpoint.

        Args:
            model: refusals are kept by it.
            tokens: about how many the call takes.
            failures: how often this call has failed before.
            not_before: `retry_at` of its last failure.
            seconds_left: until the deadline of the caller.

        Raises:
            AdmissionTimeoutError: the deadline comes before the call may be made.
            ModelServiceError: the endpoint refuses this model, or is down for longer than the settings
                allow; also in place of a `ModelBusyError` that is not to be retried.
        """
        call = self._wait(model, tokens, not_before, seconds_left)
        try:
            yield call
        except BaseException as error:
            with self._changed:
                probe = self._leave(call)
                if isinstance(error, ModelBusyError):
                    self._fail(call, error, failures + 1, probe=probe)
                elif isinstance(error, ModelRefusedError):
                    self._refusals[model] = error
            raise
        with self._changed:
            self._leave(call)
            self.successes += 1
            if self._pauses:
                _log.info("%s answers again", model)
            self._closed, self._failures, self._pauses, self._down = True, 0, 0, 0.0

    def _wait(self, model: str, tokens: int, not_before: float, seconds_left: float) -> _Call:
        call = _Call(self._clock.monotonic())
        deadline = call.arrived + seconds_left
        with self._changed:
            while True:
                self._raise_if_over(model)
                now = self._clock.monotonic()
                pause = self._pause(now, not_before)
                if pause <= 0:
                    break
                if now >= deadline or (math.isfinite(pause) and now + pause > deadline):
                    raise AdmissionTimeoutError(f"no call to {model} in {seconds_left:.0f} s")
                self._clock.wait(self._changed, pause, deadline - now)
            self._in_flight += 1
            if not self._closed:
                self._probe = call
            self._next_request = now + _MINUTE / (self._traffic.requests_per_minute or math.inf)
            self._next_token = now + _MINUTE * tokens / (self._traffic.tokens_per_minute or math.inf)
        return call

    def _pause(self, now: float, not_before: float) -> float:
        """Return the seconds before a call may be made; infinite: until another one ends."""
        if self._probe is not None or self._in_flight >= self._traffic.concurrent:
            return math.inf
        return max(self._open_until, not_before, self._next_request, self._next_token) - now

    def _leave(self, call: _Call) -> bool:
        """Count a call out and wake the waiting ones; return whether it was the probe."""
        self._in_flight -= 1
        self._changed.notify_all()
        probe = self._probe is call
        if probe:
            self._probe = None
        return probe

    def _fail(self, call: _Call, error: ModelBusyError, failures: int, *, probe: bool) -> None:
        now, retry_after = self._clock.monotonic(), error.retry_after
        self._failures += 1
        self._down += now - max(call.arrived, self._last_failure)  # idle time is no outage
        self._last_failure = now
        if retry_after is not None or probe or self._failures >= self._traffic.open_after:
            self._pauses += probe or self._closed
            pause = self._backoff.seconds(self._pauses) if retry_after is None else retry_after
            self._closed = False
            self._open_until = max(self._open_until, now + pause)
            _log.info("no calls for %.0f s: %s", pause, error)
        self._give_up(error)
        self._raise_if_over("")
        self.retries += 1
        replaced = (retry_after or 0.0) >= self._traffic.back_off_seconds
        call.retry_at = now + (0.0 if replaced else self._backoff.seconds(failures))

    def _give_up(self, error: ModelBusyError) -> None:
        """Count the endpoint as gone when retries or patience are used up."""
        patience = _MINUTE * self._traffic.patience_minutes
        why = ""
        if self.retries >= self._traffic.retries:
            why = f"all {self._traffic.retries} retries of the campaign are used up"
        elif self._down + max(0.0, error.retry_after or 0.0) > patience:
            why = f"no success for {quantity(round(self._down / _MINUTE), 'minute')}"
            if error.retry_after is not None:
                why += f", and it asks for {error.retry_after / _MINUTE:.0f} more"
        if why:
            hint = error.hint or "resume later with comind solve --resume"
            self._gone = ModelServiceError(f"{error}; {why}", hint=hint)

    def _raise_if_over(self, model: str) -> None:
        found = self._refusals.get(model) or self._gone
        if found is not None:
            raise type(found)(str(found), hint=found.hint)
