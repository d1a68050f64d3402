"""Greedy forward selection of an ensemble with replacement (Caruana et al. 2004, section 2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.errors import SubmissionError
from comind.grading.blending.averaging import BESIDE, average, decided, scaled
from comind.grading.grader_port import BlendReport
from comind.metrics.metric_types import Metric, TableMetric

MOST_MEMBERS = 5
_PROGRAM_PICKS = 5  # the same, where a program scores each
_MOST_PICKS = 20  # steps of the greedy selection, at most; weights are multiples of one step
MOST_TARGETS = 10
"""Most target columns with separate weights for each."""
_ROWS = 20_000  # sampled to select on

_AVERAGED = (AnswerKind.LABEL, AnswerKind.NUMBER, AnswerKind.PROBABILITY, AnswerKind.CLASS_PROBABILITIES)


def supported_means(metric: Metric) -> tuple[str, ...]:
    """Return the means of `averaging.py` that suit a metric; none for text, masks and the like.

    None either for metrics over tables, whose rows cannot be divided into halves.
    """
    if isinstance(metric, TableMetric) or (metric.context and not metric.by_program):
        return ()
    return metric.traits.means if metric.answer_kind in _AVERAGED else ()


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that the members of a blend may take together, and those of each candidate."""

    seconds: Sequence[float] = ()
    most: float = math.inf

    def allow(self, members: Sequence[int] | np.ndarray) -> bool:
        """Return whether these candidates fit."""
        return math.isinf(self.most) or sum(self.seconds[number] for number in members) <= self.most

    def of(self, places: Sequence[int]) -> "Costs":
        """Return those of the candidates at some positions."""
        return self if math.isinf(self.most) else Costs([self.seconds[at] for at in places], self.most)


FREE = Costs()
"""No limit."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A weighted average of candidates, or with `offsets` a weighted sum."""

    mean: str
    weights: np.ndarray
    """Shape (candidates, targets); integers where they were selected greedily on all rows at once."""
    offsets: np.ndarray | None = None
    """What is added to a weighted sum, on the scale of the mean, shape (targets,); or what decides
    between labels (`decided`), shape (classes,) or (labels - 1,)."""

    @property
    def members(self) -> list[int]:
        """The candidates with positive weights, the heaviest first."""
        totals = self.weights.sum(axis=1)
        return sorted(np.flatnonzero(totals).tolist(), key=lambda number: (-totals[number], number))

    @property
    def is_single(self) -> bool:
        """Whether its predictions are those of one member: of votes, one that no others outvote."""
        first = self.weights[self.members[0]]
        outvoted = self.mean == "vote" and bool((2 * first >= self.weights.sum(axis=0)).all())
        return len(self.members) == 1 or outvoted


class Beside(NamedTuple):
    """What candidates keep beside labels."""

    mean: str
    """One of `averaging.BESIDE`."""
    labels: tuple[str, ...]
    """The label of each column of probabilities, or all labels in ascending order; as parsed."""
    tables: Sequence[pd.DataFrame | None]
    """By candidate, in the rows of the truth."""


class CandidatePool:
    """Candidates for a blend and the truth, tables with the same rows and target columns."""

    def __init__(
        self,
        metric: Metric,
        truth: pd.DataFrame,
        candidates: Sequence[pd.DataFrame | None],
        means: Sequence[str],
        costs: Costs = FREE,
        beside: Beside | None = None,
    ) -> None:
        """Scale all candidates for each of `means`, over all rows, which needs no labels.

        Candidates without predictions for these rows are None, and in no blend. Where at least two keep
        something `beside` their labels, its mean is the last one.
        """
        self.metric = metric
        self.truth = truth
        self.size = len(candidates)
        self.known = [number for number, table in enumerate(candidates) if table is not None]
        self.targets = next(list(table.columns) for table in candidates if table is not None)
        self._costs = costs
        self._parts = {
            mean: {
                number: scaled(mean, cells_of(mean, table))
                for number, table in enumerate(candidates)
                if table is not None
            }
            for mean in means
        }
        self.labels: tuple[str, ...] = ()
        if beside is not None and sum(each is not None for each in beside.tables) > 1:
            self.labels = beside.labels
            self._parts[beside.mean] = {
                number: cells_of(beside.mean, table)
                for number, table in enumerate(beside.tables)
                if table is not None and number in self.known
            }
        self._last_truth: tuple[np.ndarray, pd.DataFrame] | None = None

    @property
    def means(self) -> tuple[str, ...]:
        """The means to select from."""
        return tuple(self._parts)

    def with_rows(
        self,
        truth: pd.DataFrame,
        candidates: Sequence[pd.DataFrame | None],
        beside: Beside | None = None,
    ) -> "CandidatePool":
        """Return a pool of the same candidates on other rows."""
        means = [mean for mean in self.means if mean not in BESIDE]
        return CandidatePool(self.metric, truth, candidates, means, self._costs, beside)

    def having(self, mean: str) -> list[int]:
        """Return the candidates that have predictions for this mean."""
        return list(self._parts[mean])

    def allowed(self, mean: str) -> list[int]:
        """Return the candidates that may be members of a blend by this mean."""
        return [number for number in self._parts[mean] if self._costs.allow([number])]

    def part(self, mean: str, number: int) -> np.ndarray:
        """Return a candidate's predictions on the scale of a mean, shape (rows, targets)."""
        return self._parts[mean][number]

    def affordable(self, weights: np.ndarray) -> bool:
        """Return whether candidates with these weights, shape (candidates,), may be members together."""
        return self._costs.allow(np.flatnonzero(weights))

    def few(self, weights: np.ndarray) -> bool:
        """Return whether they may be, and are at most five."""
        return int(np.count_nonzero(weights)) <= MOST_MEMBERS and self.affordable(weights)

    def predict(self, selection: Selection, rows: np.ndarray) -> pd.DataFrame:
        """Return a blend's predictions for rows."""
        members = selection.members
        parts = [self._parts[selection.mean][number][rows] for number in members]
        mixed = average(selection.mean, parts, selection.weights[members], selection.offsets)
        if selection.mean in BESIDE:
            mixed = decided(selection.mean, mixed, self.labels, selection.offsets)[:, None]
        if selection.mean == "number":
            mixed = mixed.astype("int64")
        return pd.DataFrame(mixed, columns=self.targets)

    def truth_of(self, rows: np.ndarray) -> pd.DataFrame:
        """Return the truth of rows, which must not be changed: the next call may return it again.

        A selection scores a hundred blends on the same rows; taking them costs as much as a score.
        """
        last = self._last_truth
        if last is None or last[0] is not rows:
            self._last_truth = last = rows, self.truth.iloc[rows].reset_index(drop=True)
        return last[1]

    def score(self, selection: Selection, rows: np.ndarray) -> float:
        """Return a blend's score, greater is better; minus infinity if the metric is undefined."""
        return self.score_all([selection], rows)[0]

    def score_all(
        self, selections: Sequence[Selection], rows: np.ndarray, column: str | None = None
    ) -> list[float]:
        """Return the scores of blends, of one target column or all."""
        predicted, true = [self.predict(each, rows) for each in selections], self.truth_of(rows)
        if column is not None:
            predicted, true = [each[[column]] for each in predicted], true[[column]]
        values = self.metric.score_all(true, predicted)
        values = values if self.metric.maximize else -values
        return [float(value) if math.isfinite(value) else -math.inf for value in values]

    def selection_of(self, report: BlendReport) -> Selection:
        """Return the blend of a report about these candidates."""
        weights = np.zeros((self.size, len(self.targets)))
        weights[list(report.members)] = np.broadcast_to(
            report.weights, (len(report.members), len(self.targets))
        )
        offsets = np.array(report.offsets) if report.offsets else None
        return Selection(report.mean, weights, offsets)

    def shared_weights(self, mean: str, counts: np.ndarray) -> Selection:
        """Return a selection with the same weights, shape (candidates,), for all target columns."""
        return Selection(mean, np.repeat(counts[:, None], len(self.targets), axis=1))


def cells_of(mean: str, table: pd.DataFrame) -> np.ndarray:
    """Return cells of shape (rows, targets), as numbers unless they are labels.

    Raises:
        SubmissionError: some are not numbers; a program's metric has read text.
    """
    cells = table.to_numpy()
    if mean == "vote" or cells.dtype != object:
        return cells
    try:
        return cells.astype(float)
    except ValueError as error:
        raise SubmissionError(f"its cells are not numbers: {error}") from None


def greedy_weights(
    scores: Callable[[list[np.ndarray]], Sequence[float]],
    allowed: Sequence[int],
    size: int,
    fits: Callable[[np.ndarray], bool],
    picks: int = _MOST_PICKS,
) -> np.ndarray:
    """Return integer weights without common divisor, shape (size,), by greedy forward selection.

    Each step adds the candidate that scores best, again if need be; the first of the best blends on the
    path is returned, so none scores worse than the best candidate. Ties go to the candidate picked
    least: a second vote changes nothing, a third may. `allowed` are the candidates to pick from, and
    `fits` tells for weights whether their candidates may be members together.
    """
    counts, best, best_value = np.zeros(size, dtype=int), np.zeros(size, dtype=int), -math.inf
    one = np.eye(size, dtype=int)
    best[allowed[0]] = 1
    for _ in range(picks):
        eligible = [number for number in allowed if counts[number] or fits(counts + one[number])]
        values = scores([counts + one[number] for number in eligible])
        value, _, number = max(
            (value, -counts[number], -number) for value, number in zip(values, eligible, strict=True)
        )
        counts += one[-number]
        if value > best_value:
            best, best_value = counts.copy(), value
    return np.asarray(best // np.gcd.reduce(best))


def select(pool: CandidatePool, rows: np.ndarray, most: int | None = None) -> Selection:
    """Select a blend on rows: the best over means, with weights per target if that scores better.

    It has at most five members, of the first `most` candidates.
    """
    if len(rows) > _ROWS:
        rows = np.random.default_rng(0).choice(rows, _ROWS, replace=False)
    picks = _PROGRAM_PICKS if pool.metric.by_program else _MOST_PICKS
    found = []
    for mean in pool.means:

        def joint(tried: list[np.ndarray], mean: str = mean) -> list[float]:
            return pool.score_all([pool.shared_weights(mean, counts) for counts in tried], rows)

        allowed = [number for number in pool.allowed(mean) if most is None or number < most]
        if not allowed:
            continue
        weights = greedy_weights(joint, allowed, pool.size, pool.few, picks)
        found.append(pool.shared_weights(mean, weights))
    best = max(found, key=lambda each: pool.score(each, rows))
    per_target = _per_target(pool, best, rows)
    return per_target if pool.score(per_target, rows) > pool.score(best, rows) else best


def _per_target(pool: CandidatePool, joint: Selection, rows: np.ndarray) -> Selection:
    """Return the same members with separate weights for each target column."""
    columns = pool.targets
    joint_only = pool.metric.answer_kind is AnswerKind.CLASS_PROBABILITIES or pool.metric.by_program
    if joint_only or not 1 < len(columns) <= MOST_TARGETS or len(joint.members) == 1:
        return joint
    weights = joint.weights.copy()
    for place, column in enumerate(columns):

        def alone(tried: list[np.ndarray], column: str = column) -> list[float]:
            blends = [pool.shared_weights(joint.mean, counts) for counts in tried]
            return pool.score_all(blends, rows, column)

        weights[:, place] = greedy_weights(alone, sorted(joint.members), pool.size, pool.few)
    return Selection(joint.mean, weights)
