"""Means over seeds, standard errors, subsets of competitions, missing and invalid runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem

from comind.bench.results import BenchResults
from comind.bench.statistics import ArmSummary, compute_statistics, summarise_arm
from tests.examples import examples
from tests.unit.bench.benches import bench, from_rates, run, simulated_rates, whole_bench


def test_standard_errors_agree_with_scipy() -> None:
    """The standard error is scipy's sem of the seeds' means over competitions."""
    rates = simulated_rates(3, seeds=5)
    found = summarise_arm(from_rates(rates), "ours")
    assert found.win_rate is not None
    means = 100 * rates["ours"].mean(axis=0)
    assert found.win_rate.mean == pytest.approx(means.mean())
    assert found.win_rate.standard_error == pytest.approx(float(sem(means)))


def test_one_seed_has_no_standard_error() -> None:
    """The standard error of one seed is 0, as in MLE-bench's aggregator."""
    found = summarise_arm(from_rates(simulated_rates(3, seeds=1)), "ours")
    assert found.seeds == 1
    assert found.win_rate is not None
    assert found.win_rate.standard_error == 0


def test_shares_are_those_of_the_runs() -> None:
    """Medals and medians count in competitions with a leaderboard, validity in all."""
    runs = [
        run("base", "a", 0, win_rate=0.9, medal="gold", above_median=True),
        run("base", "b", 0, win_rate=0.8, medal="bronze", above_median=True),
        run("base", "c", 0, win_rate=0.2, above_median=False),
        run("base", "d", 0, valid=False, win_rate=0.0),
        run("base", "e", 0, win_rate=None, score=3.0),
    ]
    found = summarise_arm(bench(runs, ("base",)), "base")
    shares = (found.win_rate, found.any_medal, found.gold, found.above_median, found.valid)
    assert [share.mean for share in shares if share] == pytest.approx([47.5, 50, 25, 50, 80])
    assert found.without_leaderboard == 1


def test_invalid_and_missing_runs_are_counted() -> None:
    """An invalid or failed run counts as 0, a missing one is left out; all are counted."""
    runs = [
        run("base", "a", 0, win_rate=0.8),
        run("base", "b", 0, valid=False, win_rate=None, leaderboard_teams=9, status="failed"),
        run("base", "c", 0, valid=False, win_rate=None, status="missing"),
        run("base", "a", 1, win_rate=0.6),
        run("base", "b", 1, valid=False, win_rate=0.0),
    ]
    found = summarise_arm(bench(runs, ("base",)), "base")
    assert (found.runs, found.missing, found.failed, found.invalid) == (4, 2, 1, 2)
    assert found.win_rate is not None
    assert found.win_rate.mean == pytest.approx(35)


def test_an_arm_without_runs_has_no_means() -> None:
    """An arm of which all runs are missing is counted, and its means are None."""
    results = bench([run("base", "a", 0)])
    found = summarise_arm(results, "ours")
    assert (found.runs, found.missing, found.win_rate, found.valid) == (0, 1, None, None)
    statistics = compute_statistics(results)
    assert [costs.arm for costs in statistics.costs] == ["base"]
    assert statistics.differences[0].difference is None


def test_subsets_are_by_category_and_complexity() -> None:
    """Subsets have the competitions of one category or complexity, and their counts add up."""
    statistics = compute_statistics(whole_bench())
    categories = [each for each in statistics.by_category if each.arm == "one attempt"]
    assert [(each.subset, each.competitions) for each in categories] == [
        ("image", 3),
        ("tabular", 3),
        ("text", 2),
    ]
    assert {each.subset for each in statistics.by_complexity} == {"low", "medium", "high"}


def test_costs_are_means_per_competition() -> None:
    """Costs are averaged over competitions within a seed; totals are over all runs."""
    runs = [
        run("base", name, seed, usd=usd, prompt_tokens=10, completion_tokens=5)
        for name, seed, usd in (("a", 0, 1.0), ("b", 0, 3.0), ("a", 1, 2.0), ("b", 1, 6.0))
    ]
    (costs,) = compute_statistics(bench(runs, ("base",))).costs
    assert (costs.usd.mean, costs.total_usd, costs.total_tokens) == (3, 12, 60)
    assert costs.usd.standard_error == pytest.approx(1)
    assert costs.prompt_tokens.mean == 10


_WHOLE = whole_bench()


def _summaries(results: BenchResults) -> list[ArmSummary]:
    return [summarise_arm(results, arm) for arm in results.arms]


def _reordered(order: list[int]) -> BenchResults:
    """Return the results with their runs in another order."""
    return BenchResults.model_validate({**_WHOLE.model_dump(), "runs": [_WHOLE.runs[i] for i in order]})


@given(order=st.permutations(range(len(_WHOLE.runs))))
@examples(10)
def test_the_order_of_runs_has_no_effect(order: list[int]) -> None:
    """Means and standard errors are the same for every order of the runs."""
    assert _summaries(_reordered(order)) == _summaries(_WHOLE)


def test_the_order_of_runs_has_no_effect_on_a_report() -> None:
    """All statistics of a report, including bootstraps and curves, are the same in reverse order."""
    turned = _reordered(list(range(len(_WHOLE.runs)))[::-1])
    assert compute_statistics(turned) == compute_statistics(_WHOLE)


@given(
    rates=st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=5),
    better=st.data(),
)
def test_better_runs_never_lower_the_mean(rates: list[list[float]], better: st.DataObject) -> None:
    """If no win rate falls, neither does the mean."""
    raised = [[better.draw(st.floats(rate, 1)) for rate in row] for row in rates]
    means = [
        summarise_arm(from_rates({"base": np.array(table)}), "base").win_rate
        for table in (rates, raised)
    ]
    assert means[0] is not None
    assert means[1] is not None
    assert means[1].mean >= means[0].mean
