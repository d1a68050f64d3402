"""Report graded submissions in the format of MLE-bench's tools, with additional keys."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import computed_field

from comind.domain.value import Value
from comind.grading.leaderboard import Medal, Thresholds

Track = Literal["closed", "community"]
"""Whether agents could use notebooks and discussions that others published on the competition."""


class Group(Value):
    """One system under one set of rules; its reports are averaged over seeds."""

    agent: str
    model: str
    track: Track

    def __str__(self) -> str:
        return f"{self.agent}, {self.model}, track {self.track}"


class CompetitionReport(Value):
    """Report on one graded submission.

    The first sixteen keys are those of MLE-bench's `CompetitionReport`; its tools ignore the others.
    Without a comparable leaderboard or thresholds, thresholds are None and medals false.
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
    """Why the submission is invalid, or a note on its rank."""
    interval: tuple[float, float] | None = None
    validation_score: float | None = None
    validation_interval: tuple[float, float] | None = None
    validation_warnings: tuple[str, ...] = ()
    """Known ways in which validation is easier than test, and other limits of its scores."""
    limit_reached: str = ""
    """The project's limit that ended the campaign early, in one line."""
    gradings: int = 0
    """Number of submissions of this campaign that were scored on its validation rows."""
    revealed_bits: float = 0.0
    """What all that was shown to agents could have revealed about validation labels, at most."""
    optimism: float | None = None
    """Expected loss of the best of them on other rows, in units of the metric."""
    folds: int = 0
    """Number of further folds on which the final pick was compared with others."""
    confidence: float | None = None
    """Estimated probability that no other attempt is better than the pick."""
    shrinkage: float | None = None
    """Validation score minus score on folds of the pick, positive if better, in units of the metric."""
    rank: int | None = None
    teams: int | None = None
    win_rate: float | None = None
    category: str = "other"
    complexity: str = "other"
    issues: tuple[str, ...] = ()
    internet_access: bool = False
    test_feedback: Literal["none"] = "none"
    """Agents get no feedback computed from test labels, not even from the grader."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def any_medal(self) -> bool:
        """Whether the score earns a medal."""
        return self.gold_medal or self.silver_medal or self.bronze_medal

    @property
    def group(self) -> Group:
        """The system and rules that this report is averaged with."""
        return Group(agent=self.agent, model=self.model, track=self.track)

    @property
    def judged(self) -> bool:
        """Whether there are thresholds to compare the score with."""
        return self.median_threshold is not None

    @staticmethod
    def standing(medal: Medal | None, thresholds: Thresholds | None) -> dict[str, Any]:
        """Return the fields for thresholds and medals."""
        names = ("gold", "silver", "bronze")
        levels = thresholds.model_dump() if thresholds else {}
        return {
            **{f"{name}_threshold": levels.get(name) for name in (*names, "median")},
            **{f"{name}_medal": medal == name for name in names},
        }


def grading_report(reports: Sequence[CompetitionReport]) -> dict[str, Any]:
    """Return the grading report of `mlebench grade`: totals, then one report per submission."""
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
    """Return the JSON lines that `mlebench grade --submission` reads."""
    return [
        {
            "competition_id": report.competition_id,
            "submission_path": report.submission_path if report.submission_exists else None,
        }
        for report in reports
    ]
