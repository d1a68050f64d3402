"""Compute the papers' tables from a bench: tokens, programs, best of several runs, time to a rival.

Sources: CoMind v2, tables 3 and 4; AutoMind, tables 1 and 2.
"""

import math
import statistics
from collections.abc import Callable, Iterable

import numpy as np

from comind.bench.results import BenchResults, Measure, RunResult
from comind.domain.code_metrics import RatedProgram
from comind.domain.value import Value

METRICS = tuple(RatedProgram.model_fields)
"""Names of the metrics of programs, in the order of the table."""


class MeanDeviation(Value):
    """Mean and standard deviation over competitions (n - 1 in the denominator; 0 for one)."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "MeanDeviation | None":
        """Return those of the values; None without any."""
        found = list(values)
        if not found:
            return None
        deviation = statistics.stdev(found) if len(found) > 1 else 0.0
        return cls(mean=math.fsum(found) / len(found), deviation=deviation)


class TokenUse(Value):
    """Tokens and cost of an arm for a competition: the mean over seeds, then over competitions."""

    arm: str
    competitions: int
    uncached: MeanDeviation
    """Prompt tokens that were not read from the server's cache."""
    cached: MeanDeviation
    written: MeanDeviation
    usd: MeanDeviation


class ProgramUse(Value):
    """Metrics of the programs of an arm's own choices, means over the valid runs of a kind of data."""

    category: str
    arm: str
    runs: int
    metrics: dict[str, float | None]
    """By `METRICS`; None where no program has the metric."""


class BestOf(Value):
    """Win rates of an arm over its seeds, in percent, means over competitions with a leaderboard."""

    arm: str
    runs: int
    """Runs for each competition, at most."""
    mean: float
    """Of the mean over runs (avg@k)."""
    best: float
    """Of the best run (best@k)."""


class TimeToRival(Value):
    """What an arm needed until its win rate had reached the final one of the reference.

    Medians are over the pairs that reached it; the reference's own are those until it got there.
    """

    arm: str
    pairs: int
    reached: int
    hours: float | None
    tokens: float | None
    rival_hours: float | None
    rival_tokens: float | None


class PaperTables(Value):
    """All tables, in the order of the plan's arms."""

    tokens: tuple[TokenUse, ...]
    programs: tuple[ProgramUse, ...]
    best_of: tuple[BestOf, ...]
    time_to_rival: tuple[TimeToRival, ...]


def paper_tables(results: BenchResults) -> PaperTables:
    """Compute the tables; arms without a run, or without a leaderboard, have no row in some."""
    others = (arm for arm in results.arms if arm != results.conditions.reference)
    return PaperTables(
        tokens=tuple(each for arm in results.arms if (each := _tokens(results, arm)) is not None),
        programs=tuple(_programs(results)),
        best_of=tuple(best for arm in results.arms if (best := _best_of(results, arm)) is not None),
        time_to_rival=tuple(_time_to_rival(results, arm) for arm in others),
    )


def _tokens(results: BenchResults, arm: str) -> TokenUse | None:
    def spread(measure: Measure) -> MeanDeviation | None:
        return MeanDeviation.of(_of_competitions(results.matrix(arm, measure)))

    uncached = spread(lambda run: run.prompt_tokens - run.cached_tokens)
    cached, written = spread(lambda run: run.cached_tokens), spread(lambda run: run.completion_tokens)
    usd = spread(lambda run: run.usd)
    if uncached is None or cached is None or written is None or usd is None:
        return None
    count = len(_of_competitions(results.matrix(arm, lambda run: run.usd)))
    return TokenUse(
        arm=arm, competitions=count, uncached=uncached, cached=cached, written=written, usd=usd
    )


def _of_competitions(
    values: np.ndarray, summary: Callable[[np.ndarray], float] = np.mean
) -> list[float]:
    """Summarise the seeds of each competition that has a value; shape (competitions, seeds)."""
    rows = (row[~np.isnan(row)] for row in values)
    return [float(summary(row)) for row in rows if len(row)]


def _programs(results: BenchResults) -> Iterable[ProgramUse]:
    categories = dict.fromkeys(map(results.category_of, results.competitions))
    for category in sorted(categories):
        for arm in results.arms:
            found = [
                run.program
                for run in results.ordered_runs()
                if run.arm == arm and run.valid and run.program is not None
                if results.category_of(run.competition) == category
            ]
            if found:
                means = {name: _mean(getattr(each, name) for each in found) for name in METRICS}
                yield ProgramUse(category=category, arm=arm, runs=len(found), metrics=means)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _best_of(results: BenchResults, arm: str) -> BestOf | None:
    rates = results.matrix(arm, results.win_rate)
    if not len(means := _of_competitions(rates)):
        return None
    best = _of_competitions(rates, np.max)
    return BestOf(
        arm=arm,
        runs=int(np.count_nonzero(~np.isnan(rates), axis=1).max()),
        mean=100 * math.fsum(means) / len(means),
        best=100 * math.fsum(best) / len(best),
    )


def _time_to_rival(results: BenchResults, arm: str) -> TimeToRival:
    pairs, reached = 0, list[tuple[float, float, float, float]]()
    for run in results.ordered_runs():
        rival = results.by_cell.get(run.cell._replace(arm=results.conditions.reference))
        if run.arm != arm or rival is None or not rival.win_rate:
            continue
        pairs += 1
        whole = rival.seconds / 3600, float(rival.prompt_tokens + rival.completion_tokens)
        if (mine := _reaches(run, rival.win_rate)) is not None:
            reached.append((*mine, *(_reaches(rival, rival.win_rate) or whole)))
    medians = [statistics.median(column) for column in zip(*reached, strict=True)] or [None] * 4
    return TimeToRival(
        arm=arm,
        pairs=pairs,
        reached=len(reached),
        hours=medians[0],
        tokens=medians[1],
        rival_hours=medians[2],
        rival_tokens=medians[3],
    )


def _reaches(run: RunResult, win_rate: float) -> tuple[float, float] | None:
    """Return hours and tokens until a run's win rate is reached for the first time; None if never."""
    for point in run.curve:
        if (point.win_rate or 0.0) >= win_rate:
            return point.seconds / 3600, point.tokens
    return None
