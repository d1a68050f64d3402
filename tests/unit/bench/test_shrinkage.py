"""Validation scores against scores on the true answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from comind.bench.shrinkage import measure_shrinkage, spearman
from tests.unit.bench.benches import bench, run, whole_bench


@pytest.mark.parametrize(("maximize", "expected"), [(True, 0.1), (False, -0.1)])
def test_shrinkage_is_positive_if_validation_was_better(maximize: bool, expected: float) -> None:
    """The sign follows the metric's direction."""
    runs = [run("base", "a", 0, score=0.5, validation_score=0.6, maximize=maximize)]
    found = measure_shrinkage(bench(runs, ("base",)))
    assert found.runs[0].shrinkage == pytest.approx(expected)
    assert found.arms[0].validation_better == int(maximize)
    assert found.runs[0].standard_score is None
    assert found.arms[0].median_standard is None


def test_standard_scores_are_larger_if_better() -> None:
    """Scores in standard deviations are comparable across metrics: the best run has the largest."""
    runs = [
        run("base", "a", seed, score=score, validation_score=score - 1, maximize=False)
        for seed, score in enumerate((1.0, 2.0, 3.0))
    ]
    found = measure_shrinkage(bench(runs, ("base",)))
    assert [row.standard_score for row in found.runs] == pytest.approx([1, 0, -1])
    assert [row.standard_validation for row in found.runs] == pytest.approx([2, 1, 0])
    assert found.arms[0].median_standard == pytest.approx(1)
    assert found.mean_correlation == pytest.approx(1)


def test_runs_without_a_score_are_left_out_and_counted() -> None:
    """Invalid runs and runs without a validation score are counted."""
    runs = [
        run("base", "a", 0, validation_score=0.1),
        run("base", "a", 1),
        run("base", "a", 2, valid=False, win_rate=0, validation_score=0.3),
    ]
    found = measure_shrinkage(bench(runs, ("base",)))
    assert (len(found.runs), found.left_out, found.competitions[0].correlation) == (1, 2, None)


def test_every_competition_has_an_agreement() -> None:
    """Ranks are compared within a competition, over the runs of all arms."""
    found = measure_shrinkage(whole_bench())
    assert [each.runs for each in found.competitions] == [9] * 8
    assert found.mean_correlation is not None
    assert found.mean_correlation > 0.3


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12))
def test_the_correlation_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    """It is scipy's, ties included; equal values have none."""
    first, second = np.array(pairs, dtype=float).T
    found = spearman(first, second)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        assert found is None
    else:
        assert found == pytest.approx(float(spearmanr(first, second).statistic))


def test_two_runs_have_no_correlation() -> None:
    """The correlation of two runs is not computed."""
    assert spearman(np.array([1.0, 2.0]), np.array([1.0, 2.0])) is None
