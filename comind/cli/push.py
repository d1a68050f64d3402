"""Push campaigns: data to the default DVC remote, refs to the git remote `origin`."""

import argparse

from comind.adapters.git.refs import campaigns_in
from comind.app.paths import open_project
from comind.app.sharing import missing_in_clones, push_campaign
from comind.campaign.log.campaign_folders import unknown_campaign
from comind.cli.command import CommandResult
from comind.system.plurals import quantity


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = open_project(args.out)
    known = campaigns_in(project)
    if args.campaign is not None and args.campaign not in known:
        raise unknown_campaign(project, args.campaign, known)
    pushed = [push_campaign(project, each) for each in ([args.campaign] if args.campaign else known)]
    missing = missing_in_clones(project) if pushed else []
    lines = [
        f"{each.campaign}: {quantity(each.objects, 'file')}, {each.ref or 'no git remote'}"
        for each in pushed
    ]
    values = {"pushed": [each.model_dump() for each in pushed], "missing_in_clones": missing}
    return CommandResult(values=values, text="\n".join([*lines, *missing]) + "\n")
