"""Estimate paired differences between arms, with a bootstrap over competitions and seeds."""

from math import isclose

import numpy as np

from comind.bench.plan import Cell
from comind.bench.results import BenchResults, RunResult
from comind.domain.metric import Interval
from comind.domain.value import Value

DRAWS = 10_000
"""Resamples of a bootstrap."""

_LEVEL = 0.95
_SEED = 20260101  # fixed, so that intervals are reproducible
_CELLS = 5_000_000  # of one chunk of draws
_FEWEST = 2  # competitions; the spread between competitions cannot be estimated from one


class Outcomes(Value):
    """Number of pairs of runs in which the score of an arm is better, equal, or worse."""

    wins: int = 0
    ties: int = 0
    losses: int = 0

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"

    def __add__(self, other: "Outcomes") -> "Outcomes":
        return Outcomes(
            wins=self.wins + other.wins, ties=self.ties + other.ties, losses=self.losses + other.losses
        )


class PairedDifference(Value):
    """Difference of an arm to the reference arm, over pairs of the same competition and seed."""

    arm: str
    reference: str
    competitions: int
    """Competitions with a leaderboard that have a pair."""
    pairs: int
    """Pairs with a win rate."""
    missing_pairs: int
    """Planned pairs of which one run or both are missing; they are left out."""
    difference: float | None
    """Mean difference in win rate, in percentage points; None without a pair."""
    interval: Interval | None
    """In percentage points; None with fewer than two competitions."""
    above_zero: float | None
    """Share of the draws in which the difference is above 0; None without an interval."""
    by_competition: dict[str, Outcomes]
    """Outcomes of the pairs of each competition, with or without a leaderboard."""
    all_competitions: Outcomes
    without_leaderboard: Outcomes
    """Outcomes in competitions that have no win rate."""


def paired_differences(results: BenchResults) -> tuple[PairedDifference, ...]:
    """Compare each other arm with the reference arm, in the order of the plan."""
    reference = results.conditions.reference
    return tuple(paired_difference(results, arm, reference) for arm in results.arms if arm != reference)


def paired_difference(results: BenchResults, arm: str, reference: str) -> PairedDifference:
    """Estimate the difference in win rate between two arms, and count wins, ties and losses.

    The difference is the mean over competitions of the mean over seeds of
    100 * (win rate of `arm` - win rate of `reference`); each competition has the same weight. The 95 %
    percentile interval is that of `hierarchical_bootstrap`. Without a common pair, the difference is
    None; with one competition, the interval is.
    """
    pairs = 100 * (results.matrix(arm, results.win_rate) - results.matrix(reference, results.win_rate))
    means = [float(row[~np.isnan(row)].mean()) for row in pairs if not np.isnan(row).all()]
    interval, above = None, None
    if len(means) >= _FEWEST:
        draws = hierarchical_bootstrap(pairs)
        low, high = np.quantile(draws, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        interval = Interval(low=float(low), high=float(high), level=_LEVEL)
        above = float(np.mean(draws > 0))
    outcomes = {name: _outcomes(results, arm, reference, name) for name in results.competitions}
    without = [found for name, found in outcomes.items() if name not in results.with_leaderboard]
    absent = {cell[1:] for cell in results.missing if cell[0] in {arm, reference}}
    return PairedDifference(
        arm=arm,
        reference=reference,
        competitions=len(means),
        pairs=int(np.count_nonzero(~np.isnan(pairs))),
        missing_pairs=len(absent),
        difference=float(np.mean(means)) if means else None,
        interval=interval,
        above_zero=above,
        by_competition=outcomes,
        all_competitions=sum(outcomes.values(), Outcomes()),
        without_leaderboard=sum(without, Outcomes()),
    )


def hierarchical_bootstrap(pairs: np.ndarray, draws: int = DRAWS, seed: int = _SEED) -> np.ndarray:
    """Resample competitions, then the pairs of each drawn competition, both with replacement.

    With one seed, only competitions are resampled, which is the ordinary bootstrap of a mean. With
    several, the interval is conservative where the noise between seeds exceeds the differences between
    competitions: it contributes to both levels (Davison and Hinkley 1997, section 3.8).

    Args:
        pairs: differences, shape (competitions, seeds); NaN for a missing pair. Competitions without a
            pair are left out.
        draws: number of resamples.
        seed: of the random generator; equal arguments give equal draws.

    Returns:
        The means of the resamples: over competitions, of means over pairs; shape (draws,).

    Raises:
        ValueError: there is no pair.
    """
    known = [row[~np.isnan(row)] for row in pairs]
    known = [row for row in known if row.size]
    if not known:
        raise ValueError("there is no pair to resample")
    counts = np.array([row.size for row in known])
    width = int(counts.max())
    padded = np.zeros((len(known), width))
    for number, row in enumerate(known):
        padded[number, : row.size] = row
    generator = np.random.default_rng(seed)
    chunk = max(1, _CELLS // padded.size)
    return np.concatenate(
        [
            _resample(padded, counts, min(chunk, draws - done), generator)
            for done in range(0, draws, chunk)
        ]
    )


def _resample(
    padded: np.ndarray, counts: np.ndarray, draws: int, generator: np.random.Generator
) -> np.ndarray:
    """Return means of `draws` resamples; row i of `padded` has `counts[i]` values."""
    rows, width = padded.shape
    chosen = generator.integers(0, rows, (draws, rows))
    size = counts[chosen][:, :, None]
    inner = (generator.random((draws, rows, width)) * size).astype(np.int64)
    values = padded[chosen[:, :, None], inner]
    drawn = np.arange(width) < size
    means = np.where(drawn, values, 0.0).sum(axis=2) / size[:, :, 0]
    return np.asarray(means.mean(axis=1))


def _outcomes(results: BenchResults, arm: str, reference: str, competition: str) -> Outcomes:
    """Count the pairs of a competition by the sign of the difference in score."""
    signs = []
    for seed in results.seeds:
        one = results.by_cell.get(Cell(arm, competition, seed))
        other = results.by_cell.get(Cell(reference, competition, seed))
        if one is not None and other is not None:
            signs.append(_compare_scores(one, other))
    return Outcomes(wins=signs.count(1), ties=signs.count(0), losses=signs.count(-1))


def _compare_scores(one: RunResult, other: RunResult) -> int:
    """Return 1, 0 or -1: a valid run is better than an invalid one, two invalid ones are equal."""
    if one.score is None or other.score is None or not (one.valid and other.valid):
        return int(one.valid) - int(other.valid)
    if isclose(one.score, other.score, rel_tol=1e-9, abs_tol=1e-12):
        return 0
    return 1 if (one.score > other.score) == one.maximize else -1
