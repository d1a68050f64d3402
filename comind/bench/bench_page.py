"""Render a bench as one self-contained HTML page: the tables of its report, and its figures."""

import base64
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from comind.bench.report_sections import report_sections
from comind.bench.results import BenchResults
from comind.bench.statistics import BenchStatistics
from comind.system.html_pages import html_templates, policy_hash

__all__ = ["bench_page"]

_PACKAGE = "comind.bench"


def bench_page(results: BenchResults, statistics: BenchStatistics, figures: Iterable[Path] = ()) -> str:
    """Return the page as HTML; it loads nothing and runs no script.

    All text is escaped, as reasons of failures may hold words of models. The SVG files of `figures` are
    shown as images, so that nothing in them can be active.
    """
    text = (resources.files(_PACKAGE) / "bench_page.css").read_text(encoding="utf-8")
    style = Markup("\n" + text)  # noqa: S704 - a file of ours
    return (
        html_templates(_PACKAGE)
        .get_template("bench_page.html.j2")
        .render(
            name=results.name,
            sections=report_sections(results, statistics),
            figures=[_image(path) for path in figures if path.suffix == ".svg"],
            style=style,
            policy=f"default-src 'none'; style-src {policy_hash(style)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def _image(path: Path) -> dict[str, str]:
    """Return title and data URI of a figure."""
    return {
        "title": path.stem.replace("-", " ").capitalize(),
        "source": f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}",
    }
