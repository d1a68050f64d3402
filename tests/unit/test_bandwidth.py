"""A rate limit that several sessions share."""

from hypothesis import given
from hypothesis import strategies as st

from comind.nodes.bandwidth import Bandwidth

_CHUNKS = st.lists(st.integers(1, 10**7), min_size=1, max_size=20)


@given(st.lists(_CHUNKS, min_size=1, max_size=4), st.floats(0.01, 1000))
def test_sessions_together_keep_the_rate(sessions: list[list[int]], megabytes: float) -> None:
    """Sessions that wait for the delays move all bytes in the time that the rate needs, no more."""
    now = 0.0
    limit = Bandwidth(megabytes, clock=lambda: now)
    ready = {number: (0.0, chunks) for number, chunks in enumerate(sessions)}
    while ready:
        number = min(ready, key=lambda each: ready[each][0])
        now, [chunk, *rest] = ready.pop(number)
        free = now + limit.delay(chunk)
        if rest:
            ready[number] = (free, rest)
        last = free
    needed = sum(map(sum, sessions)) / (megabytes * 10**6)
    assert abs(last - needed) <= 1e-9 * max(1.0, needed)


def test_without_a_limit_nothing_waits() -> None:
    """Any number of bytes may follow at once."""
    assert Bandwidth(None).delay(10**12) == 0.0


def test_an_idle_link_saves_nothing_up() -> None:
    """After a pause the rate is the same, and not more."""
    now = 0.0
    limit = Bandwidth(1, clock=lambda: now)
    assert limit.delay(10**6) == 1.0
    now = 100.0
    assert limit.delay(2 * 10**6) == 2.0
