"""Differences between arms: intervals cover, planted differences are found, pairs are kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from comind.bench.paired_differences import (
    Outcomes,
    PairedDifference,
    hierarchical_bootstrap,
    paired_difference,
    paired_differences,
)
from tests.examples import examples
from tests.unit.bench.benches import bench, from_rates, run, simulated_rates


def _difference(rates: dict[str, np.ndarray]) -> PairedDifference:
    return paired_difference(from_rates(rates), "ours", "base")


def _contains_zero(found: PairedDifference) -> bool:
    assert found.interval is not None
    return found.interval.low <= 0 <= found.interval.high


def test_equal_arms_do_not_differ() -> None:
    """For arms with the same distribution, at least 19 of 20 intervals contain zero."""
    assert sum(_contains_zero(_difference(simulated_rates(seed))) for seed in range(20)) >= 19


@pytest.mark.torture
@pytest.mark.parametrize("varies", [0.0, 0.05, 0.15])
def test_coverage(varies: float) -> None:
    """Of 200 intervals, at least 91 % contain zero, which is 2.5 standard errors below 95 %."""
    found = [_difference(simulated_rates(seed, varies=varies, competitions=20)) for seed in range(200)]
    covered = sum(map(_contains_zero, found))
    print(f"{varies=}: {covered} of 200")  # noqa: T201 - what a torture run finds
    assert covered >= 0.91 * 200


@pytest.mark.parametrize("gain", [-0.15, 0.15])
def test_a_planted_difference_is_found(gain: float) -> None:
    """The interval of a clear difference excludes zero and contains the difference."""
    for seed in range(10):
        found = _difference(simulated_rates(seed, gain=gain))
        assert found.interval is not None
        assert not _contains_zero(found)
        assert found.above_zero == (1 if gain > 0 else 0)
        assert found.interval.low - 2 < 100 * gain < found.interval.high + 2


def test_one_level_agrees_with_scipy() -> None:
    """With one seed, the interval is that of scipy's percentile bootstrap of the mean."""
    rates = simulated_rates(1, competitions=40, seeds=1)
    values = 100 * (rates["ours"] - rates["base"])[:, 0]
    reference = bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    found = _difference(rates)
    assert found.interval is not None
    assert found.difference == pytest.approx(values.mean())
    width = reference.high - reference.low
    assert found.interval.low == pytest.approx(reference.low, abs=0.03 * width)
    assert found.interval.high == pytest.approx(reference.high, abs=0.03 * width)


def test_draws_have_the_variance_of_both_levels() -> None:
    """The variance is that between competitions plus that between seeds, each of the resampling."""
    generator = np.random.default_rng(2)
    pairs = generator.normal(0, 4, (30, 1)) + generator.normal(0, 6, (30, 3))
    expected = (pairs.mean(axis=1).var() + (pairs.var(axis=1) / 3).mean()) / 30
    assert hierarchical_bootstrap(pairs, 40_000).var() == pytest.approx(expected, rel=0.03)


def test_ragged_pairs_are_weighted_by_competition() -> None:
    """Each competition has the same weight, however many of its pairs are missing."""
    nan = float("nan")
    pairs = np.array([[6.0, nan, nan], [0.0, 0.0, 0.0], [nan, nan, nan]])
    assert hierarchical_bootstrap(pairs, 50_000).mean() == pytest.approx(3, abs=0.05)
    assert set(hierarchical_bootstrap(pairs, 1000).tolist()) == {0.0, 3.0, 6.0}


def test_draws_are_deterministic() -> None:
    """Equal arguments give equal draws, another seed gives others."""
    pairs = np.arange(12.0).reshape(4, 3)
    first, second, other = (hierarchical_bootstrap(pairs, 500, seed) for seed in (1, 1, 2))
    assert (first == second).all()
    assert (first != other).any()


@given(
    rates=st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=4),
)
@examples(10)
def test_an_arm_against_itself_is_zero(rates: list[list[float]]) -> None:
    """The difference of an arm to an equal one is exactly zero, with an interval of no width."""
    table = np.array(rates)
    found = _difference({"ours": table, "base": table})
    assert found.interval is not None
    assert (found.difference, found.interval.low, found.interval.high) == (0, 0, 0)
    assert found.above_zero == 0
    assert found.all_competitions == Outcomes(ties=table.size)


def test_missing_pairs_are_left_out_and_counted() -> None:
    """A cell that is missing in either arm is left out of both, and counted once."""
    runs = [
        run("ours", "a", 0, win_rate=0.9),
        run("base", "a", 0, win_rate=0.5),
        run("ours", "b", 0, win_rate=0.1),
        run("base", "b", 1, win_rate=1.0),
        run("ours", "a", 1, win_rate=None, valid=False, status="missing"),
    ]
    found = paired_difference(bench(runs), "ours", "base")
    assert (found.pairs, found.missing_pairs, found.competitions) == (1, 3, 1)
    assert found.difference == pytest.approx(40)
    assert found.interval is None


def test_competitions_without_leaderboard_are_won_or_lost() -> None:
    """Scores are compared in the metric's direction; an invalid run loses, two of them tie."""
    scores = {
        "lower": (0.2, 0.3),
        "higher": (0.2, 0.3),
        "equal": (0.2, 0.2),
        "invalid": (None, 0.3),
        "neither": (None, None),
    }
    runs = [
        run(
            arm,
            name,
            0,
            score=score,
            valid=score is not None,
            maximize=name != "lower",
            win_rate=None,
        )
        for name, pair in scores.items()
        for arm, score in zip(("ours", "base"), pair, strict=True)
    ]
    (found,) = paired_differences(bench(runs))
    assert found.difference is None
    assert str(found.all_competitions) == "1/2/2"
    assert found.without_leaderboard == found.all_competitions
    assert found.by_competition["lower"] == Outcomes(wins=1)


def test_nothing_cannot_be_resampled() -> None:
    """A bootstrap without a pair is an error."""
    with pytest.raises(ValueError, match="no pair"):
        hierarchical_bootstrap(np.full((2, 2), np.nan))
