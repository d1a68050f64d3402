"""Submit a campaign's submission, or a file, to Kaggle once, wait for its score, and record both."""

import argparse
import shlex
from typing import Any

from comind.app.paths import find_project
from comind.app.submitting import submit
from comind.cli.command import CommandResult
from comind.errors import SubmissionError


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    values = submit(find_project(args.out), args.name, args.competition, args.message)
    if values["status"] == "error":
        where, why = values["competition"], values["reason"]
        error = SubmissionError(f"{where}: Kaggle rejected the file ({why})")
        return CommandResult.failure(error, values)
    return CommandResult(values=values, text=_text(args, values))


def _text(args: argparse.Namespace, values: dict[str, Any]) -> str:
    lines = [
        f"submitted    {values['file']}",
        f"to           {values['competition']}, as {values['message']!r}, {values['submitted_at']}",
    ]
    if not values["sent"]:
        lines.append("             this file was sent before, and is not sent again")
    if values["status"] == "pending":
        again = [args.name]
        again += ["--competition", args.competition] if args.competition else []
        again += ["--out", args.out] if args.out else []
        lines.append(f"score        not known yet; ask again with comind submit {shlex.join(again)}")
    for half in ("public", "private"):
        score = values[f"{half}_score"]
        if score is not None:
            lines.append(f"{half} score".ljust(13) + f"{score:g}")
    if values["status"] == "complete" and values["public_score"] is None:
        lines.append("score        hidden by the competition")
    return "\n".join(lines) + "\n"
