"""Run the scripts of a submission again, without any model, and compare the results.

Any verdict is a result with exit code 0; damaged inputs are an error, with the verdict `drift` as well.
"""

import argparse
import sys
from typing import Any

from comind.app.paths import find_project
from comind.cli.command import CommandResult, add_project_options
from comind.errors import DataError, LogError

__all__ = ["add_arguments"]

_SHOWN_DIFFERENCES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "name", metavar="CAMPAIGN|RUN", help="a campaign, CAMPAIGN/attempt-000, or an MLflow run id"
    )
    parser.add_argument("--all", action="store_true", help="every published solution of the campaign")
    parser.add_argument(
        "--sandbox", metavar="NAME", help="where the scripts run; default: the strongest available"
    )
    add_project_options(parser, "folder with the campaign's ref")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> CommandResult:
    print(f"comind reproduce: starting, for {args.name}", file=sys.stderr, flush=True)
    from comind.cli.in_process import run_flow
    from comind.servers.tool_servers import prepare_environment

    project = find_project(args.out)
    prepare_environment(project)
    try:
        values = run_flow(
            "reproduce", project, name=args.name, sandbox=args.sandbox, everything=args.all
        )
    except (DataError, LogError) as error:
        return CommandResult.failure(error, {"verdict": "drift"})
    return CommandResult(values=values, text=_text(values))


def _text(values: dict[str, Any]) -> str:
    lines = []
    for part in values["parts"]:
        score = "" if part["expected_score"] is None else f", validation score {_number(part['score'])}"
        why = f": {part['difference']}" if part["difference"] else ""
        lines.append(f"{part['attempt']:12} {part['verdict']}{why} ({part['script']} script{score})")
    lines += [f"environment  {each}" for each in _environment(values["environment_differences"])]
    lines.append(f"verdict      {values['verdict']}")
    return "\n".join(lines) + "\n"


def _environment(differences: list[str]) -> list[str]:
    """Return a line for each difference, up to `_SHOWN_DIFFERENCES`."""
    if not differences:
        return ["matches"]
    more = len(differences) - _SHOWN_DIFFERENCES
    return [
        "is not what the campaign ran in; it was compared, not rebuilt:",
        *(f"  {each}" for each in differences[:_SHOWN_DIFFERENCES]),
        *([f"  and {more} more: see --json"] if more > 0 else []),
    ]


def _number(score: float | None) -> str:
    return "none" if score is None else f"{score:.6g}"
