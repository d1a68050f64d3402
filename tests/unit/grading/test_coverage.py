"""95 % intervals cover the true value in about 95 % of all cases, on few rows and on many."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from comind.metrics import METRICS
from comind.metrics.bootstrap import Bootstrap

pytestmark = pytest.mark.slow

_Pair = tuple[np.ndarray, np.ndarray]
_WORLDS = 200


def _labels(random: np.random.Generator, rows: int) -> _Pair:
    right = random.uniform(size=rows) < 0.85
    return np.full(rows, "yes"), np.where(right, "yes", "no")


def _numbers(random: np.random.Generator, rows: int) -> _Pair:
    truth = random.normal(size=rows)
    return truth, truth + random.normal(size=rows)


def _probabilities(random: np.random.Generator, rows: int) -> _Pair:
    p = 1 / (1 + np.exp(-1.5 * random.normal(size=rows)))
    truth = (random.uniform(size=rows) < p).astype(float)
    truth[:2] = 0, 1
    return truth, p


_DRAW: dict[str, Callable[[np.random.Generator, int], _Pair]] = {
    "accuracy": _labels,
    "rmse": _numbers,
    "log-loss": _probabilities,
    "roc-auc": _probabilities,
}


@pytest.mark.parametrize("rows", [40, 150, 600])
@pytest.mark.parametrize("name", _DRAW)
def test_intervals_are_honest(name: str, rows: int) -> None:
    """About 95 % of the intervals of many samples cover the population's value."""
    metric, random = METRICS[name], np.random.default_rng(20)
    large = [pd.DataFrame({"c": side}) for side in _DRAW[name](random, 400_000)]
    true_value = metric.score(*large)
    resampling = Bootstrap(rows)
    resampling._count = 200  # enough to see it, and five times as fast
    held = 0
    for _ in range(_WORLDS):
        tables = [pd.DataFrame({"c": side}) for side in _DRAW[name](random, rows)]
        interval = resampling.interval(metric, tables[0], tables[1], metric.score(*tables))
        held += interval.low <= true_value <= interval.high
    assert 0.9 <= held / _WORLDS <= 0.99
