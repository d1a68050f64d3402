"""Render a bench as one self-contained HTML page: the tables of its report, and its figures."""

import base64
import hashlib
import tempfile
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from comind.bench.figures import write_figures
from comind.bench.report_sections import report_sections
from comind.bench.results import BenchResults
from comind.bench.statistics import BenchStatistics

__all__ = ["bench_page"]

_PACKAGE = "comind.bench"


def bench_page(results: BenchResults, statistics: BenchStatistics) -> str:
    """Return the page as HTML; it loads nothing and runs no script.

    All text is escaped, as reasons of failures may hold words of models. Figures are images, so that
    nothing in them can be active.
    """
    style = Markup("\n" + _asset("bench_page.css"))  # noqa: S704 - a file of ours
    environment = Environment(
        loader=PackageLoader(_PACKAGE, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("bench_page.html.j2").render(
        name=results.name,
        sections=report_sections(results, statistics),
        figures=_figures(statistics),
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{_sha256(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
    )


def _figures(statistics: BenchStatistics) -> list[dict[str, str]]:
    """Return title and data URI of each figure."""
    with tempfile.TemporaryDirectory(prefix="comind-figures-") as folder:
        files = [path for path in write_figures(statistics, Path(folder)) if path.suffix == ".svg"]
        return [
            {
                "title": path.stem.replace("-", " ").capitalize(),
                "source": f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}",
            }
            for path in files
        ]


def _asset(name: str) -> str:
    return (resources.files(_PACKAGE) / name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
