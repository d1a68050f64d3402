"""Environment variables and servers of the tools: Prefect and MLflow.

A campaign uses the Prefect server of `PREFECT_API_URL`, else the one that `comind ui` runs for the
project, else it starts its own. A server that is started here has a random authentication string, which
only our own clients get; that of `comind ui` is in a file that only the user can read.
"""

import contextlib
import logging
import os
import secrets
import socket
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import ComindError, OrchestrationError, ServiceError
from comind.servers.orphans import OWNER
from comind.servers.prefect_app import AUTH_STRING
from comind.servers.start import START_SECONDS, await_start, start_failed
from comind.servers.tool_settings import quieten_tools
from comind.system.child_environment import NETWORK, SAFE_PATH, child_environment
from comind.system.disk import full_disk
from comind.system.files import write_atomically
from comind.system.health import BOUND, answers, status_of
from comind.system.locks import exclusive
from comind.system.process_identity import has_exited, process_identity
from comind.system.supervised import SupervisedProcess, start_supervised
from comind.system.temporary_folders import make_scratch_folder

_log = logging.getLogger(__name__)
_DRAIN_SECONDS = 5.0
_BUSY_SECONDS = 120.0  # for the response of a configured server
_START_ATTEMPTS = 3  # another process can bind a free port before the server does
_HOST = "127.0.0.1"
_OF_PREFECT = ("PREFECT_SERVER_*", "PREFECT_UI_*", "PREFECT_LOGGING_*", "PREFECT_API_DATABASE_*")
_OF_MLFLOW = ("MLFLOW_SERVER_*", "MLFLOW_LOGGING_*", "MLFLOW_DISABLE_*")
_URL, _STRING = "PREFECT_API_URL", "PREFECT_API_AUTH_STRING"
_PAGE = "page "  # before the name of a page in the access file


ended_early = False
"""Whether a server ended during the block: its client would retry for minutes what is queued."""


def prepare_environment(project: Path) -> None:
    """Set the tools' environment variables: folders of the project, no telemetry.

    Call it before Prefect is imported, which reads them on import.
    """
    quieten_tools()
    os.environ["PREFECT_HOME"] = str(ProjectFolder(project).orchestration)


class _Server(NamedTuple):
    """A Prefect server: the address of its API, and its authentication string."""

    api: str
    string: str


def free_port() -> int:
    """Return a port of the loopback that is free now."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def prefect_server(project: Path, choose_port: Callable[[], int] = free_port) -> Iterator[str]:
    """Provide a Prefect server for the length of the block; yields the address of its API.

    A server that is started here is stopped at the end of the block, also when this process is killed;
    its port is chosen again where another program took it.

    Raises:
        OrchestrationError: the configured server does not answer, ours does not start, or the server
            ended during the block.
        DiskError: the disk is full, or became so during the block.
    """
    global ended_early  # noqa: PLW0603 - only how this process ends depends on it
    with _some_server(project, choose_port) as address:
        try:
            yield address
        finally:
            ended_early = not answers(f"{address}/health")


@contextlib.contextmanager
def _known_causes(project: Path, api: str) -> Iterator[None]:
    """Raise the cause of an exception in the block, where it is known, in place of the exception."""
    try:
        yield
    except Exception as error:
        known = _known_cause(error, project, api)
        if known is None or known is error:
            raise
        raise known from None


def _known_cause(error: Exception, project: Path, api: str) -> ComindError | None:
    """Map an exception of a tool to an error that users can act on; None for a bug of our own."""
    usage = isinstance(error, ComindError) and not isinstance(error, ServiceError)
    if not usage and (full := full_disk(error, project, "the campaign, MLflow and Prefect")):
        return full
    if isinstance(error, ComindError):
        return error
    hint = "run the command again; a campaign is resumed with comind solve --resume"
    if not answers(f"{api}/health"):
        return OrchestrationError(f"the Prefect server at {api} has ended", hint=hint)
    from comind.servers.prefect_client import failed_call

    if reason := failed_call(error, api):
        return OrchestrationError(f"a call to the Prefect server at {api} failed: {reason}", hint=hint)
    return None


@contextlib.contextmanager
def _some_server(project: Path, choose_port: Callable[[], int]) -> Iterator[str]:
    """Yield the address of a running server, or start one for the length of the block."""
    with running_server(project) as running:
        if running is not None:
            yield running
            return
        started, process = _start(project, choose_port)
        _log.info("prefect: answers at %s", started.api)
        try:
            with _in_use(started), _known_causes(project, started.api):
                yield started.api
        finally:
            process.stop()
            _log.info("prefect: stopped")


@contextlib.contextmanager
def running_server(project: Path) -> Iterator[str | None]:
    """Yield the address of the server that is configured or runs for the project; None without one.

    Raises:
        OrchestrationError: the configured server does not answer, or a server ended or refused a call
            during the block.
        DiskError: the disk is full, or became so during the block.
    """
    if configured := _configured():
        with _known_causes(project, configured):
            yield configured
    elif announced := _announced(project):
        with _in_use(announced), _known_causes(project, announced.api):
            yield announced.api
    else:
        yield None


@contextlib.contextmanager
def _in_use(server: _Server) -> Iterator[None]:
    """Make Prefect's client use a server for the length of the block; send what it has queued."""
    before = {name: os.environ.pop(name) for name in (_URL, _STRING) if name in os.environ}
    os.environ |= {_URL: server.api, _STRING: server.string}
    try:
        yield
    finally:
        if answers(f"{server.api}/health"):  # else the flush would wait for its timeout
            _flush_queues()
        del os.environ[_URL], os.environ[_STRING]
        os.environ |= before


def _configured(timeout: float = 5.0, busy: float = _BUSY_SECONDS) -> str | None:
    """Return the address in `PREFECT_API_URL`, if any; OrchestrationError if it does not take us.

    `timeout` is of one request, and a server that is busy is asked for `busy` seconds.
    """
    configured, string = os.environ.get(_URL), os.environ.get(_STRING, "")
    if not configured:
        return None
    # Prefect answers /health without authentication; of Prefect Cloud only that is known.
    path = "health" if "PREFECT_API_KEY" in os.environ else "admin/version"
    headers = {"Authorization": f"Basic {b64encode(string.encode()).decode()}"} if string else {}
    status = status_of(f"{configured}/{path}", headers, timeout=timeout, busy=busy)
    if status == HTTPStatus.UNAUTHORIZED:
        raise OrchestrationError(
            f"the Prefect server at {configured} requires another authentication string",
            hint=f"set {_STRING} to the server's",
        )
    if status != HTTPStatus.OK:
        raise OrchestrationError(
            f"the Prefect server at {configured} does not answer",
            hint=f"start it, or unset {_URL}",
        )
    return configured


def _start(project: Path, choose_port: Callable[[], int]) -> tuple[_Server, SupervisedProcess]:
    home = ProjectFolder(project).orchestration
    log = service_log(project, "prefect")
    # Servers of one project share a database, which one creates.
    with exclusive(home / "server.lock", START_SECONDS, "start Prefect's server"):
        for _ in range(_START_ATTEMPTS):
            (server, process, bound), up = _start_prefect(project, "prefect", choose_port()), False
            try:
                up = await_start("Prefect", f"{server.api}/health", process, log, bound=bound)
            finally:
                if not up:
                    process.stop()
            if up:
                return server, process
    raise start_failed("Prefect", f"ended at its start, {_START_ATTEMPTS} times", log)


def _flush_queues() -> None:
    """Send the logs and events that Prefect's background threads have queued."""
    if "prefect" not in sys.modules:
        return
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogHandler

    EventsWorker.drain_all(timeout=_DRAIN_SECONDS)
    APILogHandler().flush()


def _start_prefect(project: Path, name: str, port: int) -> tuple[_Server, SupervisedProcess, Path]:
    """Start a Prefect server; returns also the file that exists once the port is its own."""
    server = _Server(f"http://{_HOST}:{port}/api", secrets.token_hex(20))
    bound = make_scratch_folder("b") / "bound"
    command = ["comind.servers.prefect_app", _HOST, str(port)]
    settings = {AUTH_STRING: server.string, BOUND: str(bound)}
    return server, start_service(project, name, command, settings, *_OF_PREFECT), bound


def _start_mlflow(project: Path, port: int, password: str) -> tuple[SupervisedProcess, Path]:
    """Start MLflow's server on the project's database; returns also the file `bound`, as above."""
    from comind.adapters.mlflow.database import database_uri

    tracking = ProjectFolder(project).tracking
    tracking.mkdir(parents=True, exist_ok=True)
    bound = make_scratch_folder("b") / "bound"
    command = ["comind.adapters.mlflow.tracking_server", _HOST, str(port)]
    settings = {
        "MLFLOW_TRACKING_PASSWORD": password,
        "MLFLOW_BACKEND_STORE_URI": database_uri(project),
        "MLFLOW_ARTIFACTS_DESTINATION": str(tracking),
        BOUND: str(bound),
    }
    return start_service(project, "mlflow", command, settings, *_OF_MLFLOW), bound


def start_service(
    project: Path, name: str, command: list[str], settings: dict[str, str], *variables: str
) -> SupervisedProcess:
    """Start a Python module as a server that ends with this process; it logs to `service_log`.

    Of our environment it gets what every program needs, and what matches `variables`.
    """
    _log.info("%s: starts; its output is in %s", name, service_log(project, name))
    ours = child_environment("PREFECT_HOME", "DO_NOT_TRACK", *NETWORK, *variables)
    return start_supervised(
        [sys.executable, "-m", *command],
        env={**ours, **SAFE_PATH, **settings, OWNER: process_identity()},
        cwd=project,
        log=service_log(project, name),
    )


def service_log(project: Path, name: str) -> Path:
    """Return the log file of a server."""
    return ProjectFolder(project).orchestration / f"{name}-server.log"


@contextlib.contextmanager
def serve_pages(
    project: Path, pages: Mapping[str, str], mlflow_port: int, prefect_port: int
) -> Iterator[tuple[SupervisedProcess, SupervisedProcess]]:
    """Run MLflow's and Prefect's servers for the length of the block; campaigns find and use the latter.

    `pages` are the addresses that `announced_pages` returns meanwhile, by name.

    Raises:
        OrchestrationError: one of them does not start.
    """
    with contextlib.ExitStack() as stack:
        server, prefect, bound = _start_prefect(project, "prefect-ui", prefect_port)
        stack.callback(prefect.stop)
        mlflow, mlflow_bound = _start_mlflow(project, mlflow_port, server.string)
        stack.callback(mlflow.stop)
        for name, log_name, page, process, own in (
            ("MLflow", "mlflow", f"http://{_HOST}:{mlflow_port}", mlflow, mlflow_bound),
            ("Prefect", "prefect-ui", server.api, prefect, bound),
        ):
            log = service_log(project, log_name)
            if not await_start(name, f"{page}/health", process, log, bound=own):
                raise start_failed(name, "ended at its start", log)
        _announce(project, server, pages)
        stack.callback(access_file(project).unlink, missing_ok=True)
        yield mlflow, prefect


def access_file(project: Path) -> Path:
    """Return the file by which campaigns of this project, and a shell, reach a running server."""
    return ProjectFolder(project).orchestration / "server.env"


def announced_pages(project: Path) -> dict[str, str]:
    """Return the addresses of the project's pages by name; empty where no server of it runs."""
    if _announced(project) is None:
        return {}
    values = _access(project).items()
    return {name.removeprefix(_PAGE): url for name, url in values if name.startswith(_PAGE)}


def _announce(project: Path, server: _Server, pages: Mapping[str, str]) -> None:
    lines = [f"export {_URL}={server.api}", f"export {_STRING}={server.string}"]
    lines += [f"# {_PAGE}{name}={url}" for name, url in pages.items()]
    lines.append(f"# {OWNER}={process_identity()}\n")
    write_atomically(access_file(project), "\n".join(lines), mode=0o600)


def _announced(project: Path) -> _Server | None:
    values = _access(project)
    if not values.keys() >= {_URL, _STRING, OWNER}:
        return None
    server = _Server(values[_URL], values[_STRING])
    # Another program may answer at the port of a killed server.
    return None if has_exited(values[OWNER]) or not answers(f"{server.api}/health") else server


def _access(project: Path) -> dict[str, str]:
    """Return the values of the file by which a server is found; empty without one, or a damaged one."""
    try:
        lines = access_file(project).read_text().splitlines()
        return dict(line.removeprefix("export ").removeprefix("# ").split("=", 1) for line in lines)
    except (OSError, ValueError):
        return {}
