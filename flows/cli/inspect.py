"""Show how a competition's files are understood: tables, columns, metric and split; nothing is run."""

import argparse
from typing import TYPE_CHECKING, Any

from flows.cli.command import CommandResult
from flows.cli.paths import add_project_options, find_or_fetch_competition, find_project

if TYPE_CHECKING:
    from comind.domain.competition import Competition
    from comind.evaluation.splits.split_plan import SplitPlan

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("competition", metavar="COMPETITION", help="a folder, a zip, a demo or a Kaggle slug")
    add("--describe", metavar="TEXT", help="the description of a download without one")
    add_project_options(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> CommandResult:
    from comind.evaluation.competition_checks import check_competition
    from comind.evaluation.competition_folder import load_competition

    project = find_project(args.out)
    competition = load_competition(
        find_or_fetch_competition(args.competition, project, args.describe or "")
    )
    plan = check_competition(competition)
    values = _values(competition, plan)
    lines = [f"{name:<12}{_shown(value)}" for name, value in values.items() if value not in ([], None)]
    return CommandResult(values=values, text="\n".join(lines) + "\n")


def _values(competition: "Competition", plan: "SplitPlan") -> dict[str, Any]:
    """Return what is known about a competition before anything is run."""
    rule, reason = plan.rule_with_reason
    rows = plan.validation_rows()
    quality = plan.quality(rows)
    return {
        "competition": competition.id,
        "title": competition.title,
        "described": str(competition.folder / "competition.yaml"),
        "metric": competition.metric,
        "answers": plan.metric.kind.value,
        "rows": {"train": len(plan.train), "validation": len(rows), "test": len(plan.test)},
        "ids": list(plan.ids),
        "labels": list(plan.labels),
        "targets": list(plan.targets),
        "inputs": len(plan.inputs) - len([name for name in plan.ids if name in plan.inputs]),
        "split": f"{rule.kind}: {reason}",
        "confidence": quality.confidence,
        "warnings": [*quality.warnings, *plan.spelling_warnings],
    }


def _shown(value: object) -> str:
    """Return a value of the report as text; long lists are truncated."""
    if isinstance(value, dict):
        return ", ".join(f"{count:,} {name}" for name, count in value.items())
    if isinstance(value, list):
        more = f" and {len(value) - 6} more" if len(value) > 6 else ""  # noqa: PLR2004 - one line
        return ", ".join(map(str, value[:6])) + more
    return f"{value:.0%}" if isinstance(value, float) else str(value)
