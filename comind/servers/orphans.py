"""Clean up after dead processes: orphaned servers of a project, and its stale runs in Prefect."""

import contextlib
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from comind.bench.plan import read_plan
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.errors import ComindError, LogError
from comind.eventlog.log import is_written
from comind.following.state import following_log_path
from comind.system.process_identity import has_exited

if TYPE_CHECKING:
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.objects import FlowRun, State

OWNER = "COMIND_OWNER"
"""Variable in a server's environment that identifies the process that started it."""
_WAIT_SECONDS = 5.0
_PAGE = 200
KILLED = "its process was killed; the campaign's log holds its state"
NO_SUBMISSION = "no attempt has a valid submission"


def terminate_orphans(project: Path) -> list[str]:
    """Terminate servers of this project whose owner is dead; returns a description of each.

    A supervisor ends each server with its owner; this ends those whose supervisor was killed, too.
    """
    home = str(ProjectFolder(project).orchestration)
    orphans = []
    for number in psutil.pids():  # process_iter() caches by process id, and ids are reused
        try:
            process = psutil.Process(number)
            settings = process.environ()
            if settings.get("PREFECT_HOME") == home and has_exited(settings.get(OWNER, "")):
                orphans.append((process, " ".join(process.cmdline()[:6])))
        except (psutil.Error, OSError):
            continue  # it has ended, or belongs to another user
    for process, _ in orphans:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs([process for process, _ in orphans], timeout=_WAIT_SECONDS)
    for process in stubborn:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return [f"{command} (process {process.pid})" for process, command in orphans]


def close_killed_runs(project: Path, going_on: Container[str] = ()) -> list[str]:
    """Set the states of runs of killed processes, in Prefect and MLflow; returns the runs' names.

    A run is such a one if it is running and no process holds the lock of its campaign's log, of its
    bench or of its followed competition. Runs of other projects on the same servers are not changed.
    Without an end in the log they are Crashed in Prefect; in MLflow they are as `stop_killed_runs` says,
    except for campaigns that are `going_on`.
    """
    from comind.adapters.mlflow.campaign_runs import stop_killed_runs

    return sorted({*_close_flow_runs(project), *stop_killed_runs(project, going_on)})


def _close_flow_runs(project: Path) -> list[str]:
    from prefect.client.orchestration import get_client

    running = in_states("RUNNING", "PENDING", "CANCELLING")
    closed = []
    with get_client(sync_client=True) as client:
        for offset in range(0, 50 * _PAGE, _PAGE):
            page = client.read_flow_runs(flow_run_filter=running, limit=_PAGE, offset=offset)
            for each in page:
                lock = _lock_of(project, each)
                if lock is not None and lock.is_file() and not is_written(lock):
                    closed.append((each, _end_of(project, each)))
            if len(page) < _PAGE:
                break
        for run, end in closed:
            client.set_flow_run_state(run.id, end, force=True)
    return [str(run.name) for run, _ in closed]


def _lock_of(project: Path, run: "FlowRun") -> Path | None:
    """Return the file that the process of a run of a campaign, a bench or a followed day has locked."""
    kind, _, what = str(run.name).partition(" ")
    if not what:
        return ProjectFolder(project).campaign(kind).log
    if run.parameters.get("project") == str(project):
        if kind == "following":
            return following_log_path(project, what)
        if kind == "bench":
            with contextlib.suppress(ComindError):  # its plan is gone
                return ProjectFolder(project).benches / read_plan(Path(what)).name / ".lock"
    return None


def _end_of(project: Path, run: "FlowRun") -> "State[None]":
    """Return the state of a flow run whose process was killed, by the campaign's log."""
    from prefect.states import Cancelled, Completed, Crashed, Failed

    with contextlib.suppress(LogError):  # `comind repair` reports it
        state = read_state(ProjectFolder(project).campaign(str(run.name)))
        if state.ended is not None:
            return Completed() if state.delivered() else Failed(message=NO_SUBMISSION)
    cancelled = run.state is not None and run.state.is_cancelling()
    return Cancelled(message=KILLED) if cancelled else Crashed(message=KILLED)


def in_states(*names: str) -> "FlowRunFilter":
    """Return Prefect's filter for flow runs in these states."""
    from prefect.client.schemas.filters import FlowRunFilter

    return FlowRunFilter.model_validate({"state": {"type": {"any_": names}}})


def end_runs(runs: "Iterable[FlowRun]", state: "State[None]") -> None:
    """Set the state of flow runs, which releases their concurrency slots."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        for each in runs:
            client.set_flow_run_state(each.id, state, force=True)
