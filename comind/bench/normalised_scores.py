"""Compare arms on competitions of programs, whose normalised scores have a mean over competitions."""

import numpy as np

from comind.bench.paired_differences import hierarchical_bootstrap
from comind.bench.results import BenchResults, RunResult
from comind.domain.metric import Interval
from comind.domain.value import Value

_LEVEL = 0.95
_FEWEST = 2  # competitions; the spread between competitions cannot be estimated from one


class NormalisedScores(Value):
    """The scores of an arm on the test instances of competitions of programs."""

    arm: str
    by_competition: dict[str, float]
    """Means over seeds; 0 for a run without a valid program."""
    mean: float
    """Over competitions."""
    difference: float | None
    """To the reference arm, over pairs of the same competition and seed; None for the reference."""
    interval: Interval | None
    """Of the difference, by a bootstrap over competitions and seeds; None with one competition."""


def normalised_scores(results: BenchResults) -> tuple[NormalisedScores, ...]:
    """Return the scores of each arm that has any, in the order of the plan."""
    return tuple(found for arm in results.arms if (found := _of_arm(results, arm)) is not None)


def _of_arm(results: BenchResults, arm: str) -> NormalisedScores | None:
    values = results.matrix(arm, _score)
    known = ~np.isnan(values).all(axis=1)
    if not known.any():
        return None
    means = {
        name: float(np.nanmean(row))
        for name, row, is_known in zip(results.competitions, values, known, strict=True)
        if is_known
    }
    reference, difference, interval = results.conditions.reference, None, None
    pairs = values - results.matrix(reference, _score)
    rows = [float(np.nanmean(row)) for row in pairs if not np.isnan(row).all()]
    if arm != reference and rows:
        difference = float(np.mean(rows))
        if len(rows) >= _FEWEST:
            draws = hierarchical_bootstrap(pairs)
            low, high = np.quantile(draws, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
            interval = Interval(low=float(low), high=float(high), level=_LEVEL)
    return NormalisedScores(
        arm=arm,
        by_competition=means,
        mean=float(np.mean([*means.values()])),
        difference=difference,
        interval=interval,
    )


def _score(run: RunResult) -> float | None:
    return run.normalised_score
