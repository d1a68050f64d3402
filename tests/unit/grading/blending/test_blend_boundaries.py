"""Numbers that decide how a blend is selected and judged, each at its boundary."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat

import numpy as np
import pandas as pd
import pytest

from comind.domain.metric import Interval, Paired
from comind.grading.blending.cross_fit import (
    distinct_candidates,
    fit_blend,
    most_candidates,
)
from comind.grading.blending.held_out import pooled_gain
from comind.grading.blending.selection import CandidatePool, greedy_weights, select
from comind.metrics import METRICS
from comind.metrics.metric_types import RowMetric
from tests.unit.grading.blending.pools import candidates, truth_of


class _Counted:
    """Per-row errors of a metric, which count how many blends are scored on how many rows."""

    def __init__(self, metric: RowMetric) -> None:
        self.rows: list[int] = []
        self._own = metric.rows
        self.metric = replace(metric, rows=self)

    def __call__(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        self.rows.append(len(truth))
        return self._own(truth, prediction)


def _rmse(*, by_program: bool = False) -> RowMetric:
    metric = METRICS["rmse"]
    assert isinstance(metric, RowMetric)
    return replace(metric, by_program=by_program)


def _noisy(rows: int, count: int, targets: int = 1) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    random = np.random.default_rng(0)
    truth = truth_of("rmse", rows, random, targets)
    return truth, candidates("rmse", truth, [0.5 + 0.01 * at for at in range(count)], random)


def _few(counts: np.ndarray) -> bool:
    return CandidatePool(_rmse(), *_noisy(60, 7), ["mean"]).few(counts)


def test_a_blend_has_five_members_of_twenty_picks() -> None:
    """Where each further candidate is a gain, five are picked, in twenty steps."""
    steps = []

    def score(tried: list[np.ndarray]) -> list[float]:
        steps.append(len(tried))
        return [float(np.sqrt(counts).sum()) for counts in tried]

    weights = greedy_weights(score, range(7), 7, _few)
    assert (np.count_nonzero(weights), len(steps)) == (5, 20)
    assert steps == [*repeat(7, 5), *repeat(5, 15)]


def test_by_a_program_five_picks_are_made() -> None:
    """A program scores the candidates of five steps, and then the blend by itself."""
    truth, tables = _noisy(60, 2)
    counted = _Counted(_rmse(by_program=True))
    select(CandidatePool(counted.metric, truth, tables, ["mean"]), np.arange(60))
    assert len(counted.rows) == 5 * 2 + 3


@pytest.mark.parametrize(("targets", "apart"), [(10, True), (11, False)])
def test_ten_targets_have_weights_of_their_own(targets: int, *, apart: bool) -> None:
    """Up to ten target columns have separate weights where that scores better."""
    truth, tables = _noisy(60, 3, targets)
    weights = select(CandidatePool(_rmse(), truth, tables, ["mean"]), np.arange(60)).weights
    assert bool((weights != weights[:, :1]).any()) == apart


@pytest.mark.parametrize("rows", [20_000, 20_001])
def test_a_blend_is_selected_on_at_most_20000_rows(rows: int) -> None:
    """Of more rows, 20,000 are drawn."""
    truth, [table] = _noisy(rows, 1)
    counted = _Counted(_rmse())
    select(CandidatePool(counted.metric, truth, [table], ["mean"]), np.arange(rows))
    assert {*counted.rows} == {20_000}


@pytest.mark.parametrize(
    ("cells", "by_program", "most"),
    [
        (2_500_000, False, 20),
        (2_500_001, False, 19),
        (16_666_667, False, 2),
        (50_000_001, False, 2),
        (60, True, 5),
    ],
)
def test_candidates_have_fifty_million_cells(cells: int, most: int, *, by_program: bool) -> None:
    """At most 20 candidates are read, fewer of large tables, five where a program scores them."""
    assert most_candidates(_rmse(by_program=by_program), cells) == most


@pytest.mark.parametrize(("by_program", "read"), [(False, 20), (True, 5)])
def test_no_more_candidates_are_read_than_compared(read: int, *, by_program: bool) -> None:
    """Predictions after the last candidate are not asked for."""
    truth, tables = _noisy(60, 21)
    asked = iter(tables)
    assert fit_blend(_rmse(by_program=by_program), truth, asked).candidates == read
    assert len([*asked]) == 21 - read


@pytest.mark.parametrize(("seconds", "slow"), [(10.0, False), (10.1, True)])
def test_a_program_that_is_slow_selects_no_blend(seconds: float, *, slow: bool) -> None:
    """A program that takes more than ten seconds for a score of each candidate is said to be slow."""
    truth, tables = _noisy(60, 3)

    def clock() -> Iterator[float]:
        yield from (5.0, 5.0 + seconds)

    report = fit_blend(_rmse(by_program=True), truth, tables, clock=clock().__next__)
    said = "the evaluator takes 10 s for 3 scores, too long to select by"
    assert (report.reason == said) == slow
    assert (report.gain is None) == slow


@pytest.mark.parametrize(("rows", "judged"), [(50, True), (49, False)])
def test_fifty_rows_are_halved(rows: int, *, judged: bool) -> None:
    """From 50 validation rows on there is a gain."""
    truth, tables = _noisy(rows, 2)
    assert (fit_blend(_rmse(), truth, tables).gain is not None) == judged


@pytest.mark.parametrize(("correlation", "apart"), [(0.9989, True), (0.9991, False)])
def test_errors_that_correlate_by_999_in_a_thousand_are_the_same(
    correlation: float, *, apart: bool
) -> None:
    """Candidates with a lower correlation of errors count as two."""
    one, other = np.tile([1.0, -1.0], 50), np.repeat([1.0, -1.0], 50)
    mixed = correlation * one + np.sqrt(1 - correlation**2) * other
    truth = pd.DataFrame({"t": np.zeros(100)})
    tables = [pd.DataFrame({"t": errors}) for errors in (one, mixed)]
    places, _ = distinct_candidates("mean", truth, tables, 20)
    assert places == ([0, 1] if apart else [0])


def test_a_gain_is_told_in_three_digits_with_95_per_cent() -> None:
    """The interval is 1.96 standard errors to both sides."""
    each = Paired(difference=0.123456, standard_error=0.0141421, interval=Interval(low=0, high=1))
    gain = pooled_gain([each, each], [50, 50])
    assert (gain.difference, gain.standard_error) == (0.123, 0.01)
    assert gain.interval == Interval(low=0.103, high=0.143)
    fine = Paired(difference=0.0, standard_error=1.0, interval=Interval(low=0, high=1))
    assert pooled_gain([fine], [1]).interval == Interval(low=-1.96, high=1.96)
