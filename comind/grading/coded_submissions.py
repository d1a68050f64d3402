"""Find submissions that query sealed labels: their validation predictions become right row by row.

A submission that is a code (docs/security.md) gives some rows predictions whose errors can be read from
the score; later ones keep what was read. A model cannot do that to validation rows alone, as it does not
know which rows are validation rows: what it changes, it changes for test rows, too. So three things
together are a sign: at several steps predictions change for a part of the validation rows and for hardly
any test row; in sum these rows have become right; and next to none of them has become wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Metric

_QUERIES = 3  # steps that change predictions for validation rows, and hardly for test rows
_MOST_CHANGED = 0.6  # of the validation rows in such a step; another model changes more
_FEWER = 3.0  # times as many validation rows change as test rows
_DEVIATION = 5.0  # standard errors of the difference of both shares
_LEAST_CORRECTED, _MOST_BROKEN = 10, 0.1  # rows; broken ones as a share of corrected ones
_RIGHT = 0.85  # of the changed rows at the end
_UNSURE, _SURE, _NEAR = 0.8, 0.98, 0.05  # probabilities of the likelier class; distance from the truth
_MOVED, _CLOSE = 0.2, 0.02  # of numbers, as shares of the true values between two
_OTHER = 0.05  # a test prediction that differs by less has not changed

LEAST_STEPS = 1 + _QUERIES
"""Fewer scored steps show no pattern."""


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Predictions of a submission by cell or row."""

    places: np.ndarray
    """Codes of labels, probabilities of the likelier class, or shares of the true values below."""
    right: np.ndarray
    """Whether a prediction is right; empty for test rows."""
    exact: np.ndarray
    """As `places`, but of probabilities those of all classes, shape (rows, classes)."""

    def of(self, known: "np.ndarray | slice") -> Self:
        """Return the predictions whose true value is known: the score says nothing of others."""
        return replace(self, places=self.places[known], right=self.right[known])


_Moved = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(places now, places before) -> which predictions changed."""


def find_coded(
    metric: Metric, truth: pd.DataFrame, steps: Sequence[tuple[pd.DataFrame, pd.DataFrame]]
) -> tuple[str, ...]:
    """Return for each scored step of an attempt why it looks like a query of labels; empty if not.

    `steps` are the parsed submissions for validation and test rows, oldest first.
    """
    reasons = [""] * len(steps)
    read = _reader(metric, truth, steps) if len(steps) >= LEAST_STEPS else None
    if read is None:
        return tuple(reasons)
    sheet, moved = read
    known = truth.notna().to_numpy()
    scored = slice(None) if known.all() else known.ravel()
    validation = [sheet(table, truth).of(scored) for table, _ in steps]
    test = [sheet(table, None) for _, table in steps]
    touched = np.zeros(len(validation[0].right), dtype=bool)
    queries, start = 0, 0
    for step in range(1, len(steps)):
        own, others = (moved(each[step].places, each[step - 1].places) for each in (validation, test))
        if 0 < own.mean() <= _MOST_CHANGED and others.mean() <= own.mean() / _FEWER:
            start = start if queries else step - 1
            queries += bool((own & ~touched).any())
            touched |= own
        if queries >= _QUERIES:
            before, now = (validation[each].right[touched] for each in (start, step))
            found = _learnt(before, now, touched, _changed(test[start].exact, test[step].exact))
            reasons[step] = f"over {queries} steps {found}" if found else ""
    return tuple(reasons)


def _changed(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return which rows of a test submission are others."""
    return np.asarray((np.abs(now - before) > _OTHER).reshape(len(now), -1).any(axis=1))


def _learnt(before: np.ndarray, now: np.ndarray, touched: np.ndarray, changed: np.ndarray) -> str:
    """Return what became of the touched validation predictions and the test rows, if labels were read.

    `before` and `now` say which touched predictions were right.
    """
    corrected, broken = int((now & ~before).sum()), int((before & ~now).sum())
    right = now.mean() >= _RIGHT and corrected >= _LEAST_CORRECTED
    if not right or broken > _MOST_BROKEN * corrected or not _exceeds(touched, changed):
        return ""
    return (
        f"{corrected} of {len(touched)} predictions for validation rows became right and {broken} "
        f"wrong, while those for {changed.mean():.0%} of the test rows changed"
    )


def _exceeds(own: np.ndarray, others: np.ndarray) -> bool:
    """Return whether a far larger share of `own` is true than of `others`."""
    both = (own.sum() + others.sum()) / (len(own) + len(others))
    error = np.sqrt(both * (1 - both) * (1 / len(own) + 1 / len(others)))
    gap = own.mean() - others.mean()
    return bool(others.mean() <= own.mean() / _FEWER and gap > _DEVIATION * error)


def _reader(
    metric: Metric, truth: pd.DataFrame, steps: Sequence[tuple[pd.DataFrame, pd.DataFrame]]
) -> tuple[Callable[[pd.DataFrame, pd.DataFrame | None], _Sheet], _Moved] | None:
    """Return how predictions of this kind are read and compared; None if they cannot be."""
    if metric.answer_kind is AnswerKind.CLASS_PROBABILITIES:
        return _distributions, _became_sure
    if metric.answer_kind is AnswerKind.PROBABILITY:
        tables = [table.to_numpy(dtype=float) for step in steps for table in step]
        if all(table.min() >= 0 and table.max() <= 1 for table in tables):
            return _probabilities, _became_sure
        return _ranks(float(np.nanmean(truth.to_numpy(dtype=float)))), np.not_equal
    if metric.answer_kind is AnswerKind.NUMBER:
        values = truth.to_numpy(dtype=float)
        return _numbers(np.sort(values[~np.isnan(values)])), _went_far
    return (_labels(truth, steps), np.not_equal) if metric.answer_kind is AnswerKind.LABEL else None


def _became_sure(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    return np.asarray((before <= _UNSURE) & (now >= _SURE))


def _went_far(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(now - before) > _MOVED)


def _distributions(table: pd.DataFrame, truth: pd.DataFrame | None) -> _Sheet:
    p = table.to_numpy(dtype=float)
    p = p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    right = np.empty(0) if truth is None else (p * truth.to_numpy(dtype=float)).sum(axis=1) >= 1 - _NEAR
    return _Sheet(p.max(axis=1), right, p)


def _probabilities(table: pd.DataFrame, truth: pd.DataFrame | None) -> _Sheet:
    p = table.to_numpy(dtype=float).ravel()
    right = np.empty(0) if truth is None else np.abs(p - truth.to_numpy(dtype=float).ravel()) <= _NEAR
    return _Sheet(np.maximum(p, 1 - p), right, p)


def _ranks(positives: float) -> Callable[[pd.DataFrame, pd.DataFrame | None], _Sheet]:
    """Return how scores without a scale are read: the highest ones, as many as are positive, or not."""

    def sheet(table: pd.DataFrame, truth: pd.DataFrame | None) -> _Sheet:
        ranks = table.rank(method="first", pct=True).to_numpy(dtype=float).ravel()
        high = ranks > 1 - positives
        right = np.empty(0) if truth is None else high == (truth.to_numpy(dtype=float).ravel() > 0)
        return _Sheet(high, right, high.astype(float))

    return sheet


def _numbers(known: np.ndarray) -> Callable[[pd.DataFrame, pd.DataFrame | None], _Sheet]:
    """Return how numbers are read: by their place among the sorted true values, from 0 to 1."""

    def places(table: pd.DataFrame) -> np.ndarray:
        cells = table.to_numpy(dtype=float).ravel()
        ends = (np.searchsorted(known, cells, side) for side in ("left", "right"))
        return np.asarray(sum(ends) / (2 * len(known)))

    def sheet(table: pd.DataFrame, truth: pd.DataFrame | None) -> _Sheet:
        found = places(table)
        right = np.empty(0) if truth is None else np.abs(found - places(truth)) <= _CLOSE
        return _Sheet(found, right, found)

    return sheet


def _labels(
    truth: pd.DataFrame, steps: Sequence[tuple[pd.DataFrame, pd.DataFrame]]
) -> Callable[[pd.DataFrame, pd.DataFrame | None], _Sheet]:
    """Return how labels are read: by their number among all labels."""
    cells = [table.to_numpy().ravel() for table in (truth, *(each for step in steps for each in step))]
    names = pd.Index(pd.unique(np.concatenate(cells)))

    def codes(table: pd.DataFrame) -> np.ndarray:
        return np.asarray(names.get_indexer(table.to_numpy().ravel()))

    def sheet(table: pd.DataFrame, truth: pd.DataFrame | None) -> _Sheet:
        found = codes(table)
        right = np.empty(0) if truth is None else found == codes(truth)
        return _Sheet(found, right, found.astype(float))

    return sheet
