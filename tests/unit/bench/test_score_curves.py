"""Win rates, code length and complexity over time and cost."""

from typing import Any

import pytest

from comind.bench.results import RunResult, ScorePoint
from comind.bench.score_curves import code_curves, win_rate_curves
from tests.unit.bench.benches import bench, run, whole_bench


def _run(seed: int, *points: tuple[float, float | None], **changes: Any) -> RunResult:
    """Return a run with points of (seconds, win rate) that takes 100 seconds and 10 dollars."""
    curve = tuple(
        ScorePoint(seconds=s, usd=s / 10, validation_score=0, win_rate=rate, code_lines=int(s))
        for s, rate in points
    )
    return run("base", "a", seed, **{"curve": curve, "seconds": 100, "usd": 10, **changes})


def test_a_curve_is_a_step_function() -> None:
    """It is 0 before the first submission, and changes at the time of each point."""
    (curve,) = win_rate_curves(bench([_run(0, (25, 0.4), (50, 0.8))], ("base",)), "seconds", points=5)
    assert curve.grid == (0, 25, 50, 75, 100)
    assert curve.mean == pytest.approx((0, 40, 80, 80, 80))
    assert curve.standard_error == (0,) * 5
    assert curve.area.mean == pytest.approx(50)


def test_curves_are_averaged_over_seeds() -> None:
    """The mean and its standard error are over seeds; a run without a submission counts as 0."""
    runs = [_run(0, (0, 0.8)), _run(1, valid=False, win_rate=0, status="failed")]
    (curve,) = win_rate_curves(bench(runs, ("base",)), "seconds", points=3)
    assert curve.mean == pytest.approx((40, 40, 40))
    assert curve.standard_error == pytest.approx((40, 40, 40))
    assert (curve.area.mean, curve.area.standard_error) == pytest.approx((40, 40))


def test_curves_over_cost_have_their_own_grid() -> None:
    """The grid of costs ends at the largest cost of any run of any arm."""
    curves = win_rate_curves(whole_bench(), "usd")
    assert [curve.arm for curve in curves] == ["graph search", "best of many", "one attempt"]
    assert {curve.grid for curve in curves} == {curves[0].grid}
    assert curves[0].grid[-1] == pytest.approx(4.5 * 1.14)
    assert curves[0].runs == 21


def test_a_bench_that_costs_nothing_has_no_curve_over_cost() -> None:
    """Without any cost there is no grid, hence no curve; the same holds without a leaderboard."""
    free = bench([_run(0, usd=0)], ("base",))
    assert win_rate_curves(free, "usd") == ()
    unranked = bench([_run(0, (5, None), win_rate=None, score=1)], ("base",))
    assert win_rate_curves(unranked, "seconds") == ()


def test_code_is_averaged_over_the_runs_that_have_a_program() -> None:
    """Before the first program there is no mean; later ones change the mean and the count."""
    runs = [_run(0, (25, 0.4), (75, 0.5)), _run(1, (50, 0.4))]
    (curve,) = code_curves(bench(runs, ("base",)), "code_lines", points=5)
    assert curve.mean == (None, 25, 37.5, 62.5, 62.5)
    assert curve.runs == (0, 1, 2, 2, 2)
    assert code_curves(bench(runs, ("base",)), "complexity") == ()
