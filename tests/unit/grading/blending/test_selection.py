"""Greedy selection: against brute force, never worse than the best, few members, small weights."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.grading.blending.selection import (
    MOST_MEMBERS,
    CandidatePool,
    Selection,
    greedy_weights,
    select,
    supported_means,
)
from comind.metrics import METRICS
from tests.examples import examples
from tests.unit.grading.blending.pools import KINDS, candidates, truth_of

pytestmark = pytest.mark.slow

_MOST_PICKS = 20


def _pool(
    metric: str, seed: int, noise: list[float], *, rows: int = 80, targets: int = 1
) -> CandidatePool:
    random = np.random.default_rng(seed)
    truth = truth_of(metric, rows, random, targets)
    tables = candidates(metric, truth, noise, random)
    return CandidatePool(METRICS[metric], truth, tables, supported_means(METRICS[metric]))


@pytest.mark.parametrize("seed", range(5))
def test_each_pick_is_the_best_one_of_all_that_could_be_picked(seed: int) -> None:
    """The weights are on the path of a plain search that tries every candidate at every step."""
    pool, rows = _pool("rmse", seed, [0.5, 0.6, 0.7]), np.arange(80)

    def score(counts: np.ndarray) -> float:
        return pool.score(pool.shared_weights("mean", counts), rows)

    path, counts = [], np.zeros(3, dtype=int)
    for _ in range(_MOST_PICKS):
        steps = [counts + np.eye(3, dtype=int)[number] for number in range(3)]
        counts = max(steps, key=score)
        path.append(counts)
    best = max(path, key=score)
    assert (
        greedy_weights(lambda tried: [*map(score, tried)], range(3), 3, pool.few).tolist()
        == (best // np.gcd.reduce(best)).tolist()
    )


@pytest.mark.parametrize("seed", range(5))
def test_on_few_candidates_it_is_nearly_as_good_as_all_weights(seed: int) -> None:
    """Of all weights up to six, none has an error smaller by more than a hundredth."""
    pool, rows = _pool("rmse", seed, [0.5, 0.6, 0.7]), np.arange(80)
    found = -pool.score(select(pool, rows), rows)
    every = (np.array(each) for each in product(range(7), repeat=3) if any(each))
    least = min(-pool.score(pool.shared_weights("mean", each), rows) for each in every)
    assert found <= 1.01 * least


@examples(40)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 1000),
    st.lists(st.floats(0.1, 2.0), min_size=1, max_size=7),
    st.integers(1, 3),
)
def test_a_blend_is_never_worse_than_the_best_where_it_was_selected(
    metric: str, seed: int, noise: list[float], targets: int
) -> None:
    """On the rows selected on, no candidate is better than the blend, which has few members."""
    pool, rows = _pool(metric, seed, noise, rows=40, targets=targets), np.arange(40)
    blend = select(pool, rows)
    singles = [
        pool.shared_weights(mean, row) for mean in pool.means for row in np.eye(len(noise), dtype=int)
    ]
    best = max(pool.score(each, rows) for each in singles)
    assert pool.score(blend, rows) >= best - 1e-12
    assert 1 <= len(blend.members) <= MOST_MEMBERS
    assert blend.weights.sum(axis=0).max() <= _MOST_PICKS
    assert blend.weights.min() >= 0


def test_each_target_may_have_weights_of_its_own() -> None:
    """Candidates that are each good at one target get separate weights for each target."""
    random = np.random.default_rng(1)
    truth = pd.DataFrame(random.normal(0, 1, (200, 2)), columns=["t0", "t1"])
    good, poor = random.normal(0, 0.1, (200, 2)), random.normal(0, 2, (200, 2))
    first = truth + np.stack([good[:, 0], poor[:, 0]], axis=1)
    second = truth + np.stack([poor[:, 1], good[:, 1]], axis=1)
    pool = CandidatePool(METRICS["rmse"], truth, [first, second], ["mean"])
    weights = select(pool, np.arange(200)).weights
    assert weights[0, 0] > 10 * weights[1, 0]
    assert weights[1, 1] > 10 * weights[0, 1]


def test_a_selection_that_has_no_score_takes_the_first() -> None:
    """If the metric is undefined, the first candidate is selected."""
    truth = pd.DataFrame({"t": np.ones(10)})
    tables = [pd.DataFrame({"t": np.linspace(0, 1, 10) * size}) for size in (1, 0.5)]
    pool = CandidatePool(METRICS["roc-auc"], truth, tables, ["rank"])
    assert select(pool, np.arange(10)).weights.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("mean", "weights", "single"),
    [
        ("vote", [[2], [1], [1]], True),
        ("vote", [[1], [1], [0]], True),
        ("vote", [[1], [1], [1]], False),
        ("vote", [[2, 1], [1, 2], [0, 0]], False),
        ("mean", [[2], [1], [0]], False),
        ("mean", [[0], [1], [0]], True),
    ],
)
def test_votes_of_one_that_no_others_outvote_are_its_own(
    mean: str, weights: list[list[int]], *, single: bool
) -> None:
    """A blend by vote with a member of at least half of the weight is that member."""
    assert Selection(mean, np.array(weights)).is_single == single
