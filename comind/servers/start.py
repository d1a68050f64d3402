"""Wait for a server that was started: with progress, and until a limit."""

import time
from pathlib import Path

from comind.errors import OrchestrationError
from comind.system.disk import full_disk
from comind.system.health import answers
from comind.system.progress import step
from comind.system.supervised import SupervisedProcess

START_SECONDS = 600
"""Limit of waiting for one server: a loaded machine takes minutes to create the tables of a new one."""

_POLL_SECONDS = 0.1


def await_start(
    name: str,
    address: str,
    server: SupervisedProcess,
    log: Path,
    *,
    bound: Path | None = None,
    seconds: int = START_SECONDS,
) -> bool:
    """Poll `address` until it answers; False when the server ends first. Progress is reported.

    Before the file `bound` exists another program answers: it took the port first.

    Raises:
        DiskError: there is no space left for its database and its log.
        OrchestrationError: it does not answer in time.
    """
    until = time.monotonic() + seconds
    with step(f"starting {name}'s server"):
        while time.monotonic() < until:
            if (bound is None or bound.exists()) and answers(address):
                return True
            if full := full_disk(TimeoutError(), log.parent, f"{name}'s database and log"):
                raise full
            if not server.alive():
                return False
            time.sleep(_POLL_SECONDS)
    raise start_failed(name, f"did not answer within {seconds} seconds", log)


def start_failed(name: str, why: str, log: Path) -> OrchestrationError:
    """Return the error of a server that did not start, with the last line of its log."""
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
    return OrchestrationError(
        f"{name}'s server {why}; the last line of its log is: {last}",
        hint=f"run the same command again, with less load on this machine; its log is {log}",
    )
