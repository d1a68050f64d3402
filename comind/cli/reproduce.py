"""Run the scripts of a submission again, without any model, and compare the results.

Any verdict is a result with exit code 0; damaged inputs are an error, with the verdict `drift` as well.
"""

import argparse
from typing import Any

from comind.app.paths import find_project
from comind.cli.command import CommandResult
from comind.cli.in_process import run_flow
from comind.errors import DataError, LogError
from comind.servers.tool_servers import prepare_environment

_SHOWN_DIFFERENCES = 20


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
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
