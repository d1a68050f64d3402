"""Prefect's server: the one that is configured, the one that runs here already, or one of our own."""

import contextlib
import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import OrchestrationError
from comind.system.files import write_atomically
from comind.system.process_identity import process_identity
from comind.system.supervised import SupervisedProcess, start_supervised
from flows.orphans import OWNER

__all__ = [
    "announce",
    "answers",
    "api_address",
    "ended_early",
    "free_port",
    "is_free",
    "prefect_server",
    "start_prefect",
    "start_service",
    "wait_for",
]

_START_SECONDS = 180.0
_DRAIN_SECONDS = 5.0
_TRIES = 3  # a free port can be taken between looking and binding
_HOST = "127.0.0.1"


ended_early = False
"""Whether a server ended under us: its client would try for minutes to send what is queued."""


@contextlib.contextmanager
def prefect_server(project: Path) -> Iterator[str]:
    """Have a Prefect server for the length of the block; yields its API address.

    `PREFECT_API_URL` names a server to use; else the one that `comind ui` keeps for this project; else a
    server is started, which ends with the block, and with us if we are killed.

    Raises:
        OrchestrationError: the configured server does not answer, or ours does not start.
    """
    global ended_early  # noqa: PLW0603 - only how this process ends depends on it
    with _some_server(project) as address:
        try:
            yield address
        finally:
            ended_early = not answers(f"{address}/health")


@contextlib.contextmanager
def _some_server(project: Path) -> Iterator[str]:
    configured = os.environ.get("PREFECT_API_URL")
    if configured:
        if not answers(f"{configured}/health"):
            raise OrchestrationError(
                f"the Prefect server at {configured} does not answer",
                hint="start it, or unset PREFECT_API_URL",
            )
        yield configured
        return
    shared = _announced(project)
    address, server = (shared, None) if shared else _start(project)
    os.environ["PREFECT_API_URL"] = address
    try:
        yield address
    finally:
        if answers(f"{address}/health"):  # else it would wait for a server that is gone
            _send_what_is_queued()
        del os.environ["PREFECT_API_URL"]
        if server is not None:
            server.stop()


def _start(project: Path) -> tuple[str, SupervisedProcess]:
    for _ in range(_TRIES):
        port = free_port()
        server, address = start_prefect(project, "prefect", port), api_address(port)
        if wait_for(f"{address}/health", server):
            return address, server
        server.stop()
    log = service_log(project, "prefect")
    raise OrchestrationError("the Prefect server did not start", hint=f"see {log}")


def _send_what_is_queued() -> None:
    """Let Prefect's background threads send logs and events while the server is still there."""
    if "prefect" not in sys.modules:
        return
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogHandler

    EventsWorker.drain_all(timeout=_DRAIN_SECONDS)
    APILogHandler().flush()


def start_prefect(project: Path, name: str, port: int) -> SupervisedProcess:
    """Start a Prefect server; its page must be told the port, or it looks for the default one."""
    page = {
        "PREFECT_SERVER_UI_API_URL": api_address(port),
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    }
    command = ["prefect", "server", "start", "--host", _HOST, "--port", str(port)]
    return start_service(project, name, command, page)


def api_address(port: int) -> str:
    """Return the address of the API of a Prefect server of ours."""
    return f"http://{_HOST}:{port}/api"


def start_service(
    project: Path, name: str, command: list[str], settings: dict[str, str]
) -> SupervisedProcess:
    """Start a Python module as a server that ends with us; it logs to a file of its name."""
    return start_supervised(
        [sys.executable, "-m", *command],
        env={**os.environ, **settings, OWNER: process_identity()},
        cwd=project,
        log=service_log(project, name),
    )


def service_log(project: Path, name: str) -> Path:
    """Return the file that a server logs to."""
    return ProjectFolder(project).orchestration / f"{name}-server.log"


def wait_for(address: str, server: SupervisedProcess) -> bool:
    """Wait until `address` answers; False when the server ends or does not answer in time."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and server.alive():
        if answers(address):
            return True
        time.sleep(0.1)
    return False


def announce(project: Path, address: str) -> Path:
    """Let campaigns of this project use a running server; returns the note, to be removed at its end."""
    note = ProjectFolder(project).orchestration / "server.json"
    write_atomically(note, json.dumps({"api": address}))
    return note


def _announced(project: Path) -> str | None:
    note = ProjectFolder(project).orchestration / "server.json"
    try:
        address = str(json.loads(note.read_text())["api"])
    except (OSError, ValueError, KeyError):
        return None
    return address if answers(f"{address}/health") else None


def answers(address: str) -> bool:
    """Say whether a server answers here and now."""
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - always http
            return bool(answer.status == 200)  # noqa: PLR2004 - HTTP OK
    except (OSError, urllib.error.URLError, ValueError):
        return False


def free_port() -> int:
    """Return a port of the loopback that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Say whether a server could listen on this port of the loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True
