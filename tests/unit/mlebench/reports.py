"""Synthetic reports."""

from datetime import datetime
from typing import Any

from comind.grading.grading_report import CompetitionReport
from comind.mlebench.catalog import find_benchmark_competition

__all__ = ["report"]


def report(name: str, seed: int, medal: str | None = None, **changes: Any) -> CompetitionReport:
    """Return the report of a submission that earned `medal`."""
    entry = find_benchmark_competition(name)
    values: dict[str, Any] = {
        "competition_id": name,
        "score": 0.5,
        "above_median": medal is not None,
        "submission_exists": True,
        "valid_submission": True,
        "is_lower_better": not entry.maximize,
        "created_at": datetime(2026, 1, 2, 3, 4, 5),  # noqa: DTZ001 - MLE-bench writes it without a zone
        "submission_path": f"runs/{name}-{seed}/submission.csv",
        "campaign": f"{name}-{seed}",
        "agent": "comind",
        "model": "offline",
        "seed": seed,
        "track": "closed",
        "metric": entry.metric,
        "mode": "mlebench",
        "category": entry.category,
        "complexity": entry.complexity,
        "issues": tuple(entry.issues),
        **CompetitionReport.standing(medal, entry.thresholds),  # type: ignore[arg-type]
    }
    return CompetitionReport(**{**values, **changes})
