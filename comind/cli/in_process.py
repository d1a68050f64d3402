"""Run flows in this process: campaigns with progress on the terminal, others with or without Prefect.

Prefect reads its server's address on import, so what imports it is imported when the server runs.
"""

import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from comind.app.terminal.bench_progress import show_bench_progress
from comind.app.terminal.campaign_progress import show_progress
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.loop import Campaign, read_state
from comind.servers.orphans import close_killed_runs, terminate_orphans
from comind.servers.tool_servers import prefect_server, running_server
from comind.system.progress import step


def run_campaign(project: Path, folder: CampaignFolder) -> None:
    """Run an opened campaign to its end, with a Prefect server and its progress on stderr.

    Raises:
        ComindError: an input or a service is missing or refuses; the campaign can be resumed.
    """
    if read_state(folder).ended is not None:
        return
    begun = time.monotonic()
    terminate_orphans(project)
    with prefect_server(project), show_progress(folder):
        with step("loading the flow"):
            from comind.app.campaign_running import solve_to_end
            from comind.servers.stopping import ended_by_signals
            from flows.campaign import solve_competition

            close_killed_runs(project, going_on=[folder.name])
        with Campaign(folder) as campaign:
            campaign.add_time(time.monotonic() - begun)
            campaign.tick()
        with ended_by_signals():
            solve_to_end(solve_competition, project, folder.name)


def run_bench(project: Path, plan: Path, left: Mapping[str, CampaignFolder]) -> dict[str, str]:
    """Run the bench of the file `plan`, with a Prefect server and its progress on stderr.

    `left` are its campaigns that have not ended; without any, nothing is started. Returns by campaign
    why it did not end.

    Raises:
        ComindError: a service is missing; the same call continues.
    """
    if not left:
        return {}
    terminate_orphans(project)
    with prefect_server(project), show_bench_progress(left):
        with step("loading the flow"):
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
        with step("loading the flow"):
            entry = getattr(import_module(f"flows.{flow}"), flow)
        run = entry if address is not None else entry.fn
        return run(project=project, **parameters)
