"""Estimate confidence intervals of scores and of their differences by resampling rows."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtrit  # scipy.stats takes a second to import

from comind.domain.metric import Interval, Paired
from comind.errors import GraderError, SubmissionError
from comind.metrics.metric_types import Metric, RowMetric

MIN_CLUSTERS = 10
"""With fewer groups, their variance cannot be estimated, so single rows are drawn."""

_RESAMPLES = 1000
_CELLS = 20_000_000
_ROWS = 20_000  # larger tables are subsampled, and the spread is rescaled
_UNSEEN = 3  # rule of three: with no error in n rows, the 95 % bound of the error rate is about 3 / n
_LEVEL = 0.95
_QUANTILE = (1 + _LEVEL) / 2
_SEED = 20260101  # fixed, so that intervals are reproducible
_HALVES, _LEAST_HALVES = 20, 5
_Z = 1.959964  # of the standard normal, two-sided 95 %


def cluster_members(clusters: np.ndarray | None) -> list[np.ndarray] | None:
    """Return the positions of each cluster's rows; None for too few clusters, or without any."""
    if clusters is None or len(np.unique(clusters)) < MIN_CLUSTERS:
        return None
    order = np.argsort(clusters, kind="stable")
    return np.split(order, np.unique(clusters[order], return_index=True)[1][1:])


class Bootstrap:
    """Bootstrap over the rows of a table, with the same draws for every submission.

    In a cluster bootstrap, rows of a group (such as one speaker, one day) are drawn together, because
    their errors are not independent.
    """

    def __init__(self, rows: int, clusters: np.ndarray | None = None) -> None:
        """Prepare for tables of `rows` rows; `clusters` has the group number of each, shape (rows,)."""
        self._rows = rows
        self._drawn = min(rows, _ROWS)
        members = cluster_members(clusters)
        if members is not None:
            self._drawn = rows
        self._members = members
        self._units = len(members) if members else rows
        self._count = int(np.clip(_CELLS // max(self._drawn, 1), 100, _RESAMPLES))

    def interval(
        self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame, value: float
    ) -> Interval:
        """Return the 95 % confidence interval of a score (percentile bootstrap, Efron 1979).

        It is widened for few rows (Hesterberg 2015, section 4.4). For a mean of bounded values it also
        covers the t interval with one best and one worst pseudo-row, so that 20 of 20 correct answers
        are not certain; for other metrics at their best value, the rule of three applies. The interval
        always contains the point estimate.
        """
        values = metric.score_draws(truth, prediction, self._draws())
        spread = _LEVEL
        if self._units > 1:
            widened = stdtrit(self._units - 1, _QUANTILE) * np.sqrt(self._units / (self._units - 1))
            spread = float(2 * ndtr(widened) - 1)
        low, high = self._quantiles(values, value, spread)
        if isinstance(metric, RowMetric) and metric.row_bounds and truth.notna().all(axis=None):
            rows = metric.rows(truth, prediction)[:, 0]
            wide = _with_pseudo_rows(rows, *metric.row_bounds)
            low, high = min(low, wide[0]), max(high, wide[1])
        elif metric.maximize and value == metric.best:
            low = min(low, value - min(1.0, _UNSEEN / self._units))
        return Interval(low=min(low, value), high=max(high, value), level=_LEVEL)

    def compare(
        self, metric: Metric, truth: pd.DataFrame, one: pd.DataFrame, other: pd.DataFrame
    ) -> Paired:
        """Return how much better `one` is than `other`, by a paired bootstrap."""
        sign = 1.0 if metric.maximize else -1.0
        value = sign * (metric.score(truth, one) - metric.score(truth, other))
        first = metric.score_draws(truth, one, self._draws())
        second = metric.score_draws(truth, other, self._draws())
        with np.errstate(invalid="ignore"):
            differences = sign * (first - second)
        known = differences[np.isfinite(differences)]
        error = float(known.std(ddof=1)) * self._scale() if len(known) > 1 else 0.0
        low, high = self._quantiles(differences, value, _LEVEL)
        return Paired(difference=value, standard_error=error, interval=Interval(low=low, high=high))

    def _draws(self) -> Iterator[np.ndarray]:
        generator = np.random.default_rng(_SEED)
        for _ in range(self._count):
            if self._members is None:
                yield generator.integers(0, self._rows, self._drawn)
            else:
                chosen = generator.integers(0, len(self._members), len(self._members))
                yield np.concatenate([self._members[number] for number in chosen])

    def _scale(self) -> float:
        return float(np.sqrt(self._drawn / self._rows))

    def _quantiles(self, values: np.ndarray, value: float, level: float) -> tuple[float, float]:
        """Return bounds around `value` from the quantiles of the bootstrap `values`."""
        values = values[np.isfinite(values)]
        if not len(values):
            return value, value
        middle = float(np.median(values))
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
        return (
            value + (float(low) - middle) * self._scale(),
            value + (float(high) - middle) * self._scale(),
        )


class HalfSamples:
    """Random halves of the rows, or of their groups, drawn without replacement.

    For programs, which refuse repeated rows: the half-sample variance (McCarthy 1969).
    """

    def __init__(self, rows: int, clusters: np.ndarray | None = None) -> None:
        """Prepare for tables of `rows` rows; `clusters` has the group number of each, shape (rows,)."""
        self._units = cluster_members(clusters) or np.arange(rows)[:, None]

    @cached_property
    def halves(self) -> list[np.ndarray]:
        """The positions of each half, ascending."""
        random, units = np.random.default_rng(0), self._units
        chosen = (random.permutation(len(units))[: len(units) // 2] for _ in range(_HALVES))
        return [np.sort(np.concatenate([units[at] for at in half])) for half in chosen]

    def interval(
        self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame, value: float
    ) -> Interval:
        """Return the 95 % normal interval, clipped at the score of the truth.

        Raises:
            SubmissionError: too few halves have a score.
            GraderError: the truth has none.
        """
        margin = _Z * _half_sample_error(metric.score_draws(truth, prediction, self.halves) - value)
        try:
            perfect = metric.score(truth, truth)
        except ValueError as error:
            raise GraderError(f"the evaluator has no score for the truth: {error}") from None
        if metric.maximize:
            return Interval(low=value - margin, high=max(value, min(value + margin, perfect)))
        return Interval(low=min(value, max(value - margin, perfect)), high=value + margin)

    def compare(
        self, metric: Metric, truth: pd.DataFrame, one: pd.DataFrame, other: pd.DataFrame
    ) -> Paired:
        """Return the paired difference, on the same halves.

        Raises:
            SubmissionError: one of them has no score, or on too few halves.
        """
        sign = 1 if metric.maximize else -1
        try:
            value = sign * (metric.score(truth, one) - metric.score(truth, other))
        except ValueError as error:
            raise SubmissionError(str(error)) from None
        scores = [metric.score_draws(truth, each, self.halves) for each in (one, other)]
        spread = _half_sample_error(sign * (scores[0] - scores[1]) - value)
        around = Interval(low=value - _Z * spread, high=value + _Z * spread)
        return Paired(difference=value, standard_error=spread, interval=around)


def resampling(metric: Metric, rows: int, clusters: np.ndarray | None = None) -> Bootstrap | HalfSamples:
    """Return the resampling of tables of `rows` rows that suits a metric."""
    return (HalfSamples if metric.by_program else Bootstrap)(rows, clusters)


def _half_sample_error(deviations: np.ndarray) -> float:
    """Return the standard error from the deviations of half-sample scores.

    Raises:
        SubmissionError: too few halves have a score.
    """
    known = deviations[np.isfinite(deviations)]
    if len(known) < _LEAST_HALVES:
        raise SubmissionError("the evaluator gives no scores for halves of the rows")
    return float(np.sqrt(np.mean(known**2)))


def _with_pseudo_rows(values: np.ndarray, least: float, most: float) -> tuple[float, float]:
    """Return the t interval of the mean of `values` with one worst and one best pseudo-row added."""
    more = np.concatenate([values, [least, most]])
    reach = float(stdtrit(len(more) - 1, _QUANTILE) * more.std(ddof=1) / np.sqrt(len(more)))
    middle = float(more.mean())
    return max(least, middle - reach), min(most, middle + reach)
