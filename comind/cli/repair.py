"""Check logs, refs and data for consistency, and rebuild MLflow's runs from the logs.

What is inconsistent afterwards is an error, with a line for each.
"""

import argparse
import os
from pathlib import Path

from comind.app.paths import open_project
from comind.cli.command import CommandResult, add_project_options
from comind.errors import ComindError, DataError
from comind.system.plurals import quantity

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("campaign", nargs="?", metavar="CAMPAIGN", help="default: all of the project")
    parser.add_argument("--from-scratch", action="store_true", help="delete MLflow's runs first")
    add_project_options(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> CommandResult:
    from comind.app.repair import repair
    from comind.campaign.log.campaign_folders import ProjectFolder
    from comind.servers.orphans import terminate_orphans
    from comind.wiring.leftovers import remove_leftovers

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
    from comind.campaign.log.campaign_folders import ProjectFolder
    from comind.cli.in_process import shown_prefect_server
    from comind.servers.orphans import close_killed_runs

    used = (ProjectFolder(project).orchestration / "prefect.db").is_file()
    if not used and not os.environ.get("PREFECT_API_URL"):
        return []
    with shown_prefect_server(project):
        closed = close_killed_runs(project)
        return [f"{each}: its runs in Prefect and MLflow were closed" for each in closed]
