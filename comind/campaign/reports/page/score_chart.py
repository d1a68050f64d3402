"""Compute the chart of scores against the campaign's time, in the pixels of an SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from comind.domain.metric import ValidationScore

_TOP, _RIGHT, _BOTTOM = 14, 16, 40
_CHARACTER = 7  # width of a digit in the labels
_SECONDS = (1, 2, 5, 10, 15, 30)
_TICKS = tuple(scale * each for scale in (1, 60) for each in _SECONDS) + tuple(
    3600 * each for each in (1, 2, 3, 6, 12, 24, 48, 96, 168, 336)
)
_MOST_DIGITS, _MOST = 6, 1e7  # of a label beside the axis
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A scored attempt at the campaign's time, in seconds, when it ended."""

    work_id: str
    title: str
    seconds: float
    score: ValidationScore
    picked: bool = False
    rejected: bool = False
    """Whether its agent rejected it, so that it cannot be the best."""


@dataclass(frozen=True, slots=True)
class _Dot:
    x: float
    y: float
    low: float
    high: float
    work_id: str
    label: str
    picked: bool


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """Coordinates of points, intervals, the best so far as a step line, and of the ticks."""

    width: int
    height: int
    left: float
    right: float
    bottom: float
    dots: tuple[_Dot, ...]
    best: str
    """Points of the step line."""
    rows: tuple[tuple[float, str], ...]
    """Horizontal lines: height and label."""
    columns: tuple[tuple[float, str], ...]
    """Ticks of time: place and label."""


def score_chart(points: Sequence[ChartPoint], seconds: float, width: int, height: int) -> ScoreChart:
    """Compute a chart of `width` x `height` pixels up to the campaign's time of `seconds`.

    Args:
        points: at least one, in the order of ending.
        seconds: campaign time at the right end; later points extend it.
        width: of the SVG's view box, in pixels.
        height: of the SVG's view box, in pixels.
    """
    bottom, top = _range_of([each.score for each in points])
    step = _step(top - bottom, height)
    first, last = math.floor(bottom / step), math.ceil(top / step)
    low, high = first * step, last * step
    labels = [_number(each * step, step) for each in range(first, last + 1)]
    left = 10.0 + _CHARACTER * max(map(len, labels))
    end = max([seconds, 1.0, *(each.seconds for each in points)])

    def across(at: float) -> float:
        return round(left + 8 + at / end * (width - _RIGHT - left - 8), 1)

    def up(value: float) -> float:
        inside = height - _TOP - _BOTTOM
        return round(_TOP + inside * (1 - (min(max(value, low), high) - low) / (high - low)), 1)

    return ScoreChart(
        width=width,
        height=height,
        left=left,
        right=width - _RIGHT,
        bottom=height - _BOTTOM,
        dots=tuple(
            _Dot(
                x=across(each.seconds),
                y=up(each.score.value.value),
                low=up(each.score.interval.low),
                high=up(each.score.interval.high),
                work_id=each.work_id,
                label=f"{each.work_id}, {each.title}: {each.score}, after {duration(each.seconds)}",
                picked=each.picked,
            )
            for each in points
        ),
        best=" ".join(f"{across(at)},{up(value)}" for at, value in _best_so_far(points, end)),
        rows=tuple((up((first + n) * step), label) for n, label in enumerate(labels)),
        columns=tuple((across(at), duration(at)) for at in _times(end, width - left)),
    )


def duration(seconds: float) -> str:
    """Return a duration in its two largest units; below ten seconds with two digits."""
    if seconds < 9.95:  # noqa: PLR2004 - rounds to two digits
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, rest = divmod(minutes, 60)
    return f"{hours} h" + (f" {rest} min" if rest else "")


def digits(value: float) -> str:
    """Return a score with five significant digits, trailing zeros included."""
    return f"{value:#.5g}".rstrip(".")


def _range_of(scores: Sequence[ValidationScore]) -> tuple[float, float]:
    """Return the lowest and highest value to show.

    Scores far outside the better three quarters, such as of a first try that failed, are drawn at the
    edge, as they would flatten all others.
    """
    ordered = sorted(scores, key=lambda each: each.value.signed, reverse=True)
    better = ordered[: max(1, math.ceil(len(ordered) * 3 / 4))]
    bounds = [bound for each in better for bound in (each.interval.low, each.interval.high)]
    low, high = min(bounds), max(bounds)
    margin = (high - low) / 2
    near = [each for each in ordered if low - margin <= each.value.value <= high + margin]
    shown = [bound for each in near for bound in (each.interval.low, each.interval.high)]
    low, high = min(shown), max(shown)
    if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12):
        half = abs(low) / 20 or 0.5
        return low - half, high + half
    return low, high


def _step(span: float, height: int) -> float:
    """Return a round distance of horizontal lines, about 50 pixels apart."""
    rough = span / max(2, (height - _TOP - _BOTTOM) / 50)
    scale = 10.0 ** math.floor(math.log10(rough))
    return next((scale * each for each in _STEPS if scale * each >= rough), 10 * scale)


def _number(value: float, step: float) -> str:
    """Format a tick's value with the digits that its distance to the next one needs."""
    digits = max(0, math.ceil(-math.log10(step) - 1e-9))
    if step < 10 and f"{step:.1e}".startswith("2.5"):  # noqa: PLR2004 - one digit more
        digits += 1
    return f"{value:.{digits}f}" if digits <= _MOST_DIGITS and abs(value) < _MOST else f"{value:.3g}"


def _best_so_far(points: Sequence[ChartPoint], end: float) -> list[tuple[float, float]]:
    """Return time and value at the corners of the step line."""
    corners: list[tuple[float, float]] = []
    best, able = None, [each for each in points if not each.rejected] or points
    for each in sorted(able, key=lambda point: point.seconds):
        value = each.score.value
        if value.better_than(best):
            corners += [(each.seconds, best.value)] if best is not None else []
            corners.append((each.seconds, value.value))
            best = value
    return [*corners, (end, corners[-1][1])]


def _times(end: float, width: float) -> list[float]:
    """Return round times from 0 to `end`, at least 70 pixels apart."""
    most = max(1.0, width / 90)
    step = next((each for each in _TICKS if end / each <= most), end)
    return [step * number for number in range(int(end / step) + 1)]
