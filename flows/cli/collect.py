"""`comind gc`: drop data that no campaign needs."""

import argparse

from flows.cli.command import CommandResult
from flows.cli.paths import add_project_options, open_project

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Drop from DVC's cache what neither branches nor campaigns need."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--finals",
        action="store_true",
        help="of each ended campaign, keep only what its final submission needs",
    )
    parser.add_argument("--dry-run", action="store_true", help="only count")
    add_project_options(parser)


def run(args: argparse.Namespace) -> CommandResult:
    """Collect; what a kept submission needs stays, down to its parents' checkpoints."""
    from tasks.keeping import collect_garbage

    project = open_project(args.out)
    dropped, campaigns = collect_garbage(project, finals_only=args.finals, dry=args.dry_run)
    values = {"dropped": dropped, "campaigns": campaigns, "dry_run": args.dry_run}
    verb = "would be dropped" if args.dry_run else "dropped"
    return CommandResult(
        values=values, text=f"{dropped} files {verb}; {len(campaigns)} campaigns kept\n"
    )
