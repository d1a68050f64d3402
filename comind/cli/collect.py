"""Delete from DVC's cache what no branch, tag, experiment or campaign uses.

Data of a kept submission is kept with it, including the checkpoints of its parents.
"""

import argparse

from comind.app.paths import open_project
from comind.cli.command import CommandResult, add_project_options
from comind.system.plurals import quantity

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--finals",
        action="store_true",
        help="of each ended campaign, keep only what its final submission needs",
    )
    parser.add_argument("--dry-run", action="store_true", help="count files, delete nothing")
    add_project_options(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> CommandResult:
    from comind.adapters.dvc.garbage_collection import collect_garbage

    project = open_project(args.out)
    dropped, campaigns = collect_garbage(project, finals_only=args.finals, dry=args.dry_run)
    values = {"dropped": dropped, "campaigns": campaigns, "dry_run": args.dry_run}
    verb = "would be dropped" if args.dry_run else "dropped"
    text = f"{quantity(dropped, 'file')} {verb}; {quantity(len(campaigns), 'campaign')} kept\n"
    return CommandResult(values=values, text=text)
