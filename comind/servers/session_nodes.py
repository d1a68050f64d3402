"""Start session hosts as flow runs of a Prefect work pool."""

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import UUID

import httpx

from comind.errors import NodeLostError, UsageError
from comind.nodes.driver_server import DriverServer
from comind.nodes.input_store import InputStore
from comind.nodes.placement import HostOrder
from comind.nodes.remote_session import Nodes
from comind.servers.orphans import in_states
from comind.system.child_environment import SAFE_PATH

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.deployments.runner import RunnerDeployment

__all__ = ["SessionPool", "online_workers", "server_versions", "session_nodes"]

_ASK_SECONDS = 2.0
_REASON_LENGTH = 300
_MOST_DOUBLINGS = 6
_END_SECONDS = 10.0  # for hosts of closed sessions to end
_ENTRYPOINT = "comind.deployments.session_host"


@contextlib.contextmanager
def session_nodes(
    folder: Path,
    pool: str,
    address: str | None,
    port: int,
    store: InputStore | None,
    bandwidth_mb: float | None,
    start_seconds: float,
) -> Iterator[Nodes | None]:
    """Accept session hosts of a work pool for the length of the block; yields None without a pool.

    Args:
        folder: folder in the campaign's for keys and files in transit, removed at the end.
        pool: name of the work pool; empty for none.
        address: how nodes reach this machine; None for its host name.
        port: port to listen at; 0 for any free one.
        store: where nodes fetch large inputs; None for the driver alone.
        bandwidth_mb: most megabytes a second that the driver sends, and that it receives.
        start_seconds: from a worker's taking a run to the connection of its host, before another host
            is requested; doubled each time.

    Raises:
        UsageError: there is no such pool, or the port cannot be bound.
    """
    if not pool:
        yield None
        return
    placement = SessionPool(pool, folder.parent.name, start_seconds)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    try:
        here = address or socket.gethostname()
        with DriverServer(
            folder / "tls", address=here, port=port, store=store, bandwidth_mb=bandwidth_mb
        ) as server:
            try:
                yield Nodes(server, placement, folder / "staging")
            finally:
                placement.cancel_all()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class SessionPool:
    """Places session hosts in a work pool; a `Placement`."""

    def __init__(self, pool: str, campaign: str, start_seconds: float) -> None:
        """Create or update the deployment `session-host/POOL`; cancel what a killed driver left.

        A host is overdue `start_seconds` after a worker took its run, doubled for each one before it
        that was.

        The names of a campaign's runs begin with its own.

        Raises:
            UsageError: no server is configured, or it has no such pool.
        """
        self._pool = pool
        self._deployment = _deploy(pool)
        _cancel_stale(self._deployment, f"{campaign}/")
        self._start_seconds = start_seconds
        self._placed: list[_PlacedRun] = []

    def start(self, order: HostOrder) -> "_PlacedRun":
        """Request a session host; a worker of the pool runs it.

        Raises:
            NodeLostError: Prefect's server does not answer, or refuses.
        """
        try:
            with _client() as client:
                run = client.create_flow_run_from_deployment(
                    self._deployment, name=order.name, parameters=order.model_dump()
                )
        except httpx.HTTPError as error:
            raise NodeLostError(f"Prefect's server took no request: {type(error).__name__}") from error
        doublings = min(_MOST_DOUBLINGS, sum(each.overdue for each in self._placed))
        placed = _PlacedRun(run.id, self._pool, self._start_seconds * 2**doublings)
        self._placed.append(placed)
        return placed

    def cancel_all(self) -> None:
        """Cancel the runs that are left, after a short wait for those that are ending."""
        end = time.monotonic() + _END_SECONDS
        for placed in self._placed:
            while placed.running() and time.monotonic() < end:
                time.sleep(0.2)
            placed.cancel()


class _PlacedRun:
    """A flow run of a session host; a `PlacedHost`."""

    def __init__(self, run_id: UUID, pool: str, start_seconds: float) -> None:
        self.id = run_id
        self.overdue = False
        self._pool = pool
        self.start_seconds = start_seconds
        self._asked_at = -_ASK_SECONDS
        self._taken_at = 0.0
        self._reason = ""

    def waiting(self) -> str:
        """Return why it has not connected; asks the server every two seconds at most.

        Raises:
            NodeLostError: the run has ended.
        """
        if time.monotonic() - self._asked_at < _ASK_SECONDS:
            return self._reason
        self._asked_at = time.monotonic()
        try:
            with _client() as client:
                state = client.read_flow_run(self.id).state
        except httpx.HTTPError as error:
            self._reason = f"Prefect's server does not answer: {type(error).__name__}"
            return self._reason
        if state is not None and state.is_final():
            why = " ".join((state.message or "no reason given").split())[:_REASON_LENGTH]
            raise NodeLostError(f"the session host in pool {self._pool!r} has ended: {why}")
        if state is None or state.is_scheduled():
            self._reason = f"no free worker in pool {self._pool!r}"
            return self._reason
        self._taken_at = self._taken_at or self._asked_at
        self.overdue = self._asked_at - self._taken_at > self.start_seconds  # its worker may be gone
        late = f"a node took it and did not connect in {self.start_seconds:g} seconds"
        self._reason = late if self.overdue else "a node is starting it"
        return self._reason

    def running(self) -> bool:
        """Whether a worker runs it."""
        with contextlib.suppress(Exception), _client() as client:
            state = client.read_flow_run(self.id).state
            return state is not None and state.is_running()
        return False

    def cancel(self) -> None:
        """Cancel the run; the host ends by itself, too, as its token is refused."""
        from prefect.states import Cancelling

        with contextlib.suppress(Exception), _client() as client:
            state = client.read_flow_run(self.id).state
            if state is not None and not state.is_final():
                client.set_flow_run_state(self.id, Cancelling())


def server_versions() -> tuple[str, str]:
    """Return the versions of Prefect of the configured server and here.

    Raises:
        UsageError: the server names no version.
    """
    try:
        with _client() as client:
            return client.api_version(), client.client_version()
    except httpx.HTTPError as error:
        reason = _reason(error)
        raise UsageError(f"the Prefect server's version cannot be read ({reason})") from None


def _reason(error: httpx.HTTPError) -> str:
    """Return why a request to Prefect's server failed, in a few words."""
    if (
        isinstance(error, httpx.HTTPStatusError)
        and error.response.status_code == HTTPStatus.UNAUTHORIZED
    ):
        return "it requires another PREFECT_API_AUTH_STRING"
    return type(error).__name__


def online_workers(pool: str) -> list[str]:
    """Return the names of the pool's workers that send heartbeats.

    Raises:
        UsageError: no server is configured or answers, or it has no such pool.
    """
    from prefect.client.schemas.objects import WorkerStatus

    _require_pool(pool)
    with _client() as client:
        found = client.read_workers_for_work_pool(pool)
    return sorted(each.name for each in found if each.status == WorkerStatus.ONLINE)


def _require_pool(pool: str) -> None:
    from prefect.exceptions import ObjectNotFound

    if not os.environ.get("PREFECT_API_URL"):
        raise UsageError("--pool needs a Prefect server that workers reach", hint="set PREFECT_API_URL")
    try:
        with _client() as client:
            try:
                client.read_work_pool(pool)
            except ObjectNotFound:
                known = ", ".join(each.name for each in client.read_work_pools()) or "none"
                raise UsageError(
                    f"there is no work pool {pool!r}",
                    hint=f"prefect work-pool create {pool} --type process; its pools: {known}",
                ) from None
    except httpx.HTTPError as error:
        address = os.environ["PREFECT_API_URL"]
        raise UsageError(f"no Prefect server answers at {address} ({_reason(error)})") from None


def _deploy(pool: str) -> UUID:
    from prefect.flows import load_flow_from_entrypoint
    from prefect.runner.storage import LocalStorage
    from prefect.types.entrypoint import EntrypointType

    _require_pool(pool)
    # Without a path: else a worker copies what it finds at the driver's working directory.
    made = load_flow_from_entrypoint(_ENTRYPOINT).to_deployment(
        name=pool,
        work_pool_name=pool,
        job_variables={"env": SAFE_PATH},
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    deployment = cast("RunnerDeployment", made)  # it and `apply` return coroutines only in an event loop
    deployment.entrypoint = _ENTRYPOINT
    # Without a step that provides code, a container copies the working directory of its image, with all
    # packages, before the flow starts. This step changes to a folder and copies nothing.
    deployment.storage = LocalStorage("/")
    return cast("UUID", deployment.apply())


def _cancel_stale(deployment: UUID, prefix: str) -> None:
    """Cancel the deployment's runs with names of this prefix that have not ended."""
    from prefect.client.schemas.filters import DeploymentFilter
    from prefect.states import Cancelling

    of_pool = DeploymentFilter.model_validate({"id": {"any_": [deployment]}})
    open_runs = in_states("SCHEDULED", "PENDING", "RUNNING")
    with _client() as client:
        for run in client.read_flow_runs(deployment_filter=of_pool, flow_run_filter=open_runs):
            if run.name.startswith(prefix):
                client.set_flow_run_state(run.id, Cancelling())


def _client() -> "contextlib.AbstractContextManager[SyncPrefectClient]":
    from prefect.client.orchestration import get_client

    return get_client(sync_client=True)
