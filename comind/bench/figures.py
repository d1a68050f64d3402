"""Draw the figures of a bench, each one column wide, with matplotlib."""

import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from comind.bench.score_curves import CodeCurve, WinRateCurve
from comind.bench.statistics import BenchStatistics, LeaderboardPlace
from comind.reporting.paper_figures import LineStyle, line_style, paper_style, rendered
from comind.system.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMN = 3.3  # inches
_MARKS = 6
"""Markers per line."""
_NAME_LENGTH = 24
_LEGEND_COLUMNS = 2
_MINUTE, _HOUR = 60.0, 3600.0
_LEADERBOARDS = 6
"""Panels of the figure of leaderboards, at most."""
_THOUSAND, _MILLION = 1e3, 1e6
_CLIPPED = 4.0
"""Largest standardised score in the plot of validation against true answers."""


def write_figures(statistics: BenchStatistics, folder: Path) -> list[Path]:
    """Write each figure that has data as SVG and PNG, named as in `FIGURES`, and return the files.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with paper_style():
        for name, draw in FIGURES.items():
            figure = draw(statistics)
            if figure is None:
                for path in folder.glob(f"{name}.*"):  # of earlier results
                    path.unlink()
                continue
            for form in ("svg", "png"):
                path = folder / f"{name}.{form}"
                write_atomically(path, rendered(figure, form))
                written.append(path)
    return written


def _styles(statistics: BenchStatistics) -> dict[str, LineStyle]:
    """Return the style of each arm, the same in all figures."""
    arms = [each.arm for each in statistics.summaries]
    return {arm: line_style(i) for i, arm in enumerate(arms)}


def _axes(height: float, rows: int = 1) -> "tuple[Figure, list[Axes]]":
    """Return a figure of one column's width with `rows` axes, one above the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_COLUMN, height), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return figure, list(axes[:, 0])


def _legend(figure: "Figure", axes: "Axes", arms: Sequence[str], length: float = 3.2) -> None:
    """Add a legend above the axes, and the height that it needs; `length` is that of its lines."""
    rows = -(-len(arms) // _LEGEND_COLUMNS)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + 0.15 * rows)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=min(_LEGEND_COLUMNS, len(arms)),
        handlelength=length,
        columnspacing=1.2,
    )


def _short(name: str) -> str:
    return textwrap.shorten(name, _NAME_LENGTH, placeholder=" ...") if len(name) > _NAME_LENGTH else name


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(name, 16, max_lines=2, placeholder=" ...")) or name


def _time_unit(seconds: float) -> tuple[str, float]:
    """Return the unit for an axis that ends at `seconds`, and its length in seconds."""
    if seconds >= 2 * _HOUR:
        return "hours", _HOUR
    return ("minutes", _MINUTE) if seconds >= 2 * _MINUTE else ("seconds", 1.0)


def _line(
    axes: "Axes", xs: Sequence[float], ys: Sequence[float], name: str, style: LineStyle, number: int
) -> None:
    """Draw a step function; the markers of different arms are at different places."""
    every = max(1, len(xs) // _MARKS)
    axes.plot(
        xs,
        ys,
        drawstyle="steps-post",
        color=style.color,
        linestyle=style.line,
        marker=style.marker,
        markevery=(min(len(xs) - 1, (2 + 4 * number) % every), every),
        label=_short(name),
    )


def _win_rates(
    statistics: BenchStatistics, curves: Sequence[WinRateCurve], label: str, unit: float
) -> "Figure | None":
    """Draw mean win rates with bands of one standard error."""
    if not curves:
        return None
    styles = _styles(statistics)
    figure, (axes,) = _axes(2.1)
    for number, curve in enumerate(curves):
        style = styles[curve.arm]
        xs = [x / unit for x in curve.grid]
        low = [m - e for m, e in zip(curve.mean, curve.standard_error, strict=True)]
        high = [m + e for m, e in zip(curve.mean, curve.standard_error, strict=True)]
        axes.fill_between(xs, low, high, step="post", color=style.color, alpha=0.18, linewidth=0)
        _line(axes, xs, curve.mean, curve.arm, style, number)
    axes.set(xlabel=label, ylabel="Win rate (% of teams)", xlim=(0, curves[0].grid[-1] / unit))
    axes.set_ylim(bottom=0)
    _legend(figure, axes, [curve.arm for curve in curves])
    return figure


def _over_time(statistics: BenchStatistics) -> "Figure | None":
    curves = statistics.over_time
    name, unit = _time_unit(curves[0].grid[-1] if curves else 0)
    return _win_rates(statistics, curves, f"Time since the start ({name})", unit)


def _over_cost(statistics: BenchStatistics) -> "Figure | None":
    return _win_rates(statistics, statistics.over_cost, "Money spent on models (US$)", 1.0)


def _over_tokens(statistics: BenchStatistics) -> "Figure | None":
    return _win_rates(statistics, statistics.over_tokens, "Tokens read and written (millions)", 1e6)


def _code_over_time(statistics: BenchStatistics) -> "Figure | None":
    """Draw code length above complexity."""
    panels: list[tuple[str, tuple[CodeCurve, ...]]] = [
        ("Lines of code", statistics.code_lines),
        ("Mean cyclomatic\ncomplexity", statistics.code_complexity),
    ]
    panels = [panel for panel in panels if panel[1]]
    if not panels:
        return None
    styles = _styles(statistics)
    figure, rows = _axes(0.7 + 1.3 * len(panels), len(panels))
    name, unit = _time_unit(panels[0][1][0].grid[-1])
    for axes, (label, curves) in zip(rows, panels, strict=True):
        for number, curve in enumerate(curves):
            known = [(x / unit, y) for x, y in zip(curve.grid, curve.mean, strict=True) if y is not None]
            xs, ys = zip(*known, strict=True)
            _line(axes, xs, ys, curve.arm, styles[curve.arm], number)
        axes.set(ylabel=label, xlim=(0, curves[0].grid[-1] / unit))
        axes.set_ylim(bottom=0)
    rows[-1].set_xlabel(f"Time since the start ({name})")
    _legend(figure, rows[0], [curve.arm for curve in panels[0][1]])
    return figure


def _forest(statistics: BenchStatistics) -> "Figure | None":
    """Draw the paired differences with their intervals, the first arm at the top."""
    rows = [each for each in statistics.differences if each.difference is not None]
    if not rows:
        return None
    styles = _styles(statistics)
    figure, (axes,) = _axes(0.75 + 0.34 * len(rows))
    for place, each in enumerate(rows):
        style = styles[each.arm]
        if each.interval is not None:
            ends = (each.interval.low, each.interval.high)
            axes.plot(ends, (place, place), "-|", color=style.color, markersize=6)
        axes.plot([each.difference or 0.0], [place], style.marker, color=style.color, markersize=5)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [_wrapped(each.arm) for each in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(
        f"Difference in win rate to {_short(rows[0].reference)}\n(percentage points, 95 % interval)"
    )
    return figure


def _leaderboards(statistics: BenchStatistics) -> "Figure | None":
    """Draw the scores of each leaderboard by rank, with the place of each arm (CoMind v2, figure 3)."""
    places = [each for each in statistics.leaderboards if each.arms][:_LEADERBOARDS]
    if not places:
        return None
    styles = _styles(statistics)
    figure, rows = _axes(0.6 + 0.8 * len(places), len(places))
    arms = dict.fromkeys(arm for each in places for arm in each.arms)
    for axes, each in zip(rows, places, strict=True):
        shares = [100 * at / (len(each.scores) - 1) for at in range(len(each.scores))]
        axes.plot(shares, each.scores, color="black", linewidth=0.8)
        for arm in arms:
            x, y = each.arms.get(arm, (math.nan, math.nan))
            style = styles[arm]
            axes.plot([x], [y], style.marker, color=style.color, markersize=5, label=_short(arm))
        low, high = _most_scores(each)
        axes.set(xlim=(0, 100), ylim=(low, high), ylabel="Score")
        axes.set_title(_short(each.competition), loc="left")
    rows[-1].set_xlabel("Rank (% of teams)")
    _legend(figure, rows[0], list(arms), length=1)
    return figure


def _most_scores(place: LeaderboardPlace) -> tuple[float, float]:
    """Return the range of an axis: the best nine tenths of the teams, and all arms."""
    shown = [*place.scores[: 1 + 9 * len(place.scores) // 10], *(y for _, y in place.arms.values())]
    margin = 0.05 * (max(shown) - min(shown)) or 1.0
    return min(shown) - margin, max(shown) + margin


def _scatter(statistics: BenchStatistics) -> "Figure | None":
    """Draw the score on the true answers of each run against its validation score."""
    known = [
        (row.arm, row.standard_validation, row.standard_score)
        for row in statistics.shrinkage.runs
        if row.standard_validation is not None and row.standard_score is not None
    ]
    if not known:
        return None
    styles = _styles(statistics)
    figure, (axes,) = _axes(2.9)
    limit = min(_CLIPPED, 1.1 * max(max(abs(x), abs(y)) for _, x, y in known))
    inside = 0.97 * limit
    size = min(14.0, max(3.0, 1500 / len(known)))
    axes.plot((-limit, limit), (-limit, limit), color="black", linewidth=0.6)
    arms = [arm for arm in styles if any(arm == each for each, _, _ in known)]
    for arm in arms:
        style = styles[arm]
        points = [(x, y) for each, x, y in known if each == arm]
        xs, ys = ([max(-inside, min(inside, v)) for v in column] for column in zip(*points, strict=True))
        axes.scatter(
            xs,
            ys,
            s=size,
            linewidths=0.7,
            marker=style.marker,
            facecolors="none",
            edgecolors=style.color,
            label=_short(arm),
        )
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    axes.set_xlabel("Validation score (s.d., larger is better)")
    axes.set_ylabel("Score on the true answers (s.d.)")
    _legend(figure, axes, arms, length=1)
    return figure


def _tokens(statistics: BenchStatistics) -> "Figure | None":
    """Draw prompt and completion tokens per competition of each arm, the first at the top."""
    costs = [each for each in statistics.costs if each.total_tokens]
    if not costs:
        return None
    most = max(max(each.prompt_tokens.mean, each.completion_tokens.mean) for each in costs)
    unit, name = (_MILLION, "millions") if most >= _MILLION else (_THOUSAND, "thousands")
    figure, (axes,) = _axes(0.6 + 0.4 * len(costs))
    bars = (
        ("prompt", "prompt_tokens", "#56B4E9", ""),
        ("completion", "completion_tokens", "#F0E442", "////"),
    )
    for number, (label, field, color, hatch) in enumerate(bars):
        values = [getattr(each, field) for each in costs]
        axes.barh(
            [place + 0.36 * (number - 0.5) for place in range(len(costs))],
            [value.mean / unit for value in values],
            height=0.34,
            xerr=[value.standard_error / unit for value in values],
            error_kw={"elinewidth": 0.8, "capsize": 2, "capthick": 0.8},
            color=color,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.5,
            label=label,
        )
    axes.set_yticks(range(len(costs)), [_wrapped(each.arm) for each in costs])
    axes.set_ylim(len(costs) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"Tokens per competition ({name})")
    _legend(figure, axes, ("prompt", "completion"), length=2)
    return figure


FIGURES: "dict[str, Callable[[BenchStatistics], Figure | None]]" = {
    "win-rate-over-time": _over_time,
    "win-rate-over-cost": _over_cost,
    "win-rate-over-tokens": _over_tokens,
    "code-over-time": _code_over_time,
    "paired-differences": _forest,
    "places-on-leaderboards": _leaderboards,
    "validation-against-test": _scatter,
    "tokens-by-arm": _tokens,
}
"""Functions that draw a figure by its file name; they return None without data."""
