"""Average win rate, code length and complexity over the course of campaigns."""

from typing import Literal

import numpy as np

from comind.bench.results import BenchResults, RunResult
from comind.domain.value import Value
from comind.grading.grading_report import Percentage, SeedMean

Axis = Literal["seconds", "usd", "tokens"]
CodeMeasure = Literal["code_lines", "complexity"]

_POINTS = 101


class WinRateCurve(Value):
    """Mean win rate of an arm's campaigns as a step function of time or of money spent.

    All arms of a bench have the same grid, from 0 to the largest value of any run.
    """

    arm: str
    axis: Axis
    grid: tuple[float, ...]
    """Seconds, US dollars or tokens."""
    mean: tuple[float, ...]
    """Percent, one value per point of the grid."""
    standard_error: tuple[float, ...]
    """Over seeds; 0 for one seed."""
    area: Percentage
    """Area below the curve divided by the length of the grid: the mean win rate over the course."""
    runs: int


class CodeCurve(Value):
    """Mean length or complexity of the best program by validation score, over time."""

    arm: str
    measure: CodeMeasure
    grid: tuple[float, ...]
    """Seconds, as in the curves of the win rate."""
    mean: tuple[float | None, ...]
    """None before any run has a program."""
    runs: tuple[int, ...]
    """Number of runs that have a program at each point, over which the mean is taken."""


def win_rate_curves(
    results: BenchResults, axis: Axis, points: int = _POINTS
) -> tuple[WinRateCurve, ...]:
    """Average the win rates of runs at each time, or each amount of money spent.

    The value of a run at x is that of its last point at or before x: 0 before its first valid
    submission, and constant after its end. Values are averaged over the competitions with a leaderboard
    within a seed, then over seeds; a run without points counts as 0, a missing one is left out. The area
    is that of the step functions themselves, so it does not depend on `points`.

    Returns:
        One curve per arm that has a run in a competition with a leaderboard; none if all runs took no
        time, or cost nothing.
    """
    horizon = _horizon(results, axis)
    if horizon <= 0:
        return ()
    grid = np.linspace(0.0, horizon, points)
    found = []
    for arm in results.arms:
        seeds = [_runs_of_seed(results, arm, seed) for seed in results.seeds]
        seeds = [runs for runs in seeds if runs]
        if not seeds:
            continue
        steps = [[_steps(run, axis) for run in runs] for runs in seeds]
        # Shape (seeds, points).
        means = np.array([np.mean([_values_at(grid, *s) for s in runs], axis=0) for runs in steps])
        areas = [float(np.mean([_mean_height(horizon, *s) for s in runs])) for runs in steps]
        columns = [SeedMean.of([float(v) for v in column]) for column in 100 * means.T]
        found.append(
            WinRateCurve(
                arm=arm,
                axis=axis,
                grid=tuple(map(float, grid)),
                mean=tuple(column.mean for column in columns),
                standard_error=tuple(column.standard_error for column in columns),
                area=Percentage.of([100 * area for area in areas]),
                runs=sum(map(len, seeds)),
            )
        )
    return tuple(found)


def code_curves(
    results: BenchResults, measure: CodeMeasure, points: int = _POINTS
) -> tuple[CodeCurve, ...]:
    """Average code length or complexity at each time over the runs that have a program by then.

    The runs that are averaged increase with time, so a rise can also come from runs that begin later.

    Returns:
        One curve per arm with a measured program.
    """
    horizon = _horizon(results, "seconds")
    grid = np.linspace(0.0, horizon, points)
    found = []
    for arm in results.arms:
        rows = [
            _code_at(grid, run, measure)
            for run in results.ordered_runs()
            if run.arm == arm and any(getattr(point, measure) is not None for point in run.curve)
        ]
        if not rows or horizon <= 0:
            continue
        values = np.array(rows)
        counts = np.count_nonzero(~np.isnan(values), axis=0)
        sums = np.nansum(values, axis=0)
        found.append(
            CodeCurve(
                arm=arm,
                measure=measure,
                grid=tuple(map(float, grid)),
                mean=tuple(float(s / n) if n else None for s, n in zip(sums, counts, strict=True)),
                runs=tuple(map(int, counts)),
            )
        )
    return tuple(found)


def _horizon(results: BenchResults, axis: Axis) -> float:
    """Return the largest time or cost of any run."""
    values = [getattr(run, axis) for run in results.runs if axis != "tokens"]
    values += [run.prompt_tokens + run.completion_tokens for run in results.runs if axis == "tokens"]
    values += [getattr(point, axis) for run in results.runs for point in run.curve]
    return float(max(values, default=0.0))


def _runs_of_seed(results: BenchResults, arm: str, seed: int) -> list[RunResult]:
    cells = ((arm, name, seed) for name in results.competitions if name in results.with_leaderboard)
    return [results.by_cell[cell] for cell in cells if cell in results.by_cell]


def _steps(run: RunResult, axis: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and win rates of a run's points, shape (points,), ordered by position."""
    places = np.array([getattr(point, axis) for point in run.curve], dtype=float)
    rates = np.array([point.win_rate or 0.0 for point in run.curve], dtype=float)
    order = np.argsort(places, kind="stable")
    return places[order], rates[order]


def _values_at(
    grid: np.ndarray, places: np.ndarray, values: np.ndarray, before: float = 0.0
) -> np.ndarray:
    """Evaluate a step function that is `before` until its first place; shape of `grid`."""
    return np.concatenate([[before], values])[np.searchsorted(places, grid, side="right")]


def _mean_height(horizon: float, places: np.ndarray, values: np.ndarray) -> float:
    """Return the integral of a step function from 0 to `horizon`, divided by `horizon`."""
    widths = np.diff(np.append(places, horizon))
    return float((widths * values).sum() / horizon)


def _code_at(grid: np.ndarray, run: RunResult, measure: CodeMeasure) -> np.ndarray:
    known = [point for point in run.curve if getattr(point, measure) is not None]
    places = np.array([point.seconds for point in known], dtype=float)
    values = np.array([getattr(point, measure) for point in known], dtype=float)
    return _values_at(grid, places, values, before=np.nan)
