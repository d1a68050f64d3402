"""Run flows in this process: campaigns with progress on the terminal, others with or without Prefect."""

import contextlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from comind.app.terminal.long_steps import show_long_steps
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.loop import read_state
from comind.servers.tool_servers import prefect_server, running_server

__all__ = ["run_bench", "run_campaign", "run_flow", "shown_prefect_server"]


@contextlib.contextmanager
def shown_prefect_server(project: Path) -> Iterator[str]:
    """Provide a Prefect server as `prefect_server` does, and show how long it takes to start."""
    with contextlib.ExitStack() as stack:
        with show_long_steps():
            address = stack.enter_context(prefect_server(project))
        yield address


def run_campaign(project: Path, folder: CampaignFolder) -> None:
    """Run an opened campaign to its end, with a Prefect server and its progress on stderr.

    Raises:
        ComindError: an input or a service is missing or refuses; the campaign can be resumed.
    """
    from comind.app.terminal.campaign_progress import show_progress
    from comind.servers.orphans import terminate_orphans

    if read_state(folder).ended is not None:
        return
    terminate_orphans(project)
    with shown_prefect_server(project), show_progress(folder):
        # Imported here, as Prefect reads its server's address on import.
        from comind.app.campaign_running import solve_to_end
        from comind.servers.orphans import close_killed_runs
        from comind.servers.stopping import ended_by_signals
        from flows.campaign import solve_competition

        close_killed_runs(project, going_on=[folder.name])
        with ended_by_signals():
            solve_to_end(solve_competition, project, folder.name)


def run_bench(project: Path, plan: Path, left: Mapping[str, CampaignFolder]) -> dict[str, str]:
    """Run the bench of the file `plan`, with a Prefect server and its progress on stderr.

    `left` are its campaigns that have not ended; without any, nothing is started. Returns by campaign
    why it did not end.

    Raises:
        ComindError: a service is missing; the same call continues.
    """
    from comind.app.terminal.bench_progress import show_bench_progress
    from comind.servers.orphans import terminate_orphans

    if not left:
        return {}
    terminate_orphans(project)
    with shown_prefect_server(project), show_bench_progress(left):
        from comind.servers.orphans import close_killed_runs
        from comind.servers.stopping import ended_by_signals
        from flows.bench import bench

        close_killed_runs(project, going_on=left)
        with ended_by_signals():
            return bench(plan, project)


def run_flow(flow: str, project: Path, /, **parameters: Any) -> Any:
    """Run the flow `flows.FLOW.FLOW`, and return its result.

    It is a run on Prefect's page where a server is configured or `comind ui` runs, else a plain call:
    a server of its own would take longer to start than most of these flows.

    Raises:
        ComindError: as the flow fails.
    """
    with running_server(project) as address:
        entry = getattr(import_module(f"flows.{flow}"), flow)  # Prefect reads the address on import
        run = entry if address is not None else entry.fn
        return run(project=project, **parameters)
