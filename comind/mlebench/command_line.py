"""List MLE-bench's competitions, adapt a prepared one for `solve`, or serve /validate for it."""

import argparse
import json
from pathlib import Path

from comind.cli.command import CommandResult
from comind.errors import CompetitionError
from comind.mlebench.catalog import Mode, benchmark_competitions
from comind.mlebench.prepared import PreparedFolder, adapt
from comind.mlebench.validation_server import ValidationServer
from comind.reporting.text_table import text_table


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    if args.action == "list":
        return _list()
    prepared = _prepared(Path(args.prepared))
    return _adapt(prepared, args.out) if args.action == "adapt" else _validate(prepared, args)


def _prepared(path: Path) -> PreparedFolder:
    prepared = PreparedFolder.find(path.absolute())
    if prepared is None:
        raise CompetitionError(f"{path}: has no prepared/public", hint="make it with: mlebench prepare")
    return prepared


def _list() -> CommandResult:
    entries = list(benchmark_competitions().values())
    rows = []
    for entry in entries:
        metric = f"{'↑' if entry.maximize else '↓'} {entry.metric}"
        issues = f" [{', '.join(entry.issues)}]" if entry.issues else ""
        rows.append((entry.id, entry.complexity, metric, f"{entry.category}{issues}"))
    values = [entry.model_dump(mode="json", exclude={"train"}) for entry in entries]
    return CommandResult(values={"competitions": values}, text=text_table(rows) + "\n")


def _adapt(prepared: PreparedFolder, out: str | None) -> CommandResult:
    place = Path(out) if out else Path.cwd()
    answers = prepared.answers if (prepared.root / "private").is_dir() else None
    folder = adapt(prepared.public, prepared.entry, place, answers)
    return CommandResult(values={"competition": str(folder)}, text=f"{folder}\n")


def _validate(prepared: PreparedFolder, args: argparse.Namespace) -> CommandResult:
    grader = prepared.grader
    server = ValidationServer(grader, Mode(args.mode), args.port)
    where = f"{server.url}/validate"
    values = {"address": where}
    text = json.dumps(values) if args.json else f"{prepared.entry.id}: POST {where} (Ctrl-C to stop)"
    print(text, file=args.stdout, flush=True)
    server.serve()
    return CommandResult(values=values, printed=True)
