"""Compare agents: run each arm of a plan on the same competitions, seeds and budget, with statistics."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from comind.adapters.mlflow.bench import write_bench_run
from comind.app.bench_results import load_bench, read_results, write_results
from comind.app.benches import open_bench
from comind.app.paths import find_project
from comind.app.projects import refuse_shared_folder
from comind.bench.plan import read_plan
from comind.cli import command
from comind.cli.command import CommandResult
from comind.cli.in_process import run_bench
from comind.errors import OrchestrationError, UsageError
from comind.servers.tool_servers import prepare_environment
from comind.system.plurals import quantity

_MOVED = ("list", "adapt", "validate")
_MOST_SHOWN = 5


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    if args.plan in _MOVED:
        raise UsageError(f"comind bench {args.plan} is comind mlebench {args.plan} now")

    path = Path(args.plan).absolute()
    plan, project = read_plan(path), find_project(args.out)
    refuse_shared_folder(project)
    prepare_environment(project)
    bench = open_bench(project, plan)
    estimate, left = bench.estimate(), {cell.spec.id: cell.folder for cell in bench.left()}
    size = quantity(len(bench.cells), "campaign")
    print(f"bench {plan.name}: {size}, left: {estimate}", file=sys.stderr)
    if args.dry_run:
        known = {"bench": plan.name, "left": [*left], "usd": estimate.usd, "tokens": estimate.tokens}
        return CommandResult(values=known, text="\n".join([*left, ""]))
    if args.report or not left:
        results = read_results(bench, {})
        write_results(bench, results)
        write_bench_run(project, bench.folder, results)
        failed = {}
    else:
        where = f" --out {shlex.quote(args.out)}" if args.out else ""
        command.resume_with = f"comind bench {shlex.quote(args.plan)}{where}"
        failed = run_bench(project, path, left)
        results = load_bench(bench.folder)
    values = {
        "bench": plan.name,
        "folder": str(bench.folder),
        "failed": failed,
        "runs": [each.model_dump(mode="json", exclude={"curve"}) for each in results.runs],
    }
    report = (bench.folder / "report.md").read_text(encoding="utf-8")
    return _result(values, f"{report}\n{bench.folder}\n", failed)


def _result(values: dict[str, Any], text: str, failed: dict[str, str]) -> CommandResult:
    """Return the command's result; with `failed`, why campaigns did not end, it is an error."""
    if not failed:
        return CommandResult(values=values, text=text)
    shown = "; ".join(f"{name}: {why}" for name, why in list(failed.items())[:_MOST_SHOWN])
    error = OrchestrationError(
        f"{quantity(len(failed), 'campaign')} did not end: {shown}",
        hint="the same command continues them",
    )
    return CommandResult.failure(error, values, text)
