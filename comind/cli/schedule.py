"""Follow a competition on a schedule: a Prefect deployment, and a worker that executes its runs.

Prefect's page shows the deployment, its schedule and its runs; they can be paused and started there. On
a configured server (`PREFECT_API_URL`) the deployment outlives this process: any worker of its pool on a
machine with this project executes its runs. `flow.serve` is not used: no other worker could execute its
runs, and they would outlive a command that is killed; the worker is a supervised process.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import cast
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy, FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Crashed
from prefect.types.entrypoint import EntrypointType

from comind.adapters.mlflow.campaign_runs import stop_killed_runs
from comind.app.campaign_slices import FollowingParams
from comind.app.params import Params, read_params
from comind.errors import OrchestrationError
from comind.eventlog.log import is_written
from comind.following.state import following_log_path
from comind.servers.orphans import KILLED, end_runs
from comind.servers.run_environment import RUN_ENVIRONMENT
from comind.servers.stopping import STOPPED, stoppable
from comind.servers.tool_servers import service_log, start_service
from comind.system.supervised import SupervisedProcess
from flows.track import follow_competition

_POOL = "comind"
_POLL_SECONDS = 1.0
_ACTIVE = ("RUNNING", "PENDING", "CANCELLING")
_ENDED = ("COMPLETED", "FAILED", "CRASHED")
_OF_CAMPAIGNS = (
    *("PREFECT_*", "MLFLOW_*", "COMIND_*", "OPENAI_*", "KAGGLE_*", "HF_*", "DVC_*", "AWS_*", "GOOGLE_*"),
    *("AZURE_*", "GIT_*", "SSH_AUTH_SOCK", "DOCKER_*", "XDG_*", "CUDA_*", "NVIDIA_*", "OMP_*", "PIP_*"),
    *("*_NUM_THREADS", "ITERATIVE_DO_NOT_TRACK", "GX_ANALYTICS_ENABLED", "USER", "LOGNAME"),
)
"""Variables that a worker's campaigns read, by themselves, DVC, git, Kaggle's client, docker or pip."""
_PREFIX = re.compile(r"^(Flow run encountered an exception: )?(\w+Error: )?")  # Prefect's


def deploy(project: Path, slug: str, params: FollowingParams, every: timedelta) -> UUID:
    """Create or update the deployment, with a first run now and the next ones at the interval `every`.

    A run that is due while another is running is cancelled: runs do not overlap.
    """
    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(_POOL)
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=_POOL, type="process"))
    made = follow_competition.to_deployment(
        # Several projects may use one server, so the name contains a hash of the path.
        name=f"{slug}-{hashlib.sha256(str(project).encode()).hexdigest()[:6]}",
        interval=every,
        parameters={
            "project": str(project),
            "slug": slug,
            "params": params.model_dump(mode="json", exclude_unset=True),
        },
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
        ),
        work_pool_name=_POOL,
        job_variables={"working_dir": str(project), "env": RUN_ENVIRONMENT},
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    # It and `apply` return coroutines only inside an event loop.
    deployment = cast("RunnerDeployment", made)
    deployment.entrypoint = "comind.deployments.follow_competition"
    deployed = cast("UUID", deployment.apply())
    _crash_killed(project, slug, deployed)
    with get_client(sync_client=True) as client:
        # The schedule's first run is one interval later.
        client.create_flow_run_from_deployment(deployed)
    return deployed


def work(
    project: Path, deployment: UUID, *, runs: int | None, on_end: Callable[[FlowRun], None]
) -> None:
    """Run a worker until `runs` flow runs have ended; `on_end` is a callback for each.

    Raises:
        OrchestrationError: the worker has ended, or the last run has failed.
    """
    seen = {each.id for each in _ended(deployment)}
    before, last = len(seen), None
    command = ["prefect", "worker", "start", "--pool", _POOL, "--type", "process"]
    polling = {"PREFECT_WORKER_QUERY_SECONDS": "2"}
    variables = (*_OF_CAMPAIGNS, *_named_variables(read_params(project)))
    worker = start_service(project, "worker", command, polling, *variables)
    try:
        with stoppable(partial(_cancel, project, deployment, worker)):
            while runs is None or len(seen) < before + runs:
                for each in _ended(deployment):
                    if each.id not in seen:
                        seen.add(each.id)
                        last = each
                        on_end(each)
                if not worker.alive():
                    log = service_log(project, "worker")
                    raise OrchestrationError("the worker has ended", hint=f"see {log}")
                time.sleep(_POLL_SECONDS)
    finally:
        worker.stop()
    if last is not None and not (last.state and last.state.is_completed()):
        raise OrchestrationError(f"the last run has failed: {failure_reason(last)}")


def _named_variables(params: Params) -> set[str]:
    """Return the variables that `params.yaml` names, such as that of a model's key."""

    def find(value: object) -> Iterator[str]:
        if isinstance(value, Mapping):
            for key, each in value.items():
                yield from [each] if str(key).endswith("_variable") and each else find(each)

    return params.alerts.variables.union(find(params.model_dump()))


def failure_reason(run: FlowRun) -> str:
    """Return the message of a failed run, without Prefect's prefix."""
    message = (run.state.message if run.state else None) or "the reason is unknown"
    return _PREFIX.sub("", message.splitlines()[0])


def _ended(deployment: UUID) -> list[FlowRun]:
    """Return the newest 100 executed runs, oldest first; cancelled runs do not count."""
    return _runs(*_ENDED, deployment_id={"any_": [deployment]})[::-1]


def _crash_killed(project: Path, slug: str, deployment: UUID) -> None:
    """Mark runs of killed processes as crashed: each would hold the deployment's one slot."""
    if is_written(following_log_path(project, slug)):
        return  # a live process holds the log's lock
    end_runs(_runs(*_ACTIVE, deployment_id={"any_": [deployment]}), Crashed(message=KILLED))


def _cancel(project: Path, deployment: UUID, worker: SupervisedProcess) -> None:
    """Cancel the running day and its campaign, end the worker, and close the runs in MLflow."""
    days = _runs(*_ACTIVE, deployment_id={"any_": [deployment]})
    campaigns = _runs(*_ACTIVE, parent_flow_run_id={"any_": [day.id for day in days]})
    end_runs([*days, *campaigns], Cancelled(message=STOPPED))
    worker.stop()
    stop_killed_runs(project)


def _runs(*states: str, **criteria: dict[str, list[UUID]]) -> list[FlowRun]:
    """Return the newest 100 runs in these states that meet the criteria, newest first."""
    wanted = FlowRunFilter.model_validate({"state": {"type": {"any_": states}}, **criteria})
    with get_client(sync_client=True) as client:
        return client.read_flow_runs(flow_run_filter=wanted, sort=FlowRunSort.START_TIME_DESC, limit=100)
