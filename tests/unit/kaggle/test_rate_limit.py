"""Rate limiting and retries of requests to Kaggle."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import KaggleBusyError, KaggleRefusedError
from comind.kaggle.port import Chunk, Kaggle
from comind.kaggle.rate_limit import paginate, rate_limited
from comind.kaggle.settings import RateLimit
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import ScriptedKaggle
from tests.unit.kaggle.world import SLUG, tiny_world


def limited(**rate_limit: float) -> tuple[Kaggle, ScriptedKaggle, QuickClock]:
    clock, kaggle = QuickClock(), ScriptedKaggle(tiny_world())
    return (
        rate_limited(kaggle, RateLimit(**rate_limit), clock=clock, jitter=lambda: 1.0),
        kaggle,
        clock,
    )


def busy(after: float | None = None, *, may_have_succeeded: bool = True) -> KaggleBusyError:
    return KaggleBusyError("busy", retry_after=after, may_have_succeeded=may_have_succeeded)


def test_requests_are_apart() -> None:
    """There is a pause between two requests, and none before the first."""
    kaggle, _, clock = limited(pause_seconds=3)
    for _ in range(3):
        kaggle.pages(SLUG)
    assert clock.waited == [3, 3]


def test_retries_of_a_busy_server_back_off_exponentially() -> None:
    """The backoff doubles, and replaces the pause between requests."""
    kaggle, scripted, clock = limited(back_off_seconds=2)
    scripted.failures["pages"] = [busy(), busy(), busy()]
    assert kaggle.pages(SLUG)
    assert clock.waited == [2, 4, 8]


def test_a_retry_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The log has it, with its pause: nothing else of the command says why it waits."""
    kaggle, scripted, _ = limited(back_off_seconds=2)
    scripted.failures["pages"] = [busy()]
    kaggle.pages(SLUG)
    assert caplog.messages == ["busy; the request is retried in 2 s"]


def test_retry_after_of_kaggle_has_precedence() -> None:
    """A Retry-After is respected to the second."""
    kaggle, scripted, clock = limited()
    scripted.failures["pages"] = [busy(77)]
    kaggle.pages(SLUG)
    assert clock.waited == [77]


def test_retries_end_with_the_last_attempt_or_a_long_retry_after() -> None:
    """After the last attempt, or a Retry-After that is too long, the error is raised."""
    kaggle, scripted, _ = limited(tries=2, longest_wait_seconds=100)
    scripted.failures["pages"] = [busy()] * 2
    with pytest.raises(KaggleBusyError):
        kaggle.pages(SLUG)
    scripted.failures["pages"] = [busy(101)]
    with pytest.raises(KaggleBusyError):
        kaggle.pages(SLUG)
    assert len(scripted.calls) == 3


def test_a_refusal_is_not_retried() -> None:
    """A refusal is not retried."""
    kaggle, scripted, clock = limited()
    scripted.failures["files"] = [KaggleRefusedError("no")]
    with pytest.raises(KaggleRefusedError):
        kaggle.files(SLUG)
    assert len(scripted.calls) == 1
    assert clock.waited == []


def test_a_submission_is_retried_only_where_it_was_not_received(tmp_path: Path) -> None:
    """A submission is retried only where it was certainly not received."""
    kaggle, scripted, _ = limited()
    scripted.failures["submit"] = [busy(may_have_succeeded=False)]
    assert kaggle.submit(SLUG, tmp_path / "s.csv", "first") == "1"
    scripted.failures["submit"] = [busy(may_have_succeeded=True)]
    with pytest.raises(KaggleBusyError):
        kaggle.submit(SLUG, tmp_path / "s.csv", "second")
    assert [call for call in scripted.calls if call[0] == "submit"] == [
        ("submit", "first"),
        ("submit", "first"),
        ("submit", "second"),
    ]


@given(st.integers(0, 40), st.integers(1, 7), st.integers(1, 20))
def test_a_walk_ends(items: int, size: int, limit: int) -> None:
    """Items are in order, from at most the given number of pages."""

    def ask(at: str | None) -> Chunk[int]:
        start = int(at or 0)
        found = range(items)[start : start + size]
        return Chunk(items=tuple(found), following=str(start + size) if start + size < items else None)

    assert list(paginate(ask, chunks=limit)) == list(range(items))[: size * limit]


def test_a_list_that_leads_back_ends() -> None:
    """A repeated page token ends the list."""
    assert list(paginate(lambda at: Chunk(items=(1,), following="a"), chunks=99)) == [1, 1]
