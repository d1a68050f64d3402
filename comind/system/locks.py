"""Wait for locks of other processes, each for a limited time."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from comind.errors import ServiceError
from comind.system.progress import step

_POLL_SECONDS = 0.05


@contextlib.contextmanager
def exclusive(path: Path, seconds: int, what: str) -> Iterator[None]:
    """Let one process at a time do `what`: hold the lock file `path` for the length of the block.

    Waiting is reported as progress.

    Raises:
        ServiceError: another process holds it for `seconds`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=1)
    except Timeout:
        with step(f"waiting for another process to {what}"):
            try:
                lock.acquire(timeout=max(0, seconds - 1))
            except Timeout:
                raise lock_is_held(path, seconds) from None
    try:
        yield
    finally:
        lock.release()


def flock_within(descriptor: int, operation: int, seconds: float) -> bool:
    """Lock an open file, within `seconds`; return whether it was possible."""
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_POLL_SECONDS)
        except OSError:  # the file system has no locks
            return False
        else:
            return True


def lock_is_held(path: Path, seconds: float) -> ServiceError:
    """Return the error of a lock that another process does not release."""
    return ServiceError(
        f"{path}: another process has held this lock for {seconds:.0f} seconds",
        hint="wait for it to end, or stop it, then run the command again",
    )
