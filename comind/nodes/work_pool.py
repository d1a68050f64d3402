"""Start session hosts as flow runs of a Prefect work pool."""

import contextlib
import os
import time
from typing import cast
from uuid import UUID

import httpx
from prefect.client.schemas.filters import DeploymentFilter
from prefect.client.schemas.objects import WorkerStatus
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.runner.storage import LocalStorage
from prefect.states import Cancelling
from prefect.types.entrypoint import EntrypointType

from comind.errors import NodeLostError, UsageError
from comind.nodes.placement import HostOrder
from comind.nodes.session_host_flow import session_host
from comind.servers.orphans import in_states
from comind.servers.prefect_client import failure_reason, open_client
from comind.servers.run_environment import RUN_ENVIRONMENT

_ASK_SECONDS = 2.0
_REASON_LENGTH = 300
_MOST_DOUBLINGS = 6
_END_SECONDS = 10.0  # for hosts of closed sessions to end


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
            with open_client() as client:
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
            with open_client() as client:
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
        with contextlib.suppress(Exception), open_client() as client:
            state = client.read_flow_run(self.id).state
            return state is not None and state.is_running()
        return False

    def cancel(self) -> None:
        """Cancel the run; the host ends by itself, too, as its token is refused."""
        with contextlib.suppress(Exception), open_client() as client:
            state = client.read_flow_run(self.id).state
            if state is not None and not state.is_final():
                client.set_flow_run_state(self.id, Cancelling())


def online_workers(pool: str) -> list[str]:
    """Return the names of the pool's workers that send heartbeats.

    Raises:
        UsageError: no server is configured or answers, or it has no such pool.
    """
    _require_pool(pool)
    with open_client() as client:
        found = client.read_workers_for_work_pool(pool)
    return sorted(each.name for each in found if each.status == WorkerStatus.ONLINE)


def _require_pool(pool: str) -> None:
    if not os.environ.get("PREFECT_API_URL"):
        raise UsageError("--pool needs a Prefect server that workers reach", hint="set PREFECT_API_URL")
    try:
        with open_client() as client:
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
        raise UsageError(f"no Prefect server answers at {address} ({failure_reason(error)})") from None


def _deploy(pool: str) -> UUID:
    _require_pool(pool)
    # Without a path: else a worker copies what it finds at the driver's working directory.
    made = session_host.to_deployment(
        name=pool,
        work_pool_name=pool,
        job_variables={"env": RUN_ENVIRONMENT},
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    deployment = cast("RunnerDeployment", made)  # it and `apply` return coroutines only in an event loop
    # Without a step that provides code, a container copies the working directory of its image, with all
    # packages, before the flow starts. This step changes to a folder and copies nothing.
    deployment.storage = LocalStorage("/")
    return cast("UUID", deployment.apply())


def _cancel_stale(deployment: UUID, prefix: str) -> None:
    """Cancel the deployment's runs with names of this prefix that have not ended."""
    of_pool = DeploymentFilter.model_validate({"id": {"any_": [deployment]}})
    open_runs = in_states("SCHEDULED", "PENDING", "RUNNING")
    with open_client() as client:
        for run in client.read_flow_runs(deployment_filter=of_pool, flow_run_filter=open_runs):
            if run.name.startswith(prefix):
                client.set_flow_run_state(run.id, Cancelling())
