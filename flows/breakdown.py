"""What is behind an exception that comes from deep inside a tool: a full disk, a server that is gone."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comind.errors import ComindError, DiskError, OrchestrationError
from comind.system.files import DISK_FULL, ROOM_HINT
from flows.server import answers

__all__ = ["plain_errors"]

_ROOM_BYTES = 1 << 20


@contextmanager
def plain_errors(project: Path, api: str) -> Iterator[None]:
    """Turn what tools raise within the block into an error that a user can do something about.

    The block writes into `project`, and uses the Prefect server at `api`.

    Raises:
        ComindError: raised within, or behind what was raised within.
    """
    try:
        yield
    except ComindError:
        raise
    except Exception as error:
        known = _explained(error, project, api)
        if known is None:
            raise
        raise known from None


def _explained(error: Exception, project: Path, api: str) -> ComindError | None:
    """Return the error that a user can do something about, or None for a fault of our own."""
    full = isinstance(error, OSError) and error.errno in DISK_FULL
    if full or shutil.disk_usage(project).free < _ROOM_BYTES:
        return DiskError(f"{project}: there is no room left on the disk", hint=ROOM_HINT)
    if not answers(f"{api}/health"):
        return OrchestrationError(
            f"the Prefect server at {api} has ended", hint="go on with comind solve --resume"
        )
    return None
