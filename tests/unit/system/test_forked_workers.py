"""A forked worker answers a request, or reports the limit that ended it; the process lives on."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from comind.system.forked_workers import ForkedWorkers, Limits, RequestFailedError

pytestmark = pytest.mark.slow

_LIMITS = Limits(cpu_seconds=1, seconds=600, memory_bytes=1 << 28)


@contextmanager
def _workers(answer: Callable[[bytes], bytes], limits: Limits = _LIMITS) -> Iterator[ForkedWorkers]:
    workers = ForkedWorkers(answer, limits)
    yield workers
    workers.stop()


def _obey(request: bytes) -> bytes:
    """Do what a request says, and return the number of this process."""
    match request:
        case b"spin":
            while True:
                pass
        case b"grow":
            return bytes(1 << 29)
        case b"wait":
            time.sleep(3600)
        case b"end":
            os.kill(os.getpid(), signal.SIGTERM)
        case b"raise":
            raise ValueError("a bug")
    return str(os.getpid()).encode()


def test_answers_come_back_whole() -> None:
    """An answer may be longer than a connection holds at once."""
    with _workers(lambda request: request * 100_000) as workers:
        assert workers.request(b"0123456789") == b"0123456789" * 100_000


@pytest.mark.parametrize(
    ("request_", "limits", "reason"),
    [
        (b"spin", _LIMITS, "needed more than 2 s of processor time"),
        (b"grow", _LIMITS, "needed more than 0.2 GiB of memory"),
        (b"wait", Limits(cpu_seconds=60, seconds=0.1, memory_bytes=1 << 28), "took more than 0 minutes"),
        (b"end", _LIMITS, "failed: it was ended by SIGTERM"),
        (b"raise", _LIMITS, "failed: it ended with exit code 1"),
    ],
)
def test_what_ends_a_worker_is_reported(request_: bytes, limits: Limits, reason: str) -> None:
    """Each way to end has its reason, and another worker answers the next request."""
    with _workers(_obey, limits) as workers:
        before = workers.request(b"")
        with pytest.raises(RequestFailedError, match=reason):
            workers.request(request_, share=2)
        assert workers.request(b"") not in (before, str(os.getpid()).encode())


def test_a_worker_answers_again_with_fresh_limits() -> None:
    """Limits are of a request: what a worker used before does not count."""

    def use(_request: bytes) -> bytes:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        return str(os.getpid()).encode()

    with _workers(use) as workers:
        assert len({workers.request(b"") for _ in range(5)}) == 1


def test_a_worker_killed_from_outside_is_replaced(tmp_path: Path) -> None:
    """A request whose worker is killed is made again; killed again, it has failed."""
    before = tmp_path / "before"

    def die(request: bytes) -> bytes:
        if request == b"always" or not before.exists():
            before.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return b"second"

    with _workers(die) as workers:
        assert workers.request(b"once") == b"second"
        with pytest.raises(RequestFailedError, match="it was ended by SIGKILL"):
            workers.request(b"always")


def test_a_request_does_not_wait_for_another() -> None:
    """A worker that waits holds up no request of another thread."""
    reader, writer = os.pipe()
    found = list[bytes]()

    with _workers(lambda request: os.read(reader, 1) if request == b"slow" else b"fast") as workers:
        slow = threading.Thread(target=lambda: found.append(workers.request(b"slow")))
        slow.start()
        for _ in range(3):
            assert workers.request(b"") == b"fast"
        os.write(writer, b"s")
        slow.join()
    assert found == [b"s"]
    os.close(reader)
    os.close(writer)
