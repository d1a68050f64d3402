"""Make a project: params.yaml, dvc.yaml, prefect.yaml, .gitignore, a git and a DVC repository."""

import argparse
import shlex
from pathlib import Path

from comind.app.paths import find_project
from comind.app.projects import init_project
from comind.cli.command import CommandResult

_FIRST = "comind solve demo-tumours --model offline --profile quick"


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    folder, made, kept = init_project(find_project(args.folder))
    there = "" if folder == Path.cwd() else f"cd {shlex.quote(args.folder)} && "
    lines = [
        f"project  {folder}",
        *([f"made     {', '.join(made)}"] if made else []),
        *([f"kept     {', '.join(kept)}"] if kept else []),
        f"next     {there}{_FIRST}",
    ]
    values = {"project": str(folder), "made": made, "kept": kept}
    return CommandResult(values=values, text="\n".join(lines) + "\n")
