"""Greedy forward selection of a blend, with replacement (Caruana et al. 2004, section 2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.evaluation.blending.averaging import average, scaled
from comind.evaluation.metrics.base import Metric

__all__ = [
    "MOST_MEMBERS",
    "MOST_PICKS",
    "MOST_TARGETS",
    "CandidatePool",
    "Selection",
    "greedy",
    "select",
]

MOST_MEMBERS = 5
MOST_PICKS = 20
"""Weights are shares of so many picks at most, so they are rounded."""
MOST_TARGETS = 10
"""Up to here each target column may have weights of its own."""
_ROWS = 20_000  # to select on; more change no pick


@dataclass(frozen=True, slots=True)
class Selection:
    """An average of candidates; `weights` has shape (candidates, targets), whole numbers."""

    mean: str
    weights: np.ndarray

    @property
    def members(self) -> list[int]:
        """The candidates that count, the heaviest first."""
        totals = self.weights.sum(axis=1)
        return sorted(np.flatnonzero(totals).tolist(), key=lambda number: (-totals[number], number))


class CandidatePool:
    """Candidates for a blend with the truth; all tables have the same rows and target columns."""

    def __init__(
        self,
        metric: Metric,
        truth: pd.DataFrame,
        candidates: Sequence[pd.DataFrame],
        means: Sequence[str],
    ) -> None:
        """Put all candidates on the scales of `means`, over all rows: no label is needed for that."""
        self.metric = metric
        self.truth = truth
        self.size = len(candidates)
        self._parts = {mean: [scaled(mean, table.to_numpy()) for table in candidates] for mean in means}

    @property
    def means(self) -> tuple[str, ...]:
        """The averages that may be tried."""
        return tuple(self._parts)

    def predict(self, selection: Selection, rows: np.ndarray) -> pd.DataFrame:
        """Return a blend's predictions for some rows."""
        members = selection.members
        parts = [self._parts[selection.mean][number][rows] for number in members]
        mixed = average(selection.mean, parts, selection.weights[members])
        return pd.DataFrame(mixed, columns=self.truth.columns)

    def true(self, rows: np.ndarray) -> pd.DataFrame:
        """Return the truth of some rows."""
        return self.truth.iloc[rows].reset_index(drop=True)

    def score(self, selection: Selection, rows: np.ndarray, column: str | None = None) -> float:
        """Return how good a blend is, more is better; minus infinity where it has no score."""
        predicted, true = self.predict(selection, rows), self.true(rows)
        if column is not None:
            predicted, true = predicted[[column]], true[[column]]
        try:
            value = self.metric.score(true, predicted)
        except ValueError:
            return -math.inf
        if not math.isfinite(value):
            return -math.inf
        return value if self.metric.maximize else -value

    def equal(self, mean: str, counts: np.ndarray) -> Selection:
        """Return the selection with the same weights, shape (candidates,), in all target columns."""
        columns = len(self.truth.columns)
        return Selection(mean, np.repeat(counts[:, None], columns, axis=1))


def greedy(score: Callable[[np.ndarray], float], allowed: Sequence[int], size: int) -> np.ndarray:
    """Return how often each candidate is picked, shape (size,), whole numbers without common divisor.

    One after another that candidate is added whose addition scores best, again and again, and the
    shortest of the best blends on the way is taken; so none scores worse than the best candidate.
    Of additions that score the same the one that was picked least goes first: a second vote changes
    nothing, a third one may. `allowed` are the candidates that may be picked, at least one of them.
    """
    counts, best, best_value = np.zeros(size, dtype=int), np.zeros(size, dtype=int), -math.inf
    one = np.eye(size, dtype=int)
    best[allowed[0]] = 1
    for _ in range(MOST_PICKS):
        full = np.count_nonzero(counts) >= MOST_MEMBERS
        open_to = [number for number in allowed if counts[number] or not full]
        tried = [(score(counts + one[number]), -counts[number], -number) for number in open_to]
        value, _, number = max(tried)
        counts += one[-number]
        if value > best_value:
            best, best_value = counts.copy(), value
    return np.asarray(best // np.gcd.reduce(best))


def select(pool: CandidatePool, rows: np.ndarray) -> Selection:
    """Return the best blend that the greedy selection finds on some rows."""
    if len(rows) > _ROWS:
        rows = np.random.default_rng(0).choice(rows, _ROWS, replace=False)
    everyone = range(pool.size)
    found = []
    for mean in pool.means:

        def joint(counts: np.ndarray, mean: str = mean) -> float:
            return pool.score(pool.equal(mean, counts), rows)

        found.append(pool.equal(mean, greedy(joint, everyone, pool.size)))
    best = max(found, key=lambda each: pool.score(each, rows))
    apart = _apart(pool, best, rows)
    return apart if pool.score(apart, rows) > pool.score(best, rows) else best


def _apart(pool: CandidatePool, joint: Selection, rows: np.ndarray) -> Selection:
    """Return a selection of the same members with weights of their own for each target column."""
    columns = list(pool.truth.columns)
    together = pool.metric.kind is AnswerKind.CLASS_PROBABILITIES
    if together or not 1 < len(columns) <= MOST_TARGETS or len(joint.members) == 1:
        return joint
    weights = joint.weights.copy()
    for place, column in enumerate(columns):

        def alone(counts: np.ndarray, column: str = column) -> float:
            return pool.score(pool.equal(joint.mean, counts), rows, column)

        weights[:, place] = greedy(alone, sorted(joint.members), pool.size)
    return Selection(joint.mean, weights)
