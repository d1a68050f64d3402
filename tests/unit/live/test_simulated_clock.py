"""The simulated clock."""

from datetime import UTC, datetime, timedelta

import pytest

from comind.errors import UsageError
from comind.live.simulated_clock import SimulatedClock
from tests.unit.live.worlds import NOON

DAY = timedelta(days=1)


class Seconds:
    """A manual clock of real seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_clock_stands_where_it_was_set() -> None:
    """Without a speed, the clock is frozen."""
    seconds = Seconds()
    clock = SimulatedClock(NOON, seconds=seconds)
    seconds.now += 1_000_000
    assert clock.now() == clock.moment == NOON


def test_a_clock_runs_fast() -> None:
    """At a speed of 86,400 a real second is a simulated day."""
    seconds = Seconds()
    clock = SimulatedClock(NOON, speed=86_400, seconds=seconds)
    seconds.now += 3
    assert clock.now() == NOON + 3 * DAY


def test_a_clock_can_be_set_and_sped_up_on_the_way() -> None:
    """A new time or speed takes effect from that moment on."""
    seconds = Seconds()
    clock = SimulatedClock(NOON, speed=1, seconds=seconds)
    seconds.now += 60
    clock.set_speed(3600)
    seconds.now += 1
    assert clock.now() == NOON + timedelta(minutes=61)
    clock.set(NOON - DAY)
    assert (clock.now(), clock.start) == (NOON - DAY, NOON - DAY)
    seconds.now += 1
    assert clock.now() == NOON - DAY + timedelta(hours=1)


def test_the_real_time_hides_nothing() -> None:
    """The real clock has no as-of time."""
    clock = SimulatedClock()
    assert clock.moment is None
    assert abs(clock.now() - datetime.now(UTC)) < DAY


def test_time_does_not_run_out() -> None:
    """A clock that overflows stays at the last representable time."""
    seconds = Seconds()
    clock = SimulatedClock(NOON, speed=1e12, seconds=seconds)
    seconds.now += 1e12
    assert clock.now().year == 9999


@pytest.mark.parametrize("speed", [-1.0, float("inf"), float("nan")])
def test_a_clock_never_runs_back(speed: float) -> None:
    """A negative or non-finite speed is refused."""
    with pytest.raises(UsageError, match="must be finite and not negative"):
        SimulatedClock(NOON, speed=speed)


def test_a_time_without_a_zone_is_refused() -> None:
    """A start time without a zone is refused."""
    with pytest.raises(UsageError, match="needs a zone"):
        SimulatedClock(NOON.replace(tzinfo=None))
