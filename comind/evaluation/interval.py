"""How sure we are of a score: the bootstrap over rows."""

import numpy as np
import pandas as pd

from comind.domain.metric import Interval
from comind.evaluation.metrics import Metric

__all__ = ["bootstrap_interval"]

_RESAMPLES = 1000
_CELLS = 20_000_000
_LEVEL = 0.95
_SEED = 20260101  # fixed: the same submission always gets the same interval


def bootstrap_interval(
    metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame, value: float
) -> Interval:
    """Return the percentile interval of `metric` over resampled rows (Efron 1979).

    The point estimate always lies inside; on large tables fewer resamples are drawn, since the
    interval is narrow there and the time is not.
    """
    rows = len(truth)
    resamples = int(np.clip(_CELLS // max(rows, 1), 100, _RESAMPLES))
    generator = np.random.default_rng(_SEED)
    draws = (generator.integers(0, rows, rows) for _ in range(resamples))
    values = metric.resampled(truth, prediction, draws)
    low, high = np.quantile(values, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(low=min(float(low), value), high=max(float(high), value), level=_LEVEL)
