"""Reports on graded submissions, in the form that MLE-bench's own tools read, and a bit more."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import computed_field

from comind.domain.value import Value
from comind.evaluation.leaderboard import Medal, Thresholds

__all__ = ["CompetitionReport", "Group", "Track", "grading_report", "submission_lines"]

Track = Literal["closed", "community"]
"""Whether agents had material that others published on the competition: without, or with."""


class Group(Value):
    """Whose reports may be averaged over seeds: one system under one set of rules."""

    agent: str
    model: str
    track: Track

    def __str__(self) -> str:
        return f"{self.agent}, {self.model}, track {self.track}"


class CompetitionReport(Value):
    """One graded submission.

    The first sixteen keys are those of MLE-bench's `CompetitionReport`; its tools ignore the others.
    Thresholds and the medal flags are None and false where a competition has neither a comparable
    leaderboard nor thresholds.
    """

    competition_id: str
    score: float | None
    """In units of the metric, rounded to five places as MLE-bench does."""
    gold_threshold: float | None
    silver_threshold: float | None
    bronze_threshold: float | None
    median_threshold: float | None
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: datetime
    submission_path: str
    campaign: str
    agent: str
    model: str
    seed: int
    track: Track
    metric: str
    mode: str
    message: str = ""
    """What is wrong with the submission, or what to know of its place."""
    interval: tuple[float, float] | None = None
    validation_score: float | None = None
    validation_interval: tuple[float, float] | None = None
    validation_warnings: tuple[str, ...] = ()
    """Ways in which validation was easier than test, and what it cannot tell, as far as is known."""
    gradings: int = 0
    """Submissions of this campaign that were scored on its validation rows."""
    optimism: float | None = None
    """By how much the best of them is expected to score worse on other rows, in units of the metric."""
    folds: int = 0
    """On how many further folds the final pick was compared with others."""
    confidence: float | None = None
    """How probable the campaign holds it that no other attempt is better than its pick."""
    shrinkage: float | None = None
    """How much better the pick scored on validation than on folds, in units of the metric."""
    rank: int | None = None
    teams: int | None = None
    win_rate: float | None = None
    category: str = "other"
    complexity: str = "other"
    issues: tuple[str, ...] = ()
    internet_access: bool = False
    test_feedback: Literal["none"] = "none"
    """An agent is told nothing that was computed from the test labels, not even by the grader."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def any_medal(self) -> bool:
        """Whether it earns a medal."""
        return self.gold_medal or self.silver_medal or self.bronze_medal

    @property
    def group(self) -> Group:
        """Whose report this is."""
        return Group(agent=self.agent, model=self.model, track=self.track)

    @property
    def judged(self) -> bool:
        """Whether there is anything to compare the score with."""
        return self.median_threshold is not None

    @staticmethod
    def standing(medal: Medal | None, thresholds: Thresholds | None) -> dict[str, Any]:
        """Return the fields that say where a score stands."""
        names = ("gold", "silver", "bronze")
        levels = thresholds.model_dump() if thresholds else {}
        return {
            **{f"{name}_threshold": levels.get(name) for name in (*names, "median")},
            **{f"{name}_medal": medal == name for name in names},
        }


def grading_report(reports: Sequence[CompetitionReport]) -> dict[str, Any]:
    """Return what `mlebench grade` writes for these submissions: totals, then a report each."""
    totals = {
        "total_runs": len(reports),
        "total_runs_with_submissions": sum(r.submission_exists for r in reports),
        "total_valid_submissions": sum(r.valid_submission for r in reports),
        "total_medals": sum(r.any_medal for r in reports),
        "total_gold_medals": sum(r.gold_medal for r in reports),
        "total_silver_medals": sum(r.silver_medal for r in reports),
        "total_bronze_medals": sum(r.bronze_medal for r in reports),
        "total_above_median": sum(r.above_median for r in reports),
    }
    return {**totals, "competition_reports": [r.model_dump(mode="json") for r in reports]}


def submission_lines(reports: Sequence[CompetitionReport]) -> list[dict[str, str | None]]:
    """Return the objects of the JSON lines that `mlebench grade --submission` reads."""
    return [
        {
            "competition_id": report.competition_id,
            "submission_path": report.submission_path if report.submission_exists else None,
        }
        for report in reports
    ]
