"""Compute means and standard errors over seeds, for all competitions and for subsets of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, stdev
from typing import Self

from comind.domain.value import Value
from comind.grading.grading_report import CompetitionReport, Group

_Z = 1.96

_MEDALS = ("gold_medal", "silver_medal", "bronze_medal", "any_medal")
_SHARES = ("submission_exists", "valid_submission", "above_median", *_MEDALS)
"""The boolean fields of a report."""


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
    for kind in ("complexity", "category"):
        for value in sorted({getattr(report, kind) for report in kept[0]}):
            mine = _filter(kept, lambda r, kind=kind, value=value: getattr(r, kind) == value)  # type: ignore[misc]
            lines.append(_summary_row(f"{kind} {value}", mine))
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
