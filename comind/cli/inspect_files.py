"""Show how a competition's files are understood: tables, columns, metric and split; nothing is run."""

import argparse

from comind.app.paths import find_or_fetch_competition, find_project
from comind.cli.command import CommandResult, add_project_options

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("competition", metavar="COMPETITION", help="a folder, a zip, a demo or a Kaggle slug")
    add("--describe", metavar="TEXT", help="the description of a download without one")
    add_project_options(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> CommandResult:
    from comind.app.inspection import inspect_competition, inspection_text
    from comind.app.terminal.long_steps import show_long_steps

    project = find_project(args.out)
    with show_long_steps():
        folder = find_or_fetch_competition(args.competition, project, args.describe or "")
        values = inspect_competition(folder)
    return CommandResult(values=values, text=inspection_text(values))
