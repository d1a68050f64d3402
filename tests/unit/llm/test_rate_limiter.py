"""The gate: pauses that grow, one breaker for all, limits that are shared."""

import math
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import ModelBusyError, ModelRefusedError, ModelServiceError
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import Traffic
from comind.testing import QuickClock

BUSY = ModelBusyError("it is busy")


def _gate(clock: QuickClock | None = None, **traffic: float) -> RateLimiter:
    return RateLimiter(Traffic.model_validate(traffic), clock=clock or QuickClock(), jitter=lambda: 1.0)


def _enter(limiter: RateLimiter, not_before: float = 0.0, seconds_left: float = math.inf) -> bool:
    return limiter.enter("m", 100, not_before=not_before, seconds_left=seconds_left)


def test_pauses_double_up_to_a_limit() -> None:
    """A call alone waits 1, 2, 4, 8 seconds, and never longer than the longest pause."""
    clock = QuickClock()
    limiter = _gate(clock, longest_back_off_seconds=8)
    not_before = 0.0
    for failures in range(1, 7):
        assert _enter(limiter, not_before)
        not_before = limiter.failed(BUSY, failures)
    assert clock.waited == [1, 2, 4, 8, 8]


@given(st.floats(0, 1), st.integers(1, 40))
def test_jitter_takes_at_most_half_of_a_pause(jitter: float, failures: int) -> None:
    """Pauses lie between a half and the whole of their length, however often a call has failed."""
    limiter = RateLimiter(Traffic(open_after=100), clock=QuickClock(), jitter=lambda: jitter)
    assert _enter(limiter)
    limiter.succeeded()
    assert _enter(limiter)
    whole = min(60, 2.0 ** (failures - 1))
    assert whole / 2 <= limiter.failed(BUSY, failures) <= whole


def test_what_the_endpoint_asks_for_is_kept() -> None:
    """A Retry-After is waited for to the second, by everyone, even before others have failed."""
    clock = QuickClock()
    limiter = _gate(clock)
    assert _enter(limiter)
    limiter.succeeded()
    assert _enter(limiter)
    assert limiter.failed(ModelBusyError("slow down", retry_after=17.0), 1) == 0
    assert _enter(limiter)
    assert clock.waited == [17]


def test_failures_in_a_row_pause_all_and_one_probe_resumes_them() -> None:
    """After three failures nobody passes until one call, let through alone, has succeeded."""
    clock = QuickClock()
    limiter = _gate(clock)
    assert _enter(limiter)
    limiter.succeeded()
    for failures in (1, 1, 1):
        assert _enter(limiter)
        limiter.failed(BUSY, failures)
    assert _enter(limiter), "the pause is over: one is let through"
    passed = threading.Event()
    other = threading.Thread(target=lambda: (_enter(limiter), passed.set()))
    other.start()
    assert not passed.wait(0.05)
    limiter.succeeded()
    assert passed.wait(10)
    other.join()


def test_the_first_call_goes_alone_and_a_refusal_is_for_all() -> None:
    """However many attempts begin at once, a wrong key costs one call."""
    limiter, sent, told = _gate(), [], []
    go = threading.Barrier(8)

    def call(number: int) -> None:
        go.wait()
        try:
            _enter(limiter)
            sent.append(number)
            limiter.refused("m", ModelRefusedError("wrong key"))
        except ModelRefusedError as error:
            told.append(str(error))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(sent) == 1
    assert told == ["wrong key"] * 7
    assert limiter.enter("another", 1, seconds_left=math.inf), "another model may be asked"


def _fail_until_over(limiter: RateLimiter) -> str:
    not_before, over = 0.0, ""
    for failures in range(1, 10_000):
        assert _enter(limiter, not_before)
        try:
            not_before = limiter.failed(BUSY, failures)
        except ModelServiceError as error:
            over = f"{failures}: {error}"
            break
    with pytest.raises(ModelServiceError):
        _enter(limiter)
    return over


def test_an_endpoint_that_stays_away_is_gone() -> None:
    """Patience and the campaign's retries both end; from then on nothing is sent."""
    assert (
        _fail_until_over(_gate(retries=5)) == "6: it is busy; all 5 retries of the campaign are used up"
    )
    found = _fail_until_over(_gate(patience_minutes=10))
    assert "no success for 10 minutes" in found
    asked = _gate(patience_minutes=10)
    assert _enter(asked)
    with pytest.raises(ModelServiceError, match="asks for 1440 more"):
        asked.failed(ModelBusyError("come back tomorrow", retry_after=86_400), 1)


def test_time_in_which_nobody_asks_is_no_outage() -> None:
    """Failures with hours of computing between them are failures, not an endpoint that is gone."""
    clock = QuickClock()
    limiter = _gate(clock, patience_minutes=10)
    for _ in range(5):
        assert _enter(limiter)
        limiter.failed(BUSY, 1)
        clock.pass_by(7_200)
    assert _enter(limiter)


def test_a_retry_after_of_nothing_is_no_invitation() -> None:
    """Where the endpoint asks for no pause at all, there is one all the same."""
    limiter = _gate()
    assert _enter(limiter)
    assert limiter.failed(ModelBusyError("busy", retry_after=0.0), 3) == 4


def test_nobody_waits_longer_than_there_is_time() -> None:
    """A pause that would outlast the work's time is not begun."""
    clock = QuickClock()
    limiter = _gate(clock)
    assert _enter(limiter)
    not_before = limiter.failed(ModelBusyError("busy", retry_after=100.0), 1)
    assert not _enter(limiter, not_before, seconds_left=99)
    assert clock.waited == []
    assert _enter(limiter, not_before, seconds_left=101)


def test_limits_are_shared() -> None:
    """Calls at once, requests and tokens a minute hold over all threads."""
    clock = QuickClock()
    limiter = _gate(clock, requests_per_minute=30)
    for _ in range(4):
        assert _enter(limiter)
        limiter.succeeded()
    assert clock.waited == [2, 2, 2]
    clock = QuickClock()
    limiter = _gate(clock, tokens_per_minute=600)
    for _ in range(3):
        assert _enter(limiter)
        limiter.succeeded()
    assert clock.waited == [10, 10]


@given(st.integers(1, 5))
def test_no_more_calls_are_under_way_than_may_be(concurrent: int) -> None:
    """The limit on calls at once is never passed, and all get through."""
    limiter = _gate(concurrent=concurrent)
    under_way, most, done = [0], [0], []
    lock = threading.Lock()

    def call() -> None:
        _enter(limiter)
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        with lock:
            under_way[0] -= 1
            done.append(1)
        limiter.succeeded()

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(done) == 12
    assert most[0] <= concurrent


_ENDS: dict[str, Callable[[RateLimiter], object]] = {
    "succeeded": lambda limiter: limiter.succeeded(),
    "left": lambda limiter: limiter.left(),
    "failed": lambda limiter: limiter.failed(BUSY, 1),
}


@given(st.lists(st.sampled_from(sorted(_ENDS)), max_size=30))
def test_no_history_locks_the_gate(ends: list[str]) -> None:
    """Whatever calls came to, the next one gets through."""
    limiter = _gate()
    for end in ends:
        assert _enter(limiter)
        _ENDS[end](limiter)
    assert _enter(limiter)
