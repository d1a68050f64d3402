"""Report how a competition is understood, before anything is run."""

from pathlib import Path
from typing import Any

from comind.competitions.competition_folder import load_competition
from comind.splits.checked_plan import check_competition
from comind.splits.leakage import seal_warnings

_SHOWN = 6


def inspect_competition(folder: Path) -> dict[str, Any]:
    """Return tables, columns, metric and split of a competition folder, as JSON values.

    Of the `rows`, those of train, validation and those excluded add up to the labelled ones.

    Raises:
        CompetitionError: the folder is incomplete or inconsistent.
    """
    competition = load_competition(folder)
    plan = check_competition(competition)
    data = plan.data
    return {
        "competition": competition.id,
        "title": competition.title,
        "described": str(competition.folder / "competition.yaml"),
        "metric": competition.metric and data.metric.name,
        "answers": data.metric.answer_kind.value,
        "rows": {
            "labelled": len(data.train),
            "train": len(data.train) - len(plan.rows) - len(plan.excluded),
            "validation": len(plan.rows),
            "excluded": len(plan.excluded),
            "test": len(data.test),
        },
        "ids": list(data.ids),
        "labels": list(data.labels),
        "targets": list(data.targets),
        "inputs": len([name for name in data.inputs if name not in data.ids]),
        "split": f"{plan.rule.kind}: {plan.reason}",
        "confidence": plan.quality.confidence,
        "warnings": [*plan.quality.warnings, *data.spelling_warnings, *seal_warnings(plan)],
    }


def inspection_text(values: dict[str, Any]) -> str:
    """Return the report as text, a line for each value; long lists are truncated."""
    shown = values | {"rows": _rows_text(values["rows"])}
    lines = [f"{name:<12}{_shown(value)}" for name, value in shown.items() if value not in ([], None)]
    return "\n".join(lines) + "\n"


def _rows_text(rows: dict[str, int]) -> str:
    """Return how many rows there are, and where those with labels go."""
    parts = [f"{rows[name]:,} {name}" for name in ("train", "validation", "excluded") if rows[name]]
    return f"{rows['labelled']:,} labelled: {' + '.join(parts)}; {rows['test']:,} test"


def _shown(value: object) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
        return ", ".join(map(str, value[:_SHOWN])) + more
    return f"{value:.0%}" if isinstance(value, float) else str(value)
