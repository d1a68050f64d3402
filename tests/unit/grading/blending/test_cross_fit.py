"""A blend is accepted unless it loses on rows that it was not selected on."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from comind.domain.metric import Interval, Paired
from comind.grading.blending.cross_fit import (
    distinct_candidates,
    fit_blend,
    rejection_reason,
)
from comind.grading.blending.held_out import held_out_gain, pooled_gain, row_parts
from comind.grading.blending.selection import MOST_MEMBERS, CandidatePool, select, supported_means
from comind.grading.grader_port import BlendReport
from comind.metrics import METRICS
from tests.unit.grading.blending.pools import KINDS, candidates, truth_of
from tests.unit.metrics.custom import CUSTOM_METRICS

pytestmark = pytest.mark.slow

_MOST_CANDIDATES, _MOST_PICKS = 20, 20


def _judged(
    metric: str, seed: int, noise: list[float], *, rows: int = 600, targets: int = 1
) -> BlendReport:
    random = np.random.default_rng(seed)
    truth = truth_of(metric, rows, random, targets)
    return fit_blend(METRICS[metric], truth, candidates(metric, truth, noise, random))


@pytest.mark.parametrize("metric", KINDS)
def test_candidates_with_errors_of_their_own_are_averaged(metric: str) -> None:
    """Candidates with independent errors give a blend with a gain, for every kind of metric."""
    report = _judged(metric, 0, [0.8] * 5, rows=1000)
    assert report.reason == ""
    assert report.gain is not None
    assert report.gain.difference > report.gain.standard_error
    assert 2 <= len(report.members) <= MOST_MEMBERS
    assert report.mean in supported_means(METRICS[metric])
    assert all(0 < weight <= _MOST_PICKS for each in report.weights for weight in each)


@pytest.mark.parametrize("metric", ["accuracy", "rmse", "roc-auc"])
def test_guesses_weigh_little(metric: str) -> None:
    """Beside an optimal candidate guesses have at most a seventh of its weight, over the seeds."""
    shares = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        known, *guesses = _known_and_guesses(metric, 200, random)
        [truth] = candidates(metric, known, [0.5], random)  # the rest nobody can know
        if metric == "roc-auc":
            truth = (known > random.random(known.shape)).astype(float)
        report = fit_blend(METRICS[metric], truth, [known, *guesses])
        if report.reason == "":
            weights = {
                member: each[0] for member, each in zip(report.members, report.weights, strict=True)
            }
            of_known = weights.pop(0)
            shares.append(sum(weights.values()) / of_known)
    assert sum(shares) / 20 <= 0.15


def _known_and_guesses(metric: str, rows: int, random: np.random.Generator) -> list[pd.DataFrame]:
    if metric == "roc-auc":
        return [pd.DataFrame({"t0": random.random(rows)}) for _ in range(5)]
    return [truth_of(metric, rows, random) for _ in range(5)]


@pytest.mark.parametrize(
    ("one", "other", "rejected"),
    [(0.2, 0.2, False), (0.1, 0.0, False), (0.4, -0.1, False), (0.0, -0.06, False), (0.1, -0.2, True)],
)
def test_a_blend_is_rejected_only_if_it_loses(one: float, other: float, *, rejected: bool) -> None:
    """A mean gain over both halves of less than minus half its standard error is a loss."""
    gains = [
        Paired(difference=value, standard_error=0.1, interval=Interval(low=-1, high=1))
        for value in (one, other)
    ]
    report = BlendReport(candidates=3, members=(0, 1), gain=pooled_gain(gains, [50, 50]))
    said = rejection_reason(report, single=False)
    assert bool(said) == rejected
    assert ("0.05 worse than the best of them (standard error 0.0707)" in said) == rejected


def test_the_gain_is_told_on_rows_that_were_not_selected_on() -> None:
    """Candidates that memorize one half and guess on the other have no gain."""
    random = np.random.default_rng(0)
    truth = truth_of("rmse", 400, random)
    one, other = row_parts(400, 2, None)
    knows_one, knows_other = (truth + random.normal(0, 1, truth.shape) for _ in range(2))
    knows_one.iloc[one] = truth.iloc[one]
    knows_other.iloc[other] = truth.iloc[other]
    pool = CandidatePool(METRICS["rmse"], truth, [knows_one, knows_other], ["mean"])
    gain = held_out_gain(pool, (one, other), None, partial(select, pool))
    assert gain.difference <= 0


def test_halves_keep_groups_together() -> None:
    """Halves are disjoint and keep groups whole, unless there are few groups."""
    groups = np.repeat(np.arange(30), 7)
    one, other = row_parts(len(groups), 2, groups)
    assert not set(groups[one]) & set(groups[other])
    assert sorted([*one, *other]) == list(range(len(groups)))
    few = np.repeat([0, 1, 2], 70)
    one, other = row_parts(len(few), 2, few)
    assert set(few[one]) & set(few[other])


def test_candidates_that_err_alike_are_one() -> None:
    """Of candidates whose errors correlate by 0.999 or more, only the first is used."""
    random = np.random.default_rng(0)
    truth = truth_of("rmse", 200, random)
    first, second = candidates("rmse", truth, [0.5, 0.5], random)
    places, _ = distinct_candidates(
        "mean", truth, [first, first + 1e-6, first, second], _MOST_CANDIDATES
    )
    assert places == [0, 3]
    report = fit_blend(METRICS["rmse"], truth, [first, first + 1e-6])
    assert report.reason == "the errors of all scored steps are the same"


@pytest.mark.parametrize("metric", ["exact-match", "samples-f1", "top-1-error"])
def test_what_cannot_be_averaged_is_not(metric: str) -> None:
    """Text, sets of labels and ranked guesses have no average, with the reason."""
    assert supported_means(METRICS[metric]) == ()
    report = fit_blend(METRICS[metric], pd.DataFrame({"t": ["a"] * 100}), [])
    assert "cannot be averaged" in report.reason


def test_metrics_of_tables_are_not_halved() -> None:
    """Metrics over tables have no average."""
    assert supported_means(CUSTOM_METRICS["bias-auc"]) == ()


def test_few_rows_are_not_halved() -> None:
    """Below 50 rows there is no blend."""
    assert "too few" in _judged("rmse", 0, [0.5, 0.5], rows=49).reason


def test_an_answer_is_the_same_each_time() -> None:
    """The report is deterministic."""
    assert _judged("roc-auc", 3, [0.9, 1.0, 1.1]) == _judged("roc-auc", 3, [0.9, 1.0, 1.1])


@pytest.mark.parametrize("seed", range(5))
def test_a_blend_of_guesses_tells_no_more_of_the_labels_than_its_bits(seed: int) -> None:
    """The blend of coin flips reveals few more labels than their scores do.

    An answer of b bits on n coin flips tells at most sqrt(n b ln 2 / 2) of them beyond chance; an
    answer without a stack is at most 70 bits (docs/security.md).
    """
    random = np.random.default_rng(seed)
    rows, bits = 1000, 70
    truth = truth_of("accuracy", rows, random).replace("c", "a")
    guesses = [truth_of("accuracy", rows, random).replace("c", "a") for _ in range(_MOST_CANDIDATES)]
    report = fit_blend(METRICS["accuracy"], truth, guesses)
    pool = CandidatePool(METRICS["accuracy"], truth, guesses, ["vote"])
    counts = np.zeros(len(guesses), dtype=int)
    for place, weights in zip(report.members, report.weights, strict=True):
        counts[place] = weights[0]
    chance = max((truth == label).mean().item() for label in ("a", "b"))
    known = pool.score(pool.shared_weights("vote", counts), np.arange(rows))
    assert known - chance <= np.sqrt(bits * np.log(2) / (2 * rows))
    assert len(report.model_dump_json()) < 800


def test_members_have_a_weight_for_each_column_if_one_has() -> None:
    """Weights are one for all columns, or one for each, for all members alike, as programs read them."""
    for seed in range(6):
        random = np.random.default_rng(seed)
        truth = truth_of("rmse", 300, random, 2)
        report = fit_blend(METRICS["rmse"], truth, candidates("rmse", truth, [0.5, 0.6, 0.7], random))
        assert len({len(row) for row in report.weights}) == 1
