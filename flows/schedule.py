"""Follow a competition on a schedule: a Prefect deployment, and a worker that carries out its runs.

The deployment, its schedule and its runs are shown by Prefect's page, where they can be paused and
started by hand. With a server of one's own (`PREFECT_API_URL`) the deployment stays there when we end;
any worker of its pool on a machine with this project goes on with it.
"""

import hashlib
import re
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
)
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.schedules import Schedule
from prefect.types.entrypoint import EntrypointType

from comind.errors import OrchestrationError
from comind.eventlog.log import is_written
from comind.following.journal import following_log
from flows.following import FollowingParams, follow_competition
from flows.orphans import crash_runs, in_states
from flows.server import service_log, start_service

__all__ = ["POOL", "deploy", "reason_of", "work"]

POOL = "comind"
_TICK_SECONDS = 1.0
_PREFECTS_WORDS = re.compile(r"^(Flow run encountered an exception: )?(\w+Error: )?")


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
        name=f"{slug}-{hashlib.sha256(str(project).encode()).hexdigest()[:6]}",  # a server serves many
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
    _close_killed(project, slug, made)
    with get_client(sync_client=True) as client:
        client.create_flow_run_from_deployment(made)  # a schedule begins one interval later
    return made


def work(project: Path, deployment: UUID, *, runs: int | None, tell: Callable[[FlowRun], None]) -> None:
    """Carry out what is due, until so many runs have ended; `tell` is called with each that has.

    Raises:
        OrchestrationError: the worker has ended, or the last run has failed.
    """
    told = {each.id for each in _ended(deployment)}
    before, last = len(told), None
    command = ["prefect", "worker", "start", "--pool", POOL, "--type", "process"]
    quick = {"PREFECT_WORKER_QUERY_SECONDS": "2"}  # how often it asks for what is due
    worker = start_service(project, "worker", command, quick)
    try:
        while runs is None or len(told) < before + runs:
            for each in _ended(deployment):
                if each.id not in told:
                    told.add(each.id)
                    last = each
                    tell(each)
            if not worker.alive():
                log = service_log(project, "worker")
                raise OrchestrationError("the worker has ended", hint=f"see {log}")
            time.sleep(_TICK_SECONDS)
    finally:
        worker.stop()
    if last is not None and not (last.state and last.state.is_completed()):
        raise OrchestrationError(f"the last run has failed: {reason_of(last)}")


def reason_of(run: FlowRun) -> str:
    """Return why a run has failed, in our own words as far as they are known."""
    message = (run.state.message if run.state else None) or "nobody knows why"
    return _PREFECTS_WORDS.sub("", message.splitlines()[0])


def _ended(deployment: UUID) -> list[FlowRun]:
    """Return the newest runs that were carried out, oldest first; what was left out does not count."""
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(
            deployment_filter=_only(deployment),
            flow_run_filter=in_states("COMPLETED", "FAILED", "CRASHED"),
            sort=FlowRunSort.START_TIME_DESC,
            limit=100,
        )
    return runs[::-1]


def _close_killed(project: Path, slug: str, deployment: UUID) -> None:
    """Close runs whose process was killed: each would keep the deployment's one slot for good."""
    if is_written(following_log(project, slug)):
        return  # somebody is at it
    with get_client(sync_client=True) as client:
        killed = client.read_flow_runs(
            deployment_filter=_only(deployment),
            flow_run_filter=in_states("RUNNING", "PENDING", "CANCELLING"),
        )
    crash_runs(killed)


def _only(deployment: UUID) -> DeploymentFilter:
    return DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
