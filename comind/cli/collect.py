"""Delete from DVC's cache what no branch, tag, experiment or campaign uses.

Data of a kept submission is kept with it, including the checkpoints of its parents.
"""

import argparse

from comind.adapters.dvc.garbage_collection import collect_garbage
from comind.app.paths import open_project
from comind.cli.command import CommandResult
from comind.system.plurals import quantity


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = open_project(args.out)
    dropped, campaigns = collect_garbage(project, finals_only=args.finals, dry=args.dry_run)
    values = {"dropped": dropped, "campaigns": campaigns, "dry_run": args.dry_run}
    verb = "would be dropped" if args.dry_run else "dropped"
    text = f"{quantity(dropped, 'file')} {verb}; {quantity(len(campaigns), 'campaign')} kept\n"
    return CommandResult(values=values, text=text)
