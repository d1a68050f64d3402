"""Learn the weights of a blend from out-of-fold predictions (stacking, Wolpert 1992, Breiman 1996).

Out-of-fold rows are rows of train.csv, several times as many as the validation rows, and agents have
their labels, so weights that are learned on them reveal nothing that is sealed. The ways to learn are
greedy selection over bags of rows and candidates (Caruana et al. 2004, section 2.3) and regression with
non-negative weights, shrunk towards equal ones; cross-validation on the same rows decides between them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from comind.domain.metric import Paired
from comind.domain.problem import AnswerKind
from comind.grading.blending.averaging import BESIDE, scaled
from comind.grading.blending.held_out import held_out_gain, others, row_parts
from comind.grading.blending.selection import (
    MOST_TARGETS,
    CandidatePool,
    Selection,
    cells_of,
    greedy_weights,
)

LEAST_ROWS = 100
_ROWS = 10_000  # sampled to learn on
_FOLDS = 4
_BAGS, _BAG_ROWS, _BAG_SHARE, _BAG_PICKS = 10, 2_000, 0.5, 10
_MOVES = np.concatenate([[0.0], np.linspace(-1, 1, 21)])
_MOST_LABELS = 10  # between which more than the greatest probability decides
_PENALTIES = (0.1, 0.01, 0.001)  # of the distance to equal weights, in units of the loss's curvature
_DIGITS = 6  # significant
_SEED = 20261129

_Learner = Callable[[CandidatePool, np.ndarray], Selection]
"""(pool, rows) -> a stack that was learned on these rows."""


class Stack:
    """A blend that is learned on out-of-fold rows, the way that cross-validation on these scores best.

    Of ways that score the same the first counts, which shrinks most.
    """

    def __init__(self, pool: CandidatePool, groups: np.ndarray | None) -> None:
        """Learn it; `groups` numbers the group of each row, shape (rows,), which are never divided."""
        rows = np.arange(len(pool.truth))
        if len(rows) > _ROWS:
            rows = np.sort(np.random.default_rng(_SEED).choice(rows, _ROWS, replace=False))
        units = None if groups is None else groups[rows]
        self._pool, self._groups = pool, groups
        self._parts = [rows[part] for part in row_parts(len(rows), _FOLDS, units)]
        learners = list(_learners(pool))
        scores = [_cross_validated(learn, pool, self._parts) for learn in learners]
        self._learn = learners[int(np.argmax(scores))]
        self.weights = self._learn(pool, rows)
        self.rows = len(rows)
        """Number of the rows that it was learned on."""

    def gain(self, blend: Selection) -> Paired | None:
        """Return the gain of a blend over the best candidate on these rows; None if a member has none.

        That of the stack itself is found by cross-validation; others were not selected on these rows.

        Raises:
            ValueError: the metric is undefined on a part of the rows.
        """
        if blend.mean not in self._pool.means or not set(blend.members) <= {
            *self._pool.having(blend.mean)
        }:
            return None
        learned = blend is self.weights
        way = partial(self._learn, self._pool) if learned else lambda _: blend
        return held_out_gain(self._pool, self._parts, self._groups, way)


def _cross_validated(learn: _Learner, pool: CandidatePool, parts: Sequence[np.ndarray]) -> float:
    """Return the mean score over the parts of stacks that were learned on the others."""
    return sum(
        pool.score(learn(pool, others(parts, number)), part) * len(part)
        for number, part in enumerate(parts)
    )


def _learners(pool: CandidatePool) -> Iterator[_Learner]:
    for mean in pool.means:
        if len(pool.allowed(mean)) <= 1:
            continue
        learners: list[_Learner] = [_Bagging(mean)]
        if mean != "vote":
            learners = [*(_Regression(mean, penalty) for penalty in _PENALTIES), *learners]
        yield from learners
        if mean in BESIDE and len(pool.labels) <= _MOST_LABELS:
            yield from (_Decided(each) for each in learners)


@dataclass(frozen=True)
class _Decided:
    """Learns weights, and then what decides between labels: offsets of classes, or bounds of numbers.

    Each in turn is moved to where the metric is best on the same rows, twice.
    """

    learn: _Learner

    def __call__(self, pool: CandidatePool, rows: np.ndarray) -> Selection:
        found = self.learn(pool, rows)
        drawn = rows if len(rows) <= _BAG_ROWS else np.random.default_rng(_SEED).choice(rows, _BAG_ROWS)
        offsets, step = np.zeros(len(pool.labels)), 1.0
        if found.mean == "number":
            values = np.array(pool.labels, dtype=float)
            offsets, step = (values[1:] + values[:-1]) / 2, float(np.diff(values).min()) / 2
        for place in (*range(len(offsets)), *range(len(offsets))):
            moved = [offsets + step * by * (np.arange(len(offsets)) == place) for by in _MOVES]
            tried = [
                replace(found, offsets=np.sort(each) if found.mean == "number" else each)
                for each in moved
            ]
            scores = pool.score_all(tried, drawn)
            offsets = np.asarray(tried[int(np.argmax(scores))].offsets)
        return replace(found, offsets=_rounded(offsets))


@dataclass(frozen=True)
class _Bagging:
    """Greedy selection, averaged over random halves of the candidates and samples of the rows."""

    mean: str

    def __call__(self, pool: CandidatePool, rows: np.ndarray) -> Selection:
        random = np.random.default_rng(_SEED)
        usable = pool.allowed(self.mean)
        whole = np.zeros(pool.size)
        for _ in range(_BAGS):
            among = random.choice(usable, max(2, round(_BAG_SHARE * len(usable))), replace=False)
            drawn = random.choice(rows, min(len(rows), _BAG_ROWS))

            def scores(tried: list[np.ndarray], drawn: np.ndarray = drawn) -> list[float]:
                return pool.score_all([pool.shared_weights(self.mean, each) for each in tried], drawn)

            allowed = sorted(among.tolist())
            weights = greedy_weights(scores, allowed, pool.size, pool.affordable, _BAG_PICKS)
            whole += weights / weights.sum()
        kept = _affordable(pool, whole)
        return pool.shared_weights(self.mean, _rounded(np.where(kept, whole / _BAGS, 0.0)))


def _affordable(pool: CandidatePool, weights: np.ndarray) -> np.ndarray:
    """Return which candidates, the heaviest first, may be members together; shape (candidates,)."""
    kept = np.zeros(pool.size, dtype=bool)
    for number in np.argsort(-weights, kind="stable"):
        kept[number] = weights[number] > 0 and pool.affordable(kept | (np.arange(pool.size) == number))
    return kept


@dataclass(frozen=True)
class _Regression:
    """Non-negative weights with the least loss on the scale of a mean, and a penalty (ridge).

    The loss is squared; logistic for probabilities on the scale of log loss, and softmax for those of
    classes. Each of up to ten target columns has weights of its own; more, and classes, share theirs.
    """

    mean: str
    penalty: float

    def __call__(self, pool: CandidatePool, rows: np.ndarray) -> Selection:
        usable = pool.allowed(self.mean)
        weights, offsets = self._fitted(pool, rows, usable)
        totals = np.zeros(pool.size)
        totals[usable] = weights.sum(axis=1)
        kept = np.flatnonzero(_affordable(pool, totals)).tolist()
        if np.count_nonzero(totals) > len(kept) > 0:
            usable = kept
            weights, offsets = self._fitted(pool, rows, usable)
        whole = np.zeros((pool.size, len(pool.targets)))
        whole[usable] = weights
        empty = ~whole.any(axis=0)
        whole[np.array(usable)[:, None], np.flatnonzero(empty)] = 1 / len(usable)  # nothing was found
        if self.mean in ("rank", *BESIDE):  # only the order counts
            return Selection(self.mean, _rounded(whole))
        return Selection(self.mean, _rounded(whole), _rounded(np.where(empty, 0.0, offsets)))

    def _fitted(
        self, pool: CandidatePool, rows: np.ndarray, usable: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights, shape (candidates, targets), and the offsets, shape (targets,)."""
        parts = np.stack([pool.part(self.mean, number)[rows] for number in usable])
        if self.mean == "probability":
            true = pool.truth_of(rows)[pool.targets[0]].to_numpy()[:, None] == np.array(pool.labels)
            return _of_classes(parts, true.astype(float), self.penalty)[:, None], np.zeros(1)
        truth = np.asarray(cells_of(self.mean, pool.truth_of(rows)[pool.targets]), dtype=float)
        targets = truth.shape[1]
        if pool.metric.answer_kind is AnswerKind.CLASS_PROBABILITIES:
            fit = _softmax if self.mean == "log" else _of_classes
            shared = fit(parts, truth, self.penalty)
            return np.repeat(shared[:, None], targets, axis=1), np.zeros(targets)
        if self.mean != "logit":
            truth = scaled(self.mean, truth)
        fit_column = _logistic if self.mean == "logit" else _squared
        if targets > MOST_TARGETS:
            weights, offset = fit_column(*_as_one(parts, truth), self.penalty)
            return np.repeat(weights[:, None], targets, axis=1), np.full(targets, offset)
        found = [fit_column(*each, self.penalty) for each in _columns(parts, truth)]
        weights, offsets = (np.array(each) for each in zip(*found, strict=True))
        return weights.T, offsets


def _columns(parts: np.ndarray, truth: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each target the predictions, shape (rows, candidates), and the truth, where known."""
    for number, true in enumerate(truth.T):
        known = np.isfinite(true)
        yield parts[:, known, number].T, true[known]


def _as_one(parts: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all known cells as one column: predictions, shape (cells, candidates), and the truth."""
    known = np.isfinite(truth)
    return parts[:, known].T, truth[known]


def _squared(given: np.ndarray, true: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Return weights and offset with the least squared error and penalty."""
    from scipy.optimize import nnls

    middle, level = given.mean(axis=0), float(true.mean())
    equal = np.full(given.shape[1], 1 / given.shape[1])
    reach = np.sqrt(penalty * given.var(axis=0).mean() * len(true))
    left = np.concatenate([given - middle, reach * np.eye(len(equal))])
    weights, _ = nnls(left, np.concatenate([true - level, reach * equal]))
    return weights, level - float(middle @ weights)


def _of_classes(parts: np.ndarray, truth: np.ndarray, penalty: float) -> np.ndarray:
    """Return weights that all classes share, with the least squared error."""
    return _squared(parts.reshape(len(parts), -1).T, truth.ravel(), penalty)[0]


def _logistic(given: np.ndarray, true: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Return weights and offset of log odds with the least log loss and penalty."""

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        odds = given @ values[:-1] + values[-1]
        wrong = 1 / (1 + np.exp(-np.clip(odds, -500, 500))) - true
        slope = np.append(given.T @ wrong, wrong.sum()) / len(true)
        return float(np.mean(np.logaddexp(0, odds) - true * odds)), slope

    curved = float(true.var() * given.var(axis=0).mean())
    found = _least(loss, given.shape[1], penalty * curved, offset=True)
    return found[:-1], float(found[-1])


def _softmax(parts: np.ndarray, truth: np.ndarray, penalty: float) -> np.ndarray:
    """Return weights of logarithms that all classes share, with the least log loss and penalty."""
    from scipy.special import log_softmax, softmax

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = np.tensordot(values, parts, axes=1)
        wrong = softmax(mixed, axis=1) * truth.sum(axis=1, keepdims=True) - truth
        value = -(truth * log_softmax(mixed, axis=1)).sum() / len(truth)
        return float(value), np.tensordot(parts, wrong, axes=2) / len(truth)

    curved = float(truth.var(axis=0).mean() * parts.var(axis=(1, 2)).mean())
    return _least(loss, len(parts), penalty * curved, offset=False)


def _least(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]], size: int, penalty: float, *, offset: bool
) -> np.ndarray:
    """Return non-negative weights, and an offset, with the least loss and distance to equal weights."""
    from scipy.optimize import minimize

    start = np.append(np.full(size, 1 / size), [0.0] * offset)

    def penalised(values: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = loss(values)
        apart = values - start
        return value + penalty * float(apart @ apart), slope + 2 * penalty * apart

    bounds = [(0, None)] * size + [(None, None)] * offset
    return np.asarray(minimize(penalised, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Round to six significant digits."""
    return np.array([float(f"{value:.{_DIGITS}g}") for value in values.flat]).reshape(values.shape)
