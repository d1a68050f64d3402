"""Follow a competition on a schedule: a Prefect deployment, and a worker that carries out its runs.

The deployment, its schedule and its runs are shown by Prefect's page, where they can be paused and
started by hand. With a server of one's own (`PREFECT_API_URL`) the deployment stays there when we end;
any worker of its pool on a machine with this project goes on with it.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.client.schemas.objects import (
    ConcurrencyLimitConfig,
    ConcurrencyLimitStrategy,
    FlowRun,
    StateType,
)
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.schedules import Schedule
from prefect.types.entrypoint import EntrypointType

from comind.errors import OrchestrationError
from flows.following import FollowingParams, follow_competition
from flows.server import service_log, start_service

__all__ = ["POOL", "deploy", "work"]

POOL = "comind"
_TICK_SECONDS = 1.0


def deploy(project: Path, slug: str, params: FollowingParams, every: timedelta) -> UUID:
    """Make or renew the deployment, with a run that is due now; the next ones follow at the interval.

    A run that is due while the one before is still going on is left out: days do not overlap.
    """
    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(POOL)
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
    deployment = follow_competition.to_deployment(
        name=slug,
        schedule=Schedule(interval=every, anchor_date=datetime.now(UTC)),
        parameters={
            "project": str(project),
            "slug": slug,
            "params": params.model_dump(mode="json"),
        },
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
        ),
        work_pool_name=POOL,
        job_variables={"working_dir": str(project)},
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    made = cast("UUID", cast("RunnerDeployment", deployment).apply())  # coroutines only in a loop
    with get_client(sync_client=True) as client:
        client.create_flow_run_from_deployment(made)  # a schedule begins one interval later
    return made


def work(project: Path, deployment: UUID, *, runs: int | None, tell: Callable[[FlowRun], None]) -> None:
    """Carry out what is due, until so many runs have ended; `tell` is called with each that has.

    Raises:
        OrchestrationError: the worker has ended.
    """
    command = ["prefect", "worker", "start", "--pool", POOL, "--type", "process"]
    quick = {"PREFECT_WORKER_QUERY_SECONDS": "2"}  # how often it asks for what is due
    worker = start_service(project, "worker", command, quick)
    told: set[UUID] = set()
    try:
        while runs is None or len(told) < runs:
            for each in _ended(deployment):
                if each.id not in told:
                    told.add(each.id)
                    tell(each)
            if not worker.alive():
                log = service_log(project, "worker")
                raise OrchestrationError("the worker has ended", hint=f"see {log}")
            time.sleep(_TICK_SECONDS)
    finally:
        worker.stop()


def _ended(deployment: UUID) -> list[FlowRun]:
    """Return the runs that were carried out, oldest first; those that were left out do not count."""
    mine = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(deployment_filter=mine, sort=FlowRunSort.START_TIME_ASC, limit=200)
    ended = (StateType.COMPLETED, StateType.FAILED, StateType.CRASHED)
    return [run for run in runs if run.state is not None and run.state.type in ended]
