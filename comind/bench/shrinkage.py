"""Compare validation scores with scores on the true answers."""

import numpy as np

from comind.bench.results import BenchResults, RunResult
from comind.domain.value import Value

_FEWEST = 3
"""A rank correlation of two runs is 1 or -1, whatever they are."""


class RunShrinkage(Value):
    """Validation score and score on the true answers of a valid run."""

    arm: str
    competition: str
    seed: int
    validation_score: float
    score: float
    shrinkage: float
    """Validation score minus score on the true answers, in units of the metric; positive if the
    validation score was better."""
    standard_validation: float | None
    """The two scores in standard deviations from the mean of the competition's scores on the true
    answers, larger is better; None if these are equal or there is only one."""
    standard_score: float | None


class RankAgreement(Value):
    """Spearman's rank correlation of the two scores over the runs of a competition, of all arms."""

    competition: str
    runs: int
    correlation: float | None
    """None for fewer than three runs, or if all of either score are equal."""


class ArmShrinkage(Value):
    """Shrinkage of the runs of an arm."""

    arm: str
    runs: int
    validation_better: int
    """Number of runs whose validation score was better than that on the true answers."""
    median_standard: float | None
    """Median of the shrinkage in standard deviations of the competition's scores, see `RunShrinkage`."""


class Shrinkage(Value):
    """Shrinkage by run, arm and competition; runs without either score are left out."""

    runs: tuple[RunShrinkage, ...]
    arms: tuple[ArmShrinkage, ...]
    competitions: tuple[RankAgreement, ...]
    left_out: int
    """Runs that are not missing, but have no score or no validation score."""
    mean_correlation: float | None
    """Over the competitions that have one."""


def measure_shrinkage(results: BenchResults) -> Shrinkage:
    """Measure shrinkage and rank agreement; the order of runs has no effect.

    Shrinkage is s * (validation score - score), with s = 1 if larger is better, otherwise -1. It
    includes the difference between validation and test rows, not only the selection of the best of many.
    """
    known = {name: _known_runs(results, name) for name in results.competitions}
    rows = [row for name in results.competitions for row in _shrinkage(known[name])]
    agreements = tuple(_agreement(name, runs) for name, runs in known.items() if runs)
    correlations = [each.correlation for each in agreements if each.correlation is not None]
    return Shrinkage(
        runs=tuple(rows),
        arms=tuple(_arm(arm, [row for row in rows if row.arm == arm]) for arm in results.arms),
        competitions=agreements,
        left_out=len(results.by_cell) - len(rows),
        mean_correlation=float(np.mean(correlations)) if correlations else None,
    )


def spearman(first: np.ndarray, second: np.ndarray) -> float | None:
    """Return Spearman's rank correlation, ties with mean ranks.

    Args:
        first: shape (runs,).
        second: shape (runs,).

    Returns:
        None for fewer than three runs, or if either has equal values only.
    """
    from scipy.stats import rankdata

    if len(first) < _FEWEST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def _known_runs(results: BenchResults, competition: str) -> list[RunResult]:
    return [
        run
        for run in results.ordered_runs()
        if run.competition == competition
        and run.valid
        and run.score is not None
        and run.validation_score is not None
    ]


def _shrinkage(runs: list[RunResult]) -> list[RunShrinkage]:
    """Return the shrinkage of the runs of one competition."""
    scores, validation = _columns(runs)
    spread = float(scores.std(ddof=1)) if len(runs) > 1 and np.ptp(scores) > 0 else 0.0
    rows = []
    for run, score, estimate in zip(runs, map(float, scores), map(float, validation), strict=True):
        sign = 1.0 if run.maximize else -1.0
        scaled = (
            [sign * (v - float(scores.mean())) / spread for v in (estimate, score)] if spread else None
        )
        rows.append(
            RunShrinkage(
                arm=run.arm,
                competition=run.competition,
                seed=run.seed,
                validation_score=estimate,
                score=score,
                shrinkage=sign * (estimate - score),
                standard_validation=scaled[0] if scaled else None,
                standard_score=scaled[1] if scaled else None,
            )
        )
    return rows


def _columns(runs: list[RunResult]) -> tuple[np.ndarray, np.ndarray]:
    """Return scores on the true answers and validation scores, each of shape (runs,)."""
    scores = np.array([run.score for run in runs], dtype=float)
    return scores, np.array([run.validation_score for run in runs], dtype=float)


def _agreement(competition: str, runs: list[RunResult]) -> RankAgreement:
    return RankAgreement(competition=competition, runs=len(runs), correlation=spearman(*_columns(runs)))


def _arm(arm: str, rows: list[RunShrinkage]) -> ArmShrinkage:
    standard = [
        row.standard_validation - row.standard_score
        for row in rows
        if row.standard_validation is not None and row.standard_score is not None
    ]
    return ArmShrinkage(
        arm=arm,
        runs=len(rows),
        validation_better=sum(row.shrinkage > 0 for row in rows),
        median_standard=float(np.median(standard)) if standard else None,
    )
