"""Style and render the figures of reports with matplotlib, and draw curves over time.

Lines have the colours of Okabe and Ito (Color Universal Design, 2008), and differ in style and marker.
Files have no date, so equal values give equal bytes.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

_DPI = 300
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.", ":")
_MARKERS = "osD^vPX*"
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
_SIZE = (6.6, 2.6)  # inches

_SETTINGS: "dict[RcKeyType, Any]" = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.4,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "bench",
    "text.parse_math": False,  # a name may contain a dollar sign
}


class Curve(NamedTuple):
    """A named line of values over time."""

    name: str
    points: Sequence[tuple[datetime, float]]


class LineStyle(NamedTuple):
    """Colour, line style and marker of a line."""

    color: str
    line: str
    marker: str


def line_style(number: int) -> LineStyle:
    """Return the style of a line, by its number."""
    return LineStyle(
        _COLORS[number % len(_COLORS)],
        _LINES[number % len(_LINES)],
        _MARKERS[number % len(_MARKERS)],
    )


@contextmanager
def paper_style() -> Iterator[None]:
    """Set matplotlib up for figures of papers while the block runs."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def rendered(figure: "Figure", form: str) -> bytes:
    """Return a figure in the format `svg` or `png`."""
    content = io.BytesIO()
    figure.savefig(content, format=form, dpi=_DPI, metadata=_METADATA[form])
    return content.getvalue()


def curves_svg(curves: Sequence[Curve], label: str) -> bytes:
    """Draw curves over time as SVG; `label` is that of their values."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    with paper_style():
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        for number, curve in enumerate(curves):
            style = line_style(number)
            times, values = zip(*curve.points, strict=True)
            axes.plot(
                times, values, style.line, color=style.color, marker=style.marker, label=curve.name
            )
        axes.set_ylabel(label)
        locator = AutoDateLocator(minticks=2, maxticks=7)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        figure.legend(loc="outside upper center", ncols=len(curves))
        return rendered(figure, "svg")
