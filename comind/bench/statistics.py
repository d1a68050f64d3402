"""Compute means over seeds with standard errors, for all competitions and for subsets of them."""

from collections.abc import Callable, Sequence

import numpy as np
from pydantic import Field

from comind.bench.normalised_scores import NormalisedScores, normalised_scores
from comind.bench.paired_differences import PairedDifference, paired_differences
from comind.bench.paper_tables import PaperTables, paper_tables
from comind.bench.results import BenchResults, Measure, RunResult
from comind.bench.score_curves import CodeCurve, WinRateCurve, code_curves, win_rate_curves
from comind.bench.shrinkage import Shrinkage, measure_shrinkage
from comind.domain.value import Value
from comind.grading.grading_report import Percentage, SeedMean

ALL = "all"
"""Name of the subset that has every competition."""

_ORDER = {"low": 0, "medium": 1, "high": 2}


class ArmSummary(Value):
    """Results of an arm on a subset of the competitions.

    Percentages are means over competitions within a seed, then over seeds; with one seed their standard
    error is 0. They are None if no run has the measure. An invalid or failed run counts as 0, a missing
    one is left out: then seeds are averaged over different competitions, and `missing` is above 0.
    """

    arm: str
    subset: str
    competitions: int
    """Competitions of the subset in which the arm has a run."""
    seeds: int
    """Seeds for which it has a run."""
    runs: int
    missing: int
    failed: int
    invalid: int
    """Runs without a valid submission, including failed ones."""
    without_leaderboard: int
    """Competitions of the subset that do not count in the win rate."""
    win_rate: Percentage | None
    any_medal: Percentage | None
    """Of the runs in competitions with a leaderboard; so are the next two."""
    gold: Percentage | None
    above_median: Percentage | None
    valid: Percentage | None
    with_platform: Percentage | None
    """Win rate of the delivered submissions, with what the platform adds to the agents' choices."""


class ArmCosts(Value):
    """Means of an arm per competition, over competitions within a seed, then over seeds, and totals."""

    arm: str
    seeds: int
    usd: SeedMean
    seconds: SeedMean
    prompt_tokens: SeedMean
    completion_tokens: SeedMean
    attempts: SeedMean
    valid_attempts: SeedMean
    total_usd: float
    total_tokens: int


class CompetitionSummary(Value):
    """Results of an arm on one competition; means are over its valid runs, the win rate over all."""

    competition: str
    arm: str
    runs: int
    valid: int
    medals: int
    score: SeedMean | None
    """In units of the metric; None without a valid run."""
    win_rate: Percentage | None


class LeaderboardPlace(Value):
    """The leaderboard of a competition, and the mean score of each arm with a valid run there."""

    competition: str
    scores: tuple[float, ...]
    """Of teams at equal distances in rank, the best first."""
    arms: dict[str, tuple[float, float]]
    """By arm, the mean share of teams that are better or tied, in percent, and the mean score."""


class BenchStatistics(Value):
    """All statistics of a report; tuples are in the order of the plan."""

    summaries: tuple[ArmSummary, ...]
    by_category: tuple[ArmSummary, ...] = Field(alias="by_kind")
    by_complexity: tuple[ArmSummary, ...]
    differences: tuple[PairedDifference, ...]
    costs: tuple[ArmCosts, ...]
    by_competition: tuple[CompetitionSummary, ...]
    over_time: tuple[WinRateCurve, ...]
    over_cost: tuple[WinRateCurve, ...]
    over_tokens: tuple[WinRateCurve, ...]
    code_lines: tuple[CodeCurve, ...]
    code_complexity: tuple[CodeCurve, ...]
    shrinkage: Shrinkage
    leaderboards: tuple[LeaderboardPlace, ...]
    papers: PaperTables
    normalised: tuple[NormalisedScores, ...] = Field(default=(), exclude_if=lambda scores: not scores)
    """On competitions of programs."""


def compute_statistics(results: BenchResults) -> BenchStatistics:
    """Compute all statistics of a bench; the order of its runs has no effect."""
    return BenchStatistics(
        summaries=tuple(summarise_arm(results, arm) for arm in results.arms),
        by_category=_summarise_by(results, results.category_of),
        by_complexity=_summarise_by(results, results.complexity_of),
        differences=paired_differences(results),
        costs=tuple(costs for arm in results.arms if (costs := _costs(results, arm)) is not None),
        by_competition=tuple(
            _summarise_competition(results, name, arm)
            for name in results.competitions
            for arm in results.arms
        ),
        over_time=win_rate_curves(results, "seconds"),
        over_cost=win_rate_curves(results, "usd"),
        over_tokens=win_rate_curves(results, "tokens"),
        code_lines=code_curves(results, "code_lines"),
        code_complexity=code_curves(results, "complexity"),
        shrinkage=measure_shrinkage(results),
        leaderboards=tuple(
            _place_on_leaderboard(results, name)
            for name in results.competitions
            if name in results.leaderboards
        ),
        papers=paper_tables(results),
        normalised=normalised_scores(results),
    )


def seed_means(values: np.ndarray) -> list[float]:
    """Average over competitions within each seed; seeds without a value are left out.

    Args:
        values: shape (competitions, seeds), NaN where there is none.
    """
    return [float(column[~np.isnan(column)].mean()) for column in values.T if not np.isnan(column).all()]


def summarise_arm(
    results: BenchResults, arm: str, subset: str = ALL, competitions: Sequence[str] | None = None
) -> ArmSummary:
    """Summarise an arm on some of the competitions, by default all.

    The mean is the mean of the seeds' means m_1 ... m_n, and its standard error is
    stdev(m) / sqrt(n), with n - 1 in the denominator of the variance; 0 for one seed. As in MLE-bench's
    aggregator, which has no missing runs.
    """
    wanted = set(results.competitions if competitions is None else competitions)
    rows = np.array([name in wanted for name in results.competitions])
    judged = results.with_medals
    runs = [run for run in results.ordered_runs() if run.arm == arm and run.competition in wanted]

    def percentage(measure: Measure) -> Percentage | None:
        means = seed_means(results.matrix(arm, measure)[rows])
        return Percentage.of([100 * mean for mean in means]) if means else None

    def judged_share(condition: Callable[[RunResult], object]) -> Percentage | None:
        return percentage(lambda run: float(bool(condition(run))) if run.competition in judged else None)

    return ArmSummary(
        arm=arm,
        subset=subset,
        competitions=len({run.competition for run in runs}),
        seeds=len({run.seed for run in runs}),
        runs=len(runs),
        missing=sum(cell[0] == arm and cell[1] in wanted for cell in results.missing),
        failed=sum(run.status == "failed" for run in runs),
        invalid=sum(not run.valid for run in runs),
        without_leaderboard=len(wanted - results.with_leaderboard),
        win_rate=percentage(results.win_rate),
        any_medal=judged_share(lambda run: run.medal is not None),
        gold=judged_share(lambda run: run.medal == "gold"),
        above_median=judged_share(lambda run: run.above_median),
        valid=percentage(lambda run: float(run.valid)),
        with_platform=percentage(lambda run: run.platform_win_rate),
    )


def _summarise_by(results: BenchResults, group_of: Callable[[str], str]) -> tuple[ArmSummary, ...]:
    """Summarise every arm on each group: low, medium and high in this order, others alphabetically."""
    groups: dict[str, list[str]] = {}
    for name in results.competitions:
        groups.setdefault(group_of(name), []).append(name)
    return tuple(
        summarise_arm(results, arm, group, groups[group])
        for group in sorted(groups, key=lambda g: (_ORDER.get(g, len(_ORDER)), g))
        for arm in results.arms
    )


def _costs(results: BenchResults, arm: str) -> ArmCosts | None:
    """Return the costs of an arm, None if it has no run."""
    runs = [run for run in results.ordered_runs() if run.arm == arm]
    if not runs:
        return None

    def mean(measure: Measure) -> SeedMean:
        return SeedMean.of(seed_means(results.matrix(arm, measure)))

    return ArmCosts(
        arm=arm,
        seeds=len({run.seed for run in runs}),
        usd=mean(lambda run: run.usd),
        seconds=mean(lambda run: run.seconds),
        prompt_tokens=mean(lambda run: run.prompt_tokens),
        completion_tokens=mean(lambda run: run.completion_tokens),
        attempts=mean(lambda run: run.attempts),
        valid_attempts=mean(lambda run: run.valid_attempts),
        total_usd=sum(run.usd for run in runs),
        total_tokens=sum(run.prompt_tokens + run.completion_tokens for run in runs),
    )


def _place_on_leaderboard(results: BenchResults, name: str) -> LeaderboardPlace:
    """Place the mean valid run of each arm on a competition's leaderboard."""
    arms = dict[str, tuple[float, float]]()
    for arm in results.arms:
        cells = ((arm, name, seed) for seed in results.seeds)
        runs = [results.by_cell[cell] for cell in cells if cell in results.by_cell]
        found = [(run.win_rate or 0.0, run.score) for run in runs if run.score is not None and run.valid]
        if found:
            rate, score = (float(np.mean(column)) for column in zip(*found, strict=True))
            arms[arm] = 100 * (1 - rate), score
    return LeaderboardPlace(competition=name, scores=results.leaderboards[name], arms=arms)


def _summarise_competition(results: BenchResults, name: str, arm: str) -> CompetitionSummary:
    """Summarise the runs of an arm on one competition; the standard errors are over its seeds."""
    cells = ((arm, name, seed) for seed in results.seeds)
    runs = [results.by_cell[cell] for cell in cells if cell in results.by_cell]
    scores = [run.score for run in runs if run.valid and run.score is not None]
    rates = [100 * rate for run in runs if (rate := results.win_rate(run)) is not None]
    return CompetitionSummary(
        competition=name,
        arm=arm,
        runs=len(runs),
        valid=len(scores),
        medals=sum(run.medal is not None for run in runs),
        score=SeedMean.of(scores) if scores else None,
        win_rate=Percentage.of(rates) if rates else None,
    )
