"""The page of a bench loads nothing, runs nothing, and has all tables and figures."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from comind.app.bench_results import bench_page
from comind.bench.figures import write_figures
from comind.bench.report_sections import report_sections
from comind.bench.results import BenchResults, RunResult
from comind.bench.statistics import compute_statistics
from comind.reporting.sections import ReportTable
from tests.unit.bench.benches import run, whole_bench

_PAYLOADS = (
    "<script>alert(1)</script>",
    "</td></table><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}{% include 'x' %}",
    "</style><style>body{display:none}</style>",
    "javascript:alert(1)",
    "\u202e\u2066<svg onload=alert(1)>",
)


def _failing(*reasons: str) -> BenchResults:
    """Return a bench in which a run fails for each of these reasons."""
    cells = {("one attempt", f"competition-{n}", 0): reason for n, reason in enumerate(reasons)}

    def fail(each: RunResult) -> RunResult:
        if each.cell not in cells:
            return each
        changes = {"status": "failed", "valid": False, "maximize": each.maximize, "win_rate": 0.0}
        return run(*each.cell, **changes, reason=cells[each.cell])

    return whole_bench(fail)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))


def _tags(page: str) -> list[tuple[str, tuple[str, ...]]]:
    parser = _Tags()
    parser.feed(page)
    return parser.tags


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[BenchResults, str]:
    """A bench with failures that have harmless reasons, and its page."""
    results = _failing(*["timed out"] * len(_PAYLOADS))
    statistics = compute_statistics(results)
    figures = write_figures(statistics, tmp_path_factory.mktemp("figures"))
    return results, bench_page(results, statistics, figures)


def test_it_has_every_table_and_figure(plain: tuple[BenchResults, str]) -> None:
    """The tables are those of the report in Markdown; the figures are images."""
    results, page = plain
    sections = report_sections(results, compute_statistics(results))
    tables = [part for each in sections for part in each.parts if isinstance(part, ReportTable)]
    assert page.count("<table>") == len(tables)
    assert page.count('src="data:image/svg+xml;base64,') == 8
    assert "timed out" in page


def test_it_needs_no_network_and_no_script(plain: tuple[BenchResults, str]) -> None:
    """Its policy allows its own style and images in the page alone."""
    _, page = plain
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []
    assert "<script" not in page
    policy = r"default-src 'none'; style-src 'sha256-[^']{44}'; img-src data:"
    assert re.search(policy, unescape(page))


def test_reasons_cannot_inject_anything(plain: tuple[BenchResults, str]) -> None:
    """Whatever a reason holds, the page has the elements and attributes of a harmless one."""
    pages = [
        bench_page(results, compute_statistics(results)) for results in (plain[0], _failing(*_PAYLOADS))
    ]
    assert _tags(pages[0]) == _tags(pages[1])
    assert "&lt;script&gt;" in pages[1]
