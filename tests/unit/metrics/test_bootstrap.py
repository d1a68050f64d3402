"""Confidence intervals by bootstrap: valid on few rows, with the same draws for every submission."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.metric import Interval
from comind.metrics import METRICS
from comind.metrics.bootstrap import Bootstrap
from tests.examples import examples
from tests.unit.metrics.samples import random_sample

pytestmark = pytest.mark.slow


def _interval(
    name: str, truth: np.ndarray, prediction: np.ndarray, clusters: np.ndarray | None = None
) -> Interval:
    metric = METRICS[name]
    tables = pd.DataFrame({"c": truth}), pd.DataFrame({"c": prediction})
    return Bootstrap(len(truth), clusters).interval(metric, *tables, metric.score(*tables))


def _width(interval: Interval) -> float:
    return interval.high - interval.low


def _right(rows: int, wrong: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of which `wrong` are predicted wrong."""
    truth = np.array(["1", "0"] * (rows // 2))
    return truth, np.where(np.arange(rows) < wrong, "?", truth)


@pytest.mark.parametrize("name", METRICS)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(3, 30))
@examples(5)
def test_an_interval_contains_the_score(name: str, seed: int, rows: int) -> None:
    """The interval is finite and contains the score, for every metric and any number of rows."""
    sample = random_sample(METRICS[name], seed, rows=rows)
    truth, prediction = sample.parsed()
    score = sample.score()
    interval = Bootstrap(rows).interval(sample.metric, truth, prediction, score)
    assert interval.low <= score <= interval.high
    assert np.isfinite([interval.low, interval.high]).all()


@pytest.mark.parametrize("name", ["accuracy", "macro-f1"])
def test_an_interval_is_wider_on_fewer_rows(name: str) -> None:
    """With a hundred times the rows, the interval is about ten times narrower."""
    widths = [_width(_interval(name, *_right(rows, rows // 4))) for rows in (40, 400, 4000, 40_000)]
    for wide, narrow in pairwise(widths):
        assert wide / narrow == pytest.approx(np.sqrt(10), rel=0.25)


@pytest.mark.parametrize("name", ["accuracy", "exact-match", "f1", "macro-f1", "matthews-correlation"])
@pytest.mark.parametrize("rows", [20, 200])
def test_nothing_wrong_is_not_certainty(name: str, rows: int) -> None:
    """With all rows correct, the lower bound allows about three errors in `rows` (rule of three)."""
    interval = _interval(name, *_right(rows, 0))
    assert interval.high == 1.0
    assert 1 - 6 / rows < interval.low < 1 - 2 / rows


def test_the_same_submission_always_gets_the_same_interval() -> None:
    """The draws are reproducible: two gradings of one file are equal."""
    assert _interval("accuracy", *_right(100, 20)) == _interval("accuracy", *_right(100, 20))


def test_rows_that_belong_together_are_drawn_together() -> None:
    """Twenty groups of fifty equal rows give the interval of twenty rows, not of a thousand."""
    clusters = np.repeat(np.arange(20), 50)
    truth = np.full(1000, "yes")
    prediction = np.where(clusters % 4 == 0, "no", "yes")
    apart = _interval("accuracy", truth, prediction)
    together = _interval("accuracy", truth, prediction, clusters)
    assert _width(together) / _width(apart) == pytest.approx(np.sqrt(50), rel=0.25)
    shuffled = np.random.default_rng(0).permutation(1000)
    again = _interval("accuracy", truth[shuffled], prediction[shuffled], clusters[shuffled])
    assert _width(again) == pytest.approx(_width(together), rel=0.1)


def test_too_few_groups_are_drawn_by_rows() -> None:
    """With three groups, single rows are drawn."""
    truth, prediction = _right(300, 60)
    clusters = np.arange(300) % 3
    assert _interval("accuracy", truth, prediction, clusters) == _interval("accuracy", truth, prediction)


@pytest.mark.parametrize("clusters", [None, np.arange(200_000) % 5000], ids=["rows", "groups"])
def test_a_large_set_is_drawn_in_part_and_told_right(clusters: np.ndarray | None) -> None:
    """Large tables are subsampled, and the width is rescaled to all rows."""
    resampling = Bootstrap(200_000, clusters)
    assert resampling._count * resampling._drawn <= 20_000_000
    interval = _interval("accuracy", *_right(200_000, 50_000), clusters)
    expected = 2 * 1.96 * np.sqrt(0.25 * 0.75 / 200_000)
    assert _width(interval) == pytest.approx(expected, rel=0.25)


def test_draws_that_overflow_are_left_out() -> None:
    """Values whose squares overflow do not break the grading."""
    truth = np.zeros(50)
    prediction = truth.copy()
    prediction[0] = 1e154
    interval = _interval("mse", truth, prediction)
    assert np.isfinite([interval.low, interval.high]).all()
