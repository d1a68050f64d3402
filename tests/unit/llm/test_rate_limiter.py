"""The rate limiter: exponential backoff, one circuit breaker for all calls, shared limits."""

import math
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import ModelBusyError, ModelRefusedError, ModelServiceError
from comind.llm.rate_limiter import AdmissionTimeoutError, RateLimiter
from comind.llm.settings import Traffic
from tests.doubles.clock import QuickClock

BUSY = ModelBusyError("it is busy")


def _limiter(clock: QuickClock | None = None, **traffic: float) -> RateLimiter:
    return RateLimiter(Traffic.model_validate(traffic), clock=clock or QuickClock(), jitter=lambda: 1.0)


def _call(
    limiter: RateLimiter,
    error: BaseException | None = None,
    failures: int = 1,
    not_before: float = 0.0,
    seconds_left: float = math.inf,
) -> float:
    """Make a call that ends with `error`, for so many times now; return when it may be retried."""
    admission = limiter.admit(
        "m", 100, failures=failures - 1, not_before=not_before, seconds_left=seconds_left
    )
    with suppress(*([type(error)] if error else [])), admission as call:
        if error is not None:
            raise error
    return call.retry_at


def test_backoff_of_retries_doubles_up_to_a_limit() -> None:
    """The backoff of a single call is 1, 2, 4, 8 seconds, up to the maximum."""
    clock = QuickClock()
    limiter = _limiter(clock, longest_back_off_seconds=8)
    not_before = 0.0
    for failures in range(1, 7):
        not_before = _call(limiter, BUSY, failures, not_before)
    assert clock.waited == [1, 2, 4, 8, 8]


@given(st.floats(0, 1), st.integers(1, 40))
def test_jitter_takes_at_most_half_of_a_pause(jitter: float, failures: int) -> None:
    """With jitter a pause is 50 to 100 % of its length after any number of failures."""
    limiter = RateLimiter(Traffic(open_after=100), clock=QuickClock(), jitter=lambda: jitter)
    _call(limiter)
    whole = min(60, 2.0 ** (failures - 1))
    assert whole / 2 <= _call(limiter, BUSY, failures) <= whole


def test_retry_after_of_an_endpoint_holds_for_all_calls() -> None:
    """A Retry-After holds to the second for all calls, after a single failure."""
    clock = QuickClock()
    limiter = _limiter(clock)
    _call(limiter)
    assert _call(limiter, ModelBusyError("slow down", retry_after=17.0)) == 0
    _call(limiter)
    assert clock.waited == [17]


def test_failures_in_a_row_pause_all_and_one_probe_resumes_them() -> None:
    """After three failures no call is admitted until one, admitted alone, has succeeded."""
    clock = QuickClock()
    limiter = _limiter(clock)
    _call(limiter)
    for _ in range(3):
        _call(limiter, BUSY)
    passed = threading.Event()
    other = threading.Thread(target=lambda: (_call(limiter), passed.set()))
    with limiter.admit("m", 100):  # the pause is over
        other.start()
        assert not passed.wait(0.05)
    assert passed.wait(10)
    other.join()


def test_the_breaker_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """When it opens, with its pause, and when the endpoint answers again; not the first answer."""
    caplog.set_level("INFO", logger="comind")
    limiter = _limiter(open_after=1)
    for error in (None, BUSY, None, None):
        _call(limiter, error)
    assert caplog.messages == ["no calls for 1 s: it is busy", "m answers again"]


def test_the_first_call_goes_alone_and_a_refusal_is_for_all() -> None:
    """With any number of concurrent attempts a wrong key costs one call."""
    limiter, sent, told = _limiter(), [], []
    go = threading.Barrier(8)

    def call(number: int) -> None:
        go.wait()
        try:
            with limiter.admit("m", 100):
                sent.append(number)
                raise ModelRefusedError("wrong key")  # noqa: TRY301 - by the block
        except ModelRefusedError as error:
            told.append(str(error))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(sent) == 1
    assert told == ["wrong key"] * 8
    with limiter.admit("another", 1) as call:
        assert call, "another model may be asked"


def _fail_until_over(limiter: RateLimiter) -> str:
    not_before, over = 0.0, ""
    for failures in range(1, 10_000):
        try:
            not_before = _call(limiter, BUSY, failures, not_before)
        except ModelServiceError as error:
            over = f"{failures}: {error}"
            break
    with pytest.raises(ModelServiceError):
        _call(limiter)
    return over


def test_an_endpoint_without_answer_counts_as_down_after_all_retries() -> None:
    """After the patience or the campaign's retries are used up, no call is admitted."""
    found = _fail_until_over(_limiter(retries=5))
    assert found == "6: it is busy; all 5 retries of the campaign are used up"
    found = _fail_until_over(_limiter(patience_minutes=10))
    assert "no success for 10 minutes" in found
    with pytest.raises(ModelServiceError, match="asks for 1440 more"):
        _call(_limiter(patience_minutes=10), ModelBusyError("come back", retry_after=86_400))


def test_time_in_which_nobody_asks_is_no_outage() -> None:
    """Idle hours between failures do not count as an outage."""
    clock = QuickClock()
    limiter = _limiter(clock, patience_minutes=10)
    for _ in range(5):
        _call(limiter, BUSY)
        clock.advance(7_200)
    _call(limiter)


def test_a_retry_after_of_nothing_is_no_invitation() -> None:
    """A Retry-After of 0 does not replace the backoff."""
    assert _call(_limiter(), ModelBusyError("busy", retry_after=0.0), 3) == 4


def test_a_pause_is_not_begun_after_the_deadline() -> None:
    """A pause that would end after the deadline of its call is not begun."""
    clock = QuickClock()
    limiter = _limiter(clock)
    not_before = _call(limiter, ModelBusyError("busy", retry_after=100.0))
    with pytest.raises(AdmissionTimeoutError):
        _call(limiter, not_before=not_before, seconds_left=99)
    assert clock.waited == []
    _call(limiter, not_before=not_before, seconds_left=101)


def test_limits_are_shared() -> None:
    """Calls at once, requests and tokens a minute hold over all threads."""
    clock = QuickClock()
    limiter = _limiter(clock, requests_per_minute=30)
    for _ in range(4):
        _call(limiter)
    assert clock.waited == [2, 2, 2]
    clock = QuickClock()
    limiter = _limiter(clock, tokens_per_minute=600)
    for _ in range(3):
        _call(limiter)
    assert clock.waited == [10, 10]


@given(st.integers(1, 5))
def test_no_more_calls_are_under_way_than_may_be(concurrent: int) -> None:
    """Calls in flight never exceed their limit, and all are admitted."""
    limiter = _limiter(concurrent=concurrent)
    under_way, most, done = [0], [0], []
    lock = threading.Lock()

    def call() -> None:
        with limiter.admit("m", 100):
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            with lock:
                under_way[0] -= 1
                done.append(1)

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(done) == 12
    assert most[0] <= concurrent


_OUTCOMES = {"success": None, "failure": BUSY, "no information": LookupError()}


@given(st.lists(st.sampled_from(sorted(_OUTCOMES)), max_size=30))
def test_no_history_blocks_the_next_call(outcomes: list[str]) -> None:
    """After any outcomes the next call is admitted."""
    limiter = _limiter()
    for outcome in outcomes:
        _call(limiter, _OUTCOMES[outcome])
    _call(limiter)
