"""Greedy forward selection of an ensemble with replacement (Caruana et al. 2004, section 2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.grading.blending.averaging import average, scaled
from comind.metrics.metric_types import Metric, TableMetric

MOST_MEMBERS = 5
_MOST_PICKS = 20  # steps of the greedy selection, at most; weights are multiples of one step
_MOST_TARGETS = 10  # with separate weights for each target column
_ROWS = 20_000  # sampled to select on

_AVERAGED = (
    AnswerKind.LABEL,
    AnswerKind.NUMBER,
    AnswerKind.PROBABILITY,
    AnswerKind.CLASS_PROBABILITIES,
)


def supported_means(metric: Metric) -> tuple[str, ...]:
    """Return the means of `averaging.py` that suit a metric; none for text, masks and the like.

    None either for metrics over tables, whose rows cannot be divided into halves.
    """
    if metric.context or isinstance(metric, TableMetric):
        return ()
    return metric.traits.means if metric.kind in _AVERAGED else ()


@dataclass(frozen=True, slots=True)
class Selection:
    """A weighted average of candidates; `weights` are integers, shape (candidates, targets)."""

    mean: str
    weights: np.ndarray

    @property
    def members(self) -> list[int]:
        """The candidates with positive weights, the heaviest first."""
        totals = self.weights.sum(axis=1)
        return sorted(np.flatnonzero(totals).tolist(), key=lambda number: (-totals[number], number))


class CandidatePool:
    """Candidates for a blend and the truth, tables with the same rows and target columns."""

    def __init__(
        self,
        metric: Metric,
        truth: pd.DataFrame,
        candidates: Sequence[pd.DataFrame],
        means: Sequence[str],
    ) -> None:
        """Scale all candidates for each of `means`, over all rows, which needs no labels."""
        self.metric = metric
        self.truth = truth
        self.size = len(candidates)
        self._parts = {mean: [scaled(mean, table.to_numpy()) for table in candidates] for mean in means}
        self._last_truth: tuple[np.ndarray, pd.DataFrame] | None = None

    @property
    def means(self) -> tuple[str, ...]:
        """The means to select from."""
        return tuple(self._parts)

    def predict(self, selection: Selection, rows: np.ndarray) -> pd.DataFrame:
        """Return a blend's predictions for rows."""
        members = selection.members
        parts = [self._parts[selection.mean][number][rows] for number in members]
        mixed = average(selection.mean, parts, selection.weights[members])
        return pd.DataFrame(mixed, columns=self.truth.columns)

    def truth_of(self, rows: np.ndarray) -> pd.DataFrame:
        """Return the truth of rows, which must not be changed: the next call may return it again.

        A selection scores a hundred blends on the same rows; taking them costs as much as a score.
        """
        last = self._last_truth
        if last is None or last[0] is not rows:
            self._last_truth = last = rows, self.truth.iloc[rows].reset_index(drop=True)
        return last[1]

    def score(self, selection: Selection, rows: np.ndarray, column: str | None = None) -> float:
        """Return a blend's score, greater is better; minus infinity if the metric is undefined."""
        predicted, true = self.predict(selection, rows), self.truth_of(rows)
        if column is not None:
            predicted, true = predicted[[column]], true[[column]]
        try:
            value = self.metric.score(true, predicted)
        except ValueError:
            return -math.inf
        if not math.isfinite(value):
            return -math.inf
        return value if self.metric.maximize else -value

    def shared_weights(self, mean: str, counts: np.ndarray) -> Selection:
        """Return a selection with the same weights, shape (candidates,), for all target columns."""
        columns = len(self.truth.columns)
        return Selection(mean, np.repeat(counts[:, None], columns, axis=1))


def greedy_weights(
    score: Callable[[np.ndarray], float], allowed: Sequence[int], size: int
) -> np.ndarray:
    """Return integer weights without common divisor, shape (size,), by greedy forward selection.

    Each step adds the candidate that scores best, again if need be; the first of the best blends on the
    path is returned, so none scores worse than the best candidate. Ties go to the candidate picked
    least: a second vote changes nothing, a third may. `allowed` are the candidates to pick from.
    """
    counts, best, best_value = np.zeros(size, dtype=int), np.zeros(size, dtype=int), -math.inf
    one = np.eye(size, dtype=int)
    best[allowed[0]] = 1
    for _ in range(_MOST_PICKS):
        full = np.count_nonzero(counts) >= MOST_MEMBERS
        eligible = [number for number in allowed if counts[number] or not full]
        tried = [(score(counts + one[number]), -counts[number], -number) for number in eligible]
        value, _, number = max(tried)
        counts += one[-number]
        if value > best_value:
            best, best_value = counts.copy(), value
    return np.asarray(best // np.gcd.reduce(best))


def select(pool: CandidatePool, rows: np.ndarray) -> Selection:
    """Select a blend on rows: the best over means, with weights per target if that scores better."""
    if len(rows) > _ROWS:
        rows = np.random.default_rng(0).choice(rows, _ROWS, replace=False)
    found = []
    for mean in pool.means:

        def joint(counts: np.ndarray, mean: str = mean) -> float:
            return pool.score(pool.shared_weights(mean, counts), rows)

        found.append(pool.shared_weights(mean, greedy_weights(joint, range(pool.size), pool.size)))
    best = max(found, key=lambda each: pool.score(each, rows))
    per_target = _per_target(pool, best, rows)
    return per_target if pool.score(per_target, rows) > pool.score(best, rows) else best


def _per_target(pool: CandidatePool, joint: Selection, rows: np.ndarray) -> Selection:
    """Return the same members with separate weights for each target column."""
    columns = list(pool.truth.columns)
    joint_only = pool.metric.kind is AnswerKind.CLASS_PROBABILITIES
    if joint_only or not 1 < len(columns) <= _MOST_TARGETS or len(joint.members) == 1:
        return joint
    weights = joint.weights.copy()
    for place, column in enumerate(columns):

        def alone(counts: np.ndarray, column: str = column) -> float:
            return pool.score(pool.shared_weights(joint.mean, counts), rows, column)

        weights[:, place] = greedy_weights(alone, sorted(joint.members), pool.size)
    return Selection(joint.mean, weights)
