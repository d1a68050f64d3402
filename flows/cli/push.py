"""`comind push`: campaigns to the remotes."""

import argparse

from comind.errors import CampaignError
from flows.cli.command import CommandResult
from flows.cli.paths import add_project_options, open_project

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Send a campaign's data to the DVC remote, and its ref to the git remote `origin`."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("campaign", nargs="?", metavar="CAMPAIGN", help="all of the project without it")
    add_project_options(parser)


def run(args: argparse.Namespace) -> CommandResult:
    """Send data first, then refs; what is there already is not sent again."""
    from tasks.git import campaigns_in
    from tasks.sharing import push_campaign

    project = open_project(args.out)
    known = campaigns_in(project)
    if args.campaign is not None and args.campaign not in known:
        raise CampaignError(
            f"{project}: there is no campaign {args.campaign!r}",
            hint=f"the newest are: {', '.join(known[-3:])}" if known else "none has a ref here",
        )
    wanted = [args.campaign] if args.campaign else known
    sent = [push_campaign.fn(project, each) for each in wanted]
    lines = [
        f"{each.campaign}: {each.objects} files" + (f", {each.ref}" if each.ref else ", no git remote")
        for each in sent
    ]
    return CommandResult(
        values={"pushed": [each.model_dump() for each in sent]}, text="\n".join(lines) + "\n"
    )
