"""docs/mle-bench.md lists every competition, metric and difference of the catalog.

UPDATE_SNAPSHOTS=1 writes its tables again.
"""

import os
import re
from pathlib import Path
from typing import get_args

from comind.metrics import METRICS
from comind.mlebench.catalog import (
    BenchmarkCompetition,
    Difference,
    Issue,
    Mode,
    benchmark_competitions,
)
from tests.unit.metrics.custom import CUSTOM_METRICS

_PAGE = Path(__file__).parents[3] / "docs" / "mle-bench.md"
_ENTRIES = benchmark_competitions()


def _row(entry: BenchmarkCompetition) -> str:
    better = "↑" if entry.maximize else "↓"
    other = f"; MLE-bench: `{entry.mlebench_metric}`" if entry.mlebench_metric else ""
    four = entry.thresholds
    levels = " / ".join(f"{level:g}" for level in (four.gold, four.silver, four.bronze, four.median))
    differences = ", ".join(entry.mlebench)
    cells = (entry.id, entry.category, entry.complexity, f"`{entry.metric}` {better}{other}", levels)
    return f"| {' | '.join(cells)} | {differences} | {', '.join(entry.issues)} |"


def _competitions() -> str:
    head = "| competition | category | complexity | metric | gold / silver / bronze / median"
    lines = [f"{head} | MLE-bench's grader | issues |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_row, _ENTRIES.values())])


def _metrics() -> str:
    lines = ["| metric | better | competitions | equals |", "|---|---|---|---|"]
    for name, metric in CUSTOM_METRICS.items():
        users = [e for e in _ENTRIES.values() if name in {e.metric_in(mode).name for mode in Mode}]
        if not users:
            continue
        better = "higher" if metric.maximize else "lower"
        lines.append(f"| `{name}` | {better} | {len(users)} | {metric.reference} |")
    return "\n".join(lines)


def _page(text: str) -> str:
    for name, table in (("competitions", _competitions()), ("metrics", _metrics())):
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        text = re.sub(pattern, lambda m, table=table: m[1] + table + m[2], text, flags=re.DOTALL)
    return text


def test_the_tables_are_up_to_date() -> None:
    """The page has all tables of the catalog."""
    if os.environ.get("UPDATE_SNAPSHOTS"):
        _PAGE.write_text(_page(_PAGE.read_text()))
    assert _page(_PAGE.read_text()) == _PAGE.read_text()


def test_every_difference_and_issue_is_explained() -> None:
    """Each difference and issue is explained, and applies to some competition."""
    text = _PAGE.read_text()
    for difference in Difference:
        assert f"| `{difference}` |" in text
        assert any(difference in entry.mlebench for entry in _ENTRIES.values()), difference
    for issue in get_args(Issue):
        assert f"| `{issue}` |" in text
        assert any(issue in entry.issues for entry in _ENTRIES.values()), issue


def test_the_registry_is_whole() -> None:
    """There are 75 competitions in the benchmark's proportions, and metrics agree in direction."""
    by_complexity = [
        sum(e.complexity == c for e in _ENTRIES.values()) for c in ("low", "medium", "high")
    ]
    assert by_complexity == [22, 38, 15]
    assert sum(entry.maximize for entry in _ENTRIES.values()) == 53
    for entry in _ENTRIES.values():
        for mode in Mode:
            metric = entry.metric_in(mode)
            assert metric.maximize == entry.maximize
            assert set(metric.context) == set(entry.context)
        four = entry.thresholds
        levels = [four.gold, four.silver, four.bronze, four.median]
        assert levels == sorted(levels, reverse=entry.maximize)
    names = {entry.metric_in(Mode.KAGGLE).name for entry in _ENTRIES.values()}
    assert len(names & set(METRICS)) + len(names & set(CUSTOM_METRICS)) == len(names) == 42
