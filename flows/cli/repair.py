"""`comind repair`: logs, ref, data and MLflow, held against each other."""

import argparse

from comind.errors import DataError
from flows.cli.answer import Answer
from flows.cli.places import add_place, open_project

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Check logs, ref and data against each other, and rebuild MLflow from the logs."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("campaign", nargs="?", metavar="CAMPAIGN", help="all of the project without it")
    parser.add_argument("--from-scratch", action="store_true", help="drop MLflow's runs first")
    add_place(parser)


def run(args: argparse.Namespace) -> Answer:
    """Check and rebuild; what still disagrees is a failure, told in one line each."""
    from flows.orphans import close_orphans
    from flows.repair import repair

    project = open_project(args.out)
    values = repair(project, args.campaign, from_scratch=args.from_scratch)
    values["repaired"] += [
        f"ended {each}, left behind by a dead process" for each in close_orphans(project)
    ]
    wrong = values["disagreements"]
    lines = [
        *(f"repaired   {each}" for each in values["repaired"]),
        *(f"disagrees  {each}" for each in wrong),
    ]
    if not wrong:
        lines.append(f"{len(values['campaigns'])} campaigns: logs, ref, data and MLflow agree")
        return Answer(values=values, text="\n".join(lines) + "\n")
    error = DataError(f"{len(wrong)} disagreements; the first: {wrong[0]}")
    answer = Answer.failure(error, values)
    answer.text = "\n".join(lines) + "\n"
    return answer
