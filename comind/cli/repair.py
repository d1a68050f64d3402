"""Check logs, refs and data for consistency, and rebuild MLflow's runs from the logs.

What is inconsistent afterwards is an error, with a line for each.
"""

import argparse
import os
from pathlib import Path

from comind.app.paths import open_project
from comind.app.repair import repair
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.cli.command import CommandResult
from comind.errors import ComindError, DataError
from comind.servers.orphans import close_killed_runs, terminate_orphans
from comind.servers.tool_servers import prefect_server
from comind.system.plurals import quantity
from comind.wiring.leftovers import remove_leftovers


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = open_project(args.out)
    values = repair(project, args.campaign, from_scratch=args.from_scratch)
    left = [f"ended {each}" for each in terminate_orphans(project)]
    left += [f"removed {each}" for each in remove_leftovers(ProjectFolder(project))]
    values["repaired"] += [f"{each}, left behind by a dead process" for each in left]
    try:
        values["repaired"] += _crash_stale_runs(project)
    except ComindError as error:
        return CommandResult.failure(error, values)
    wrong = values["disagreements"]
    text = "".join(f"repaired   {each}\n" for each in values["repaired"])
    text += "".join(f"disagrees  {each}\n" for each in wrong)
    if wrong:
        first = DataError(f"{quantity(len(wrong), 'disagreement')}; the first: {wrong[0]}")
        return CommandResult.failure(first, values, text)
    agree = f"{quantity(len(values['campaigns']), 'campaign')}: logs, ref, data and MLflow agree\n"
    return CommandResult(values=values, text=text + agree)


def _crash_stale_runs(project: Path) -> list[str]:
    """Mark Prefect's runs of dead processes as crashed, unless the project never used Prefect."""
    used = (ProjectFolder(project).orchestration / "prefect.db").is_file()
    if not used and not os.environ.get("PREFECT_API_URL"):
        return []
    with prefect_server(project):
        closed = close_killed_runs(project)
        return [f"{each}: its runs in Prefect and MLflow were closed" for each in closed]
