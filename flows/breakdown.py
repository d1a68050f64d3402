"""What is behind an exception that comes from deep inside a tool: a full disk, a server that is gone."""

import shutil
from pathlib import Path

from comind.errors import ComindError, DiskError, OrchestrationError
from comind.system.files import DISK_FULL, ROOM
from flows.server import answers

__all__ = ["explained"]

_ROOM_BYTES = 1 << 20


def explained(error: Exception, project: Path, api: str) -> ComindError | None:
    """Return the error that a user can do something about, or None for a fault of our own.

    Args:
        error: what ended a flow.
        project: where it writes.
        api: address of the Prefect server that it used.
    """
    full = isinstance(error, OSError) and error.errno in DISK_FULL
    if full or shutil.disk_usage(project).free < _ROOM_BYTES:
        return DiskError(f"{project}: there is no room left on the disk", hint=ROOM)
    if not answers(f"{api}/health"):
        return OrchestrationError(
            f"the Prefect server at {api} has ended", hint="go on with comind solve --resume"
        )
    return None
