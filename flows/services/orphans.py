"""Clean up after dead processes: orphaned servers of a project, and its stale runs in Prefect."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.eventlog.log import is_written
from comind.system.process_identity import has_exited

if TYPE_CHECKING:
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.objects import FlowRun

__all__ = ["OWNER", "crash_runs", "crash_stale_runs", "in_states", "terminate_orphans"]

OWNER = "COMIND_OWNER"
"""Variable in a server's environment that identifies the process that started it."""
_WAIT_SECONDS = 5.0
_PAGE = 200


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


def crash_stale_runs(project: Path) -> list[str]:
    """Mark Prefect's runs of killed processes as crashed; returns the campaigns' names.

    A run is stale if no process holds the lock of its campaign's log. Runs of other projects on the same
    server are not changed.
    """
    from prefect.client.orchestration import get_client

    running = in_states("RUNNING", "PENDING", "CANCELLING")
    stale = []
    with get_client(sync_client=True) as client:
        for offset in range(0, 50 * _PAGE, _PAGE):
            page = client.read_flow_runs(flow_run_filter=running, limit=_PAGE, offset=offset)
            logs = [(each, ProjectFolder(project).campaign(str(each.name)).log) for each in page]
            stale += [each for each, log in logs if log.is_file() and not is_written(log)]
            if len(page) < _PAGE:
                break
    crash_runs(stale)
    return [str(each.name) for each in stale]


def in_states(*names: str) -> "FlowRunFilter":
    """Return Prefect's filter for flow runs in these states."""
    from prefect.client.schemas.filters import FlowRunFilter

    return FlowRunFilter.model_validate({"state": {"type": {"any_": names}}})


def crash_runs(runs: "Iterable[FlowRun]") -> None:
    """Set flow runs to Crashed, which releases their concurrency slots."""
    from prefect.client.orchestration import get_client
    from prefect.states import Crashed

    with get_client(sync_client=True) as client:
        for each in runs:
            message = "its process was killed; the campaign's log holds its state"
            client.set_flow_run_state(each.id, Crashed(message=message), force=True)
