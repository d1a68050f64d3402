"""Two submissions are compared on the same rows; differences within the noise are ties."""

import numpy as np
import pandas as pd
import pytest

from comind.domain.metric import Paired
from comind.metrics import METRICS
from comind.metrics.bootstrap import Bootstrap

_ROWS = 300
_RANDOM = np.random.default_rng(4)
_TRUTH = _RANDOM.normal(size=_ROWS)
_NOISE = _RANDOM.normal(size=_ROWS)


def _compare(name: str, one: np.ndarray, other: np.ndarray, truth: np.ndarray = _TRUTH) -> Paired:
    tables = (pd.DataFrame({"c": values}) for values in (truth, one, other))
    return Bootstrap(len(truth)).compare(METRICS[name], *tables)


@pytest.mark.parametrize("name", ["rmse", "mae", "pearson", "spearman", "r2"])
def test_a_clear_difference_is_a_win(name: str) -> None:
    """Half the error on every row is better in either direction, and the interval excludes zero."""
    paired = _compare(name, _TRUTH + 0.5 * _NOISE, _TRUTH + _NOISE)
    assert paired.difference > 0
    assert not paired.tie
    assert paired.interval.low > 0


@pytest.mark.parametrize("name", ["rmse", "mae", "pearson", "spearman", "r2"])
def test_a_difference_inside_the_noise_is_a_tie(name: str) -> None:
    """Errors of the same size on different rows are a tie."""
    paired = _compare(name, _TRUTH + _NOISE, _TRUTH + _NOISE[::-1])
    assert paired.tie
    assert paired.interval.low <= 0 <= paired.interval.high


@pytest.mark.parametrize("name", ["rmse", "pearson"])
def test_a_comparison_turned_around_is_its_negative(name: str) -> None:
    """Swapping the submissions changes the sign only."""
    one, other = _TRUTH + 0.9 * _NOISE, _TRUTH + _NOISE
    there, back = _compare(name, one, other), _compare(name, other, one)
    assert there.difference == pytest.approx(-back.difference)
    assert there.standard_error == pytest.approx(back.standard_error)
    assert there.interval.low == pytest.approx(-back.interval.high)


def test_a_submission_ties_with_itself() -> None:
    """Equal submissions have difference and standard error 0."""
    paired = _compare("rmse", _TRUTH + _NOISE, _TRUTH + _NOISE)
    assert (paired.difference, paired.standard_error, paired.tie) == (0.0, 0.0, True)


def test_the_same_rows_tell_more_than_two_intervals() -> None:
    """A small gain on every row is significant, although the two scores' intervals overlap."""
    one, other = _TRUTH + 0.97 * _NOISE, _TRUTH + _NOISE
    assert not _compare("rmse", one, other).tie
    metric = METRICS["rmse"]
    truth = pd.DataFrame({"c": _TRUTH})
    tables = [pd.DataFrame({"c": values}) for values in (one, other)]
    intervals = [
        Bootstrap(_ROWS).interval(metric, truth, table, metric.score(truth, table)) for table in tables
    ]
    assert intervals[0].high > intervals[1].low


def test_draws_stay_paired_where_one_has_no_value() -> None:
    """Draws on which one prediction is constant are dropped for both."""
    one = np.zeros(_ROWS)
    one[0] = 1.0  # a third of all draws miss this row
    other = np.where(np.arange(_ROWS) == 0, 1.0, 0.0)
    paired = _compare("pearson", one, other)
    assert (paired.difference, paired.standard_error) == (0.0, 0.0)
    mixed = _compare("pearson", one, _TRUTH + _NOISE)
    assert np.isfinite([mixed.standard_error, mixed.interval.low, mixed.interval.high]).all()
