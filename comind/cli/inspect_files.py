"""Show how a competition's files are understood: tables, columns, metric and split."""

import argparse

from comind.app.inspection import inspect_competition, inspection_text
from comind.app.params import read_params
from comind.app.paths import find_or_fetch_competition, find_project
from comind.app.problem_inspection import inspect_problem, problem_text
from comind.cli.command import CommandResult
from comind.competitions.competition_folder import load_competition


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = find_project(args.out)
    folder = find_or_fetch_competition(args.competition, project, args.describe or "")
    competition = load_competition(folder)
    if competition.program is not None:
        found = inspect_problem(competition, read_params(project).prepare.seed)
        return CommandResult(values=found, text=problem_text(found))
    values = inspect_competition(folder)
    return CommandResult(values=values, text=inspection_text(values))
