"""A stack learns weights on out-of-fold rows, and is judged on rows that it was not learned on."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.grading.blending.cross_fit import OutOfFold, fit_blend
from comind.grading.blending.selection import (
    FREE,
    MOST_MEMBERS,
    CandidatePool,
    Costs,
    supported_means,
)
from comind.grading.blending.stacking import Stack
from comind.grading.grader_port import BlendReport
from comind.metrics import METRICS
from tests.examples import examples
from tests.unit.grading.blending.pools import KINDS, candidates, truth_of

pytestmark = pytest.mark.slow

_RMSE = METRICS["rmse"]


def _rows(
    metric: str, seed: int, noise: list[float], rows: int, targets: int = 1
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    random = np.random.default_rng(seed)
    truth = truth_of(metric, rows, random, targets)
    return truth, candidates(metric, truth, noise, random)


def _pool(
    metric: str, seed: int, noise: list[float], rows: int = 400, costs: Costs = FREE, targets: int = 1
) -> CandidatePool:
    truth, tables = _rows(metric, seed, noise, rows, targets)
    return CandidatePool(METRICS[metric], truth, tables, supported_means(METRICS[metric]), costs)


def _fitted(
    metric: str, noise: list[float], *, validation: int = 200, out_of_fold: int = 800
) -> tuple[BlendReport, float, float]:
    """Return a stack's report, its score on fresh rows, and that of the best candidate there."""
    truth, tables = _rows(metric, 0, noise, validation)
    others, predicted = _rows(metric, 1, noise, out_of_fold)
    report = fit_blend(
        METRICS[metric], truth, tables, out_of_fold=OutOfFold(others, dict(enumerate(predicted)))
    )
    fresh = _pool(metric, 2, noise, 4000)
    stack = fresh.selection_of(report)
    singles = [fresh.shared_weights(fresh.means[0], one) for one in np.eye(len(noise), dtype=int)]
    rows = np.arange(4000)
    return report, fresh.score(stack, rows), max(fresh.score_all(singles, rows))


@pytest.mark.parametrize("metric", KINDS)
def test_a_stack_is_better_than_the_best_candidate_on_fresh_rows(metric: str) -> None:
    """More than five candidates with errors of their own are stacked, for every kind of metric."""
    report, score, best = _fitted(metric, [0.8] * 8)
    assert report.reason == ""
    assert report.stacked
    assert report.out_of_fold_rows == 800
    assert len(report.members) > MOST_MEMBERS
    assert score > best


def test_weights_and_offset_are_those_of_a_regression() -> None:
    """Of a truth that is a weighted sum of two candidates and a constant, these are found."""
    random = np.random.default_rng(0)
    one, other = (pd.DataFrame({"t0": random.normal(0, 1, 5000)}) for _ in range(2))
    truth = 0.7 * one + 0.2 * other + 0.5 + random.normal(0, 0.1, (5000, 1))
    found = Stack(CandidatePool(_RMSE, truth, [one, other], ["mean"]), None).weights
    assert found.weights[:, 0] == pytest.approx([0.7, 0.2], abs=0.01)
    assert found.offsets == pytest.approx([0.5], abs=0.02)


def test_columns_have_weights_of_their_own() -> None:
    """Candidates that are each good at one target get separate weights for each target."""
    random = np.random.default_rng(1)
    truth = pd.DataFrame(random.normal(0, 1, (500, 2)), columns=["t0", "t1"])
    good, poor = random.normal(0, 0.1, (500, 2)), random.normal(0, 2, (500, 2))
    first = truth + np.stack([good[:, 0], poor[:, 0]], axis=1)
    second = truth + np.stack([poor[:, 1], good[:, 1]], axis=1)
    weights = Stack(CandidatePool(_RMSE, truth, [first, second], ["mean"]), None).weights.weights
    assert weights[0, 0] > 10 * weights[1, 0]
    assert weights[1, 1] > 10 * weights[0, 1]


@examples(10)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 1000),
    st.lists(st.floats(0.1, 2.0), min_size=2, max_size=7),
    st.floats(3.0, 40.0),
)
def test_members_are_paid_for_and_weigh_nothing_negative(
    metric: str, seed: int, noise: list[float], most: float
) -> None:
    """Weights are finite and not negative, and members take no longer than they may."""
    costs = Costs([float(number + 1) for number in range(len(noise))], most)
    found = Stack(_pool(metric, seed, noise, 120, costs), None).weights
    assert np.isfinite(found.weights).all()
    assert (found.weights >= 0).all()
    assert found.members
    assert costs.allow(found.members)


def test_candidates_without_out_of_fold_predictions_are_no_members() -> None:
    """Only candidates with predictions for the rows are stacked; one alone is none."""
    truth, tables = _rows("rmse", 0, [0.5] * 4, 200)
    others, predicted = _rows("rmse", 1, [0.5] * 4, 400)
    some = OutOfFold(others, {place: predicted[place] for place in (1, 3)})
    report = fit_blend(_RMSE, truth, tables, out_of_fold=some)
    stack = Stack(CandidatePool(_RMSE, others, [None, predicted[1], None, predicted[3]], ["mean"]), None)
    assert stack.weights.members in ([1, 3], [3, 1])
    assert report.reason == ""
    assert not report.stacked
    alone = fit_blend(_RMSE, truth, tables, out_of_fold=OutOfFold(others, {1: predicted[1]}))
    assert alone == fit_blend(_RMSE, truth, tables)


@pytest.mark.parametrize("seed", range(3))
def test_the_weights_of_a_stack_tell_nothing_of_sealed_labels(seed: int) -> None:
    """Other validation labels change which blend is taken and its gain, not the weights of a stack."""
    noise = [0.8] * 6
    truth, tables = _rows("rmse", 0, noise, 200)
    others, predicted = _rows("rmse", 1, noise, 800)
    rows = OutOfFold(others, dict(enumerate(predicted)))
    first = fit_blend(_RMSE, truth, tables, out_of_fold=rows)
    changed = truth + np.random.default_rng(seed).normal(0, 0.3, truth.shape)
    second = fit_blend(_RMSE, changed, tables, out_of_fold=rows)
    assert first.out_of_fold_rows == second.out_of_fold_rows == 800
    as_told = [sorted(zip(each.members, each.weights, strict=True)) for each in (first, second)]
    assert as_told[0] == as_told[1]
    assert first.gain != second.gain


def test_a_stack_of_predictions_of_rows_that_were_learned_from_is_not_taken() -> None:
    """Where a bad candidate knows the out-of-fold rows, validation rejects the stack."""
    noise = [0.5, 0.5, 3.0]
    truth, tables = _rows("rmse", 0, noise, 400)
    others, predicted = _rows("rmse", 1, noise, 400)
    predicted[2] = others
    report = fit_blend(_RMSE, truth, tables, out_of_fold=OutOfFold(others, dict(enumerate(predicted))))
    assert report.reason
    assert not report.stacked


def test_groups_are_in_one_part() -> None:
    """A stack is judged on whole groups: with groups, the error of its gain is that of groups."""
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 10)
    truth = pd.DataFrame({"t0": np.repeat(random.normal(0, 1, 40), 10)})
    alike = [truth + np.repeat(random.normal(0, 0.5, 40), 10)[:, None] for _ in range(3)]
    pool = CandidatePool(_RMSE, truth, alike, ["mean"])
    gains = [stack.gain(stack.weights) for stack in (Stack(pool, groups), Stack(pool, None))]
    assert gains[0] is not None
    assert gains[1] is not None
    assert gains[0].standard_error > 1.5 * gains[1].standard_error


def test_a_candidate_that_takes_too_long_is_no_member() -> None:
    """The best candidate may be too expensive to be refitted; the others are stacked without it."""
    truth, tables = _rows("rmse", 0, [0.4, *[0.5] * 4], 200)
    others, predicted = _rows("rmse", 1, [0.4, *[0.5] * 4], 800)
    rows = OutOfFold(others, dict(enumerate(predicted)))
    costs = Costs([100.0, *[10.0] * 4], 50.0)
    report = fit_blend(_RMSE, truth, tables, out_of_fold=rows, costs=costs)
    assert report.reason == ""
    assert sorted(report.members) == [1, 2, 3, 4]


def test_a_best_candidate_without_out_of_fold_predictions_is_what_a_stack_is_compared_with() -> None:
    """Weak candidates that gain over each other are no gain over the best one, which has none."""
    noise = [0.2, *[1.5] * 4]
    truth, tables = _rows("rmse", 0, noise, 200)
    others, predicted = _rows("rmse", 1, noise, 800)
    weak = OutOfFold(others, {place: predicted[place] for place in range(1, 5)})
    report = fit_blend(_RMSE, truth, tables, out_of_fold=weak)
    assert report.reason == "no average of 5 candidates is better than the best of them"


@pytest.mark.parametrize("targets", [2, 12])
@pytest.mark.parametrize("metric", ["rmse", "log-loss", "roc-auc"])
def test_several_columns_are_stacked(metric: str, targets: int) -> None:
    """Up to ten columns have weights of their own, more share theirs; the stack gains on its best."""
    pool = _pool(metric, 0, [0.8] * 4, 600, targets=targets)
    stack = Stack(pool, None)
    gain = stack.gain(stack.weights)
    assert gain is not None
    assert gain.difference > 0
    same = (stack.weights.weights == stack.weights.weights[:, :1]).all()
    assert same or targets == 2


def test_classes_share_their_weights() -> None:
    """Probabilities of classes are stacked by their logarithms or values, whole rows at once."""
    metric = METRICS["multiclass-log-loss"]
    random = np.random.default_rng(0)
    label = random.integers(0, 3, 600)
    truth = pd.DataFrame(np.eye(3)[label], columns=["a", "b", "c"])
    odds = [2 * np.eye(3)[label] + random.normal(0, 1.5, (600, 3)) for _ in range(4)]
    tables = [
        pd.DataFrame(np.exp(each) / np.exp(each).sum(axis=1, keepdims=True), columns=truth.columns)
        for each in odds
    ]
    stack = Stack(CandidatePool(metric, truth, tables, supported_means(metric)), None)
    gain = stack.gain(stack.weights)
    assert gain is not None
    assert gain.difference > 2 * gain.standard_error
    assert (stack.weights.weights == stack.weights.weights[:, :1]).all()


def test_unknown_cells_of_the_truth_are_left_out() -> None:
    """Where the truth of a column is not known, the row teaches only the other columns."""
    truth, tables = _rows("rmse", 0, [0.5] * 3, 400, targets=2)
    partial = truth.copy()
    partial.iloc[::2, 0] = np.nan
    metric = METRICS["rmse"]
    stack = Stack(CandidatePool(metric, partial, tables, ["mean"]), None)
    assert np.isfinite(stack.weights.weights).all()
    assert stack.weights.weights[:, 0].any()


def test_guesses_make_no_empty_stack() -> None:
    """Candidates that know nothing get weights all the same, and the average decides."""
    random = np.random.default_rng(0)
    truth, others = (pd.DataFrame({"t0": random.normal(0, 1, rows)}) for rows in (200, 400))
    tables, predicted = (
        [pd.DataFrame({"t0": random.normal(0, 1, rows)}) for _ in range(4)] for rows in (200, 400)
    )
    report = fit_blend(_RMSE, truth, tables, out_of_fold=OutOfFold(others, dict(enumerate(predicted))))
    assert report.gain is not None
    assert report.members


def test_a_stack_that_cannot_be_judged_leaves_the_average() -> None:
    """Where the metric is undefined on out-of-fold rows, the blend is that of validation alone."""
    truth, tables = _rows("roc-auc", 0, [0.8] * 3, 300)
    others, predicted = _rows("roc-auc", 1, [0.8] * 3, 300)
    others.loc[:, :] = 0.0
    others.iloc[0] = 1.0
    metric = METRICS["roc-auc"]
    rows = OutOfFold(others, dict(enumerate(predicted)))
    assert fit_blend(metric, truth, tables, out_of_fold=rows) == fit_blend(metric, truth, tables)
