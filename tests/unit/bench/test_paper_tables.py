"""The papers' tables agree with a reference computation by pandas, on a bench with gaps."""

import pandas as pd
import pytest

from comind.bench.paper_tables import METRICS, paper_tables
from comind.bench.results import BenchResults, RunResult, ScorePoint
from tests.unit.bench.benches import bench, run, whole_bench


def _with_gaps(each: RunResult) -> RunResult | None:
    """Leave out one run, and make one invalid."""
    if each.cell == ("best of many", "competition-0", 1):
        return None
    if each.cell == ("graph search", "competition-3", 2):
        lost = {"valid": False, "score": None, "win_rate": 0.0, "medal": None, "above_median": False}
        return RunResult.model_validate(each.model_dump() | lost)
    return each


@pytest.fixture(scope="module")
def results() -> BenchResults:
    return whole_bench(_with_gaps)


@pytest.fixture(scope="module")
def table(results: BenchResults) -> pd.DataFrame:
    rows = [
        each.model_dump(exclude={"curve", "program"})
        | (each.program.model_dump() if each.program else {})
        | {"category": results.category_of(each.competition)}
        for each in results.ordered_runs()
    ]
    return pd.DataFrame(rows)


def test_tokens_are_means_over_competitions_with_their_deviation(
    results: BenchResults, table: pd.DataFrame
) -> None:
    """CoMind v2, table 4: the mean over seeds, then mean and standard deviation over competitions."""
    table = table.assign(uncached=table["prompt_tokens"] - table["cached_tokens"])
    found = paper_tables(results).tokens
    assert [each.arm for each in found] == list(results.arms)
    for each in found:
        means = table[table["arm"] == each.arm].groupby("competition")
        for name, value in (
            ("uncached", each.uncached),
            ("cached_tokens", each.cached),
            ("completion_tokens", each.written),
            ("usd", each.usd),
        ):
            of_competitions = means[name].mean()
            assert value.mean == pytest.approx(of_competitions.mean())
            assert value.deviation == pytest.approx(of_competitions.std(ddof=1), abs=1e-9)
        assert each.competitions == 8


def test_programs_are_those_of_valid_runs_by_kind(results: BenchResults, table: pd.DataFrame) -> None:
    """CoMind v2, table 3: means by kind of data; a metric that some programs lack is of the others."""
    found = paper_tables(results).programs
    valid = table[table["valid"]]
    groups = valid.groupby(["category", "arm"])
    assert {(each.category, each.arm) for each in found} == set(groups.groups)
    for each in found:
        rows = groups.get_group((each.category, each.arm))
        assert each.runs == len(rows)
        for name in METRICS:
            mean = pd.to_numeric(rows[name]).mean()
            assert each.metrics[name] == (None if pd.isna(mean) else pytest.approx(mean))


def test_best_of_several_runs(results: BenchResults, table: pd.DataFrame) -> None:
    """AutoMind, table 1: avg@3 and best@3 of the win rate; an invalid run counts as 0."""
    ranked = table[table["win_rate"].notna()]
    for each in paper_tables(results).best_of:
        rates = ranked[ranked["arm"] == each.arm].groupby("competition")["win_rate"]
        assert each.mean == pytest.approx(100 * rates.mean().mean())
        assert each.best == pytest.approx(100 * rates.max().mean())
        assert each.runs == 3


def _curve(*points: tuple[float, int, float]) -> tuple[ScorePoint, ...]:
    return tuple(
        ScorePoint(seconds=3600 * hours, usd=0, tokens=tokens, validation_score=0, win_rate=rate)
        for hours, tokens, rate in points
    )


def test_time_until_the_rival_is_reached() -> None:
    """AutoMind, table 2: hours and tokens to the rival's final win rate, beside what the rival took."""
    rival = _curve((1, 100, 0.2), (3, 400, 0.5), (5, 900, 0.5))
    quick = _curve((0.5, 50, 0.1), (2, 150, 0.6), (4, 800, 0.4))
    slow = _curve((2, 300, 0.4))
    runs = [
        run("base", "c0", 0, curve=rival),
        run("ours", "c0", 0, curve=quick),
        run("base", "c0", 1, curve=rival),
        run("ours", "c0", 1, curve=slow),
        run("ours", "c0", 2, curve=quick),
    ]
    [found] = paper_tables(bench(runs)).time_to_rival
    assert (found.arm, found.pairs, found.reached) == ("ours", 2, 1)
    assert (found.hours, found.tokens) == (2, 150)
    assert (found.rival_hours, found.rival_tokens) == (3, 400)


def test_nothing_is_reached_without_pairs() -> None:
    """An arm without a pair, or whose pairs never get there, has no times."""
    runs = [run("base", "c0", 0, curve=_curve((1, 1, 0.5))), run("ours", "c0", 0)]
    [found] = paper_tables(bench(runs)).time_to_rival
    assert (found.pairs, found.reached, found.hours, found.rival_tokens) == (1, 0, None, None)
