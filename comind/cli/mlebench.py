"""List MLE-bench's competitions, adapt a prepared one for `solve`, or serve /validate for it."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from comind.cli.argument_types import port
from comind.cli.command import CommandResult
from comind.errors import CompetitionError, UsageError

if TYPE_CHECKING:
    from comind.evaluation.benchmark.prepared import PreparedFolder

__all__ = ["add_arguments"]

_PORT = 5000  # the port of MLE-bench's own server


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("action", choices=("list", "adapt", "validate"), metavar="list|adapt|validate")
    add("prepared", nargs="?", metavar="PREPARED", help="a folder DIR/ID with prepared/")
    add("--out", metavar="DIR", help="adapt: parent of the new competition folder")
    add("--port", type=port, default=_PORT, metavar="N", help=f"validate: default {_PORT}")
    add(
        "--mode",
        choices=("kaggle", "mlebench"),
        default="mlebench",
        help="validate: rules of Kaggle or of MLE-bench (default)",
    )
    add("--json", action="store_true", help="print one JSON object on stdout")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> CommandResult:
    if args.action == "list":
        return _list()
    if args.prepared is None:
        raise UsageError(f"mlebench {args.action} needs PREPARED", hint="a folder DIR/ID with prepared/")
    prepared = _prepared(Path(args.prepared))
    return _adapt(prepared, args.out) if args.action == "adapt" else _validate(prepared, args)


def _prepared(path: Path) -> "PreparedFolder":
    from comind.evaluation.benchmark.prepared import PreparedFolder

    prepared = PreparedFolder.find(path.absolute())
    if prepared is None:
        raise CompetitionError(f"{path}: has no prepared/public", hint="make it with: mlebench prepare")
    return prepared


def _list() -> CommandResult:
    from comind.evaluation.benchmark.catalog import benchmark_competitions

    entries = list(benchmark_competitions().values())
    width = max(len(entry.id) for entry in entries)
    lines = [
        f"{entry.id:{width}}  {entry.complexity:6}  {'↑' if entry.maximize else '↓'} {entry.metric:24}"
        f"  {entry.category}{' [' + ', '.join(entry.issues) + ']' if entry.issues else ''}"
        for entry in entries
    ]
    values = [entry.model_dump(mode="json") for entry in entries]
    return CommandResult(values={"competitions": values}, text="\n".join(lines) + "\n")


def _adapt(prepared: "PreparedFolder", out: str | None) -> CommandResult:
    from comind.evaluation.benchmark.prepared import adapt

    place = Path(out) if out else Path.cwd()
    answers = prepared.answers if (prepared.root / "private").is_dir() else None
    folder = adapt(prepared.public, prepared.entry, place, answers)
    return CommandResult(values={"competition": str(folder)}, text=f"{folder}\n")


def _validate(prepared: "PreparedFolder", args: argparse.Namespace) -> CommandResult:
    from comind.evaluation.benchmark.catalog import Mode
    from comind.servers.validation import ValidationServer

    answers = prepared.grader
    server = ValidationServer(answers, Mode(args.mode), args.port)
    where = f"{server.url}/validate"
    print(f"{prepared.entry.id}: POST {where} (Ctrl-C to stop)", flush=True)
    server.serve()
    return CommandResult(values={"address": where})
