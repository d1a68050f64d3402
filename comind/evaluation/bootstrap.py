"""How sure we are of a score, and of the difference of two: the bootstrap over rows."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtrit  # scipy.stats takes a second to import

from comind.domain.metric import Interval, Paired
from comind.evaluation.metrics.base import Metric, RowMetric

__all__ = ["FEW_ROWS", "MIN_CLUSTERS", "Bootstrap"]

MIN_CLUSTERS = 10
"""Fewer groups say too little about how groups differ, so rows are drawn for themselves."""
FEW_ROWS = 100
"""Up to here a score is called uncertain wherever it is shown."""

_RESAMPLES = 1000
_CELLS = 20_000_000
_ROWS = 20_000  # of larger tables a part is drawn, and the spread scaled to the whole
_UNSEEN = 3  # of n rows that are all right, at 95 %: 1 - 0.05 ** (1 / n) is about 3 / n
_LEVEL = 0.95
_QUANTILE = (1 + _LEVEL) / 2
_SEED = 20260101  # fixed: the same submission always gets the same interval


class Bootstrap:
    """Draws rows again and again, the same draws for every submission to the same rows.

    Rows that belong together (a group split: the rows of one speaker, one day) are drawn together, as
    their errors are not independent.
    """

    def __init__(self, rows: int, clusters: np.ndarray | None = None) -> None:
        """Prepare for tables of `rows` rows; `clusters` numbers the group of each, shape (rows,)."""
        self._rows = rows
        self._drawn = min(rows, _ROWS)
        members = None
        if clusters is not None and len(np.unique(clusters)) >= MIN_CLUSTERS:
            order = np.argsort(clusters, kind="stable")
            members = np.split(order, np.unique(clusters[order], return_index=True)[1][1:])
            self._drawn = rows
        self._members = members
        self._units = len(members) if members else rows
        self._count = int(np.clip(_CELLS // max(self._drawn, 1), 100, _RESAMPLES))

    def interval(
        self, metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame, value: float
    ) -> Interval:
        """Return the interval of `metric` at 95 % (percentile bootstrap, Efron 1979).

        Its width is expanded for few rows (Hesterberg 2015, section 4.4). A mean of bounded values
        is also taken with one best and one worst row more, so that twenty right answers out of twenty
        are not taken for certainty; where another metric is at its best, up to three rows in all may
        be wrong unseen (the rule of three). The point estimate always lies inside.
        """
        values = metric.score_draws(truth, prediction, self._draws())
        spread = _LEVEL
        if self._units > 1:
            widened = stdtrit(self._units - 1, _QUANTILE) * np.sqrt(self._units / (self._units - 1))
            spread = float(2 * ndtr(widened) - 1)
        low, high = self._quantiles(values, value, spread)
        if isinstance(metric, RowMetric) and metric.row_bounds:
            rows = metric.rows(truth, prediction)[:, 0]
            wide = _with_pseudo_rows(rows, *metric.row_bounds)
            low, high = min(low, wide[0]), max(high, wide[1])
        elif metric.maximize and value == metric.best:
            low = min(low, value - min(1.0, _UNSEEN / self._units))
        return Interval(low=min(low, value), high=max(high, value), level=_LEVEL)

    def compare(
        self, metric: Metric, truth: pd.DataFrame, one: pd.DataFrame, other: pd.DataFrame
    ) -> Paired:
        """Return how much better `one` is than `other`, from paired draws of the same rows."""
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
        """Return the bounds around `value` that the spread of `values` gives."""
        values = values[np.isfinite(values)]
        if not len(values):
            return value, value
        middle = float(np.median(values))
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
        return (
            value + (float(low) - middle) * self._scale(),
            value + (float(high) - middle) * self._scale(),
        )


def _with_pseudo_rows(values: np.ndarray, least: float, most: float) -> tuple[float, float]:
    """Return the t interval of the mean of `values` and one worst and one best value more."""
    more = np.concatenate([values, [least, most]])
    reach = float(stdtrit(len(more) - 1, _QUANTILE) * more.std(ddof=1) / np.sqrt(len(more)))
    middle = float(more.mean())
    return max(least, middle - reach), min(most, middle + reach)
