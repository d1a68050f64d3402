"""Show how a competition's files are understood: tables, columns, metric and split."""

import argparse

from comind.app.inspection import inspect_competition, inspection_text
from comind.app.paths import find_or_fetch_competition, find_project
from comind.cli.command import CommandResult


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = find_project(args.out)
    folder = find_or_fetch_competition(args.competition, project, args.describe or "")
    values = inspect_competition(folder)
    return CommandResult(values=values, text=inspection_text(values))
