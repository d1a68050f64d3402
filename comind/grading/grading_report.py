"""Report graded submissions in the format of MLE-bench's tools, and their means over seeds."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from statistics import fmean, stdev
from typing import Any, Literal, Self

from pydantic import computed_field

from comind.domain.value import Value
from comind.grading.leaderboard import Medal, Thresholds

_Z = 1.96
_MEDALS = ("gold_medal", "silver_medal", "bronze_medal", "any_medal")
_SHARES = ("submission_exists", "valid_submission", "above_median", *_MEDALS)
"""The boolean fields of a report."""

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
    test_feedback: Literal["none", "scores on the test instances"] = "none"
    """What agents learn of the true answers: nothing, not even from the grader; see `feedback`."""

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


class SeedMean(Value):
    """A mean over seeds, and the standard error of that mean (0 for one seed)."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Average one value per seed; the standard error is their standard deviation / sqrt(seeds).

        Raises:
            statistics.StatisticsError: there are no values.
        """
        error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
        return cls(mean=fmean(values), standard_error=error)

    @property
    def interval(self) -> tuple[float, float]:
        """Return mean -+ 1.96 standard errors; as in MLE-bench, not clipped to possible values."""
        return self.mean - _Z * self.standard_error, self.mean + _Z * self.standard_error


class Percentage(SeedMean):
    """A mean over seeds of percentages, 0 to 100."""


class SummaryRow(Value):
    """Results for a subset of the competitions.

    `shares` are percentages of the competitions of a seed; the win rate is averaged over those with a
    leaderboard, and is 0 for invalid submissions.
    """

    name: str
    competitions: int
    seeds: int
    shares: dict[str, Percentage]
    win_rate: Percentage | None = None


class Summary(Value):
    """Summary of one system's reports."""

    group: Group
    lines: tuple[SummaryRow, ...]
    dropped: tuple[str, ...] = ()
    """Campaigns of reports that were dropped, because other competitions have fewer seeds."""


def summarise(reports: Sequence[CompetitionReport]) -> list[Summary]:
    """Summarise each group of reports, in order of first occurrence.

    As in MLE-bench's aggregator, seed k of a group is the k-th report of each competition by its seed;
    the number of seeds is that of the competition with the fewest reports.
    """
    groups: dict[Group, list[CompetitionReport]] = defaultdict(list)
    for report in reports:
        groups[report.group].append(report)
    return [_summary(group, members) for group, members in groups.items()]


def _summary(group: Group, reports: Sequence[CompetitionReport]) -> Summary:
    of_competition: dict[str, list[CompetitionReport]] = defaultdict(list)
    for report in sorted(reports, key=lambda r: (r.competition_id, r.seed, r.campaign)):
        of_competition[report.competition_id].append(report)
    seeds = min(map(len, of_competition.values()))
    kept = [[runs[seed] for runs in of_competition.values()] for seed in range(seeds)]
    lines = [_summary_row("all", kept)]
    if any(report.issues for report in kept[0]):
        lines.append(_summary_row("all without flagged", _filter(kept, lambda r: not r.issues)))
    for field in ("complexity", "category"):
        for value in sorted({getattr(report, field) for report in kept[0]}):
            mine = _filter(kept, lambda r, field=field, value=value: getattr(r, field) == value)  # type: ignore[misc]
            lines.append(_summary_row(f"{field} {value}", mine))
    dropped = tuple(report.campaign for runs in of_competition.values() for report in runs[seeds:])
    return Summary(
        group=group, lines=tuple(line for line in lines if line.competitions), dropped=dropped
    )


def _filter(
    seeds: Iterable[Sequence[CompetitionReport]], wanted: Callable[[CompetitionReport], bool]
) -> list[list[CompetitionReport]]:
    return [[report for report in seed if wanted(report)] for seed in seeds]


def _summary_row(name: str, seeds: Sequence[Sequence[CompetitionReport]]) -> SummaryRow:
    competitions = len(seeds[0])
    if not competitions:
        return SummaryRow(name=name, competitions=0, seeds=len(seeds), shares={})
    shares = {
        key: Percentage.of([100 * fmean(getattr(report, key) for report in seed) for seed in seeds])
        for key in _SHARES
    }
    rates = [[100 * (r.win_rate or 0.0) for r in seed if r.teams is not None] for seed in seeds]
    win_rate = Percentage.of([fmean(seed) for seed in rates]) if all(rates) else None
    return SummaryRow(
        name=name, competitions=competitions, seeds=len(seeds), shares=shares, win_rate=win_rate
    )
