"""The report in Markdown, the runs as CSV, the statistics as JSON."""

import csv
import io
import json
import re

import pytest

from comind.bench.report_sections import report_sections
from comind.bench.report_tables import runs_csv, statistics_json
from comind.bench.results import BenchResults, RunResult
from comind.bench.statistics import BenchStatistics, compute_statistics
from comind.reporting.markdown import markdown_report
from tests.unit.bench.benches import bench, run, whole_bench


def _with_failures(each: RunResult) -> RunResult | None:
    """Leave one run out, and let another one fail with a reason that has Markdown in it."""
    match each.cell:
        case ("best of many", "competition-0", 1):
            return None
        case ("one attempt", "competition-3", 2):
            return run(
                *each.cell,
                status="failed",
                reason="timed out | <b>[link](x)</b>\nsecond line",
                valid=False,
                maximize=False,
                win_rate=0.0,
                campaign="late",
            )
        case _:
            return each


@pytest.fixture(scope="module")
def results() -> BenchResults:
    return whole_bench(_with_failures)


@pytest.fixture(scope="module")
def statistics(results: BenchResults) -> BenchStatistics:
    return compute_statistics(results)


def _report(results: BenchResults, statistics: BenchStatistics) -> str:
    return markdown_report("Bench", report_sections(results, statistics))


def _tables(report: str) -> dict[str, list[list[str]]]:
    """Return the cells of the first table below each heading."""
    found = {}
    for section in report.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        lines = re.search(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE)
        if lines:
            rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[0].splitlines()]
            found[title] = [[cell.strip() for cell in row] for row in rows]
    return found


def test_a_report_has_every_table(results: BenchResults, statistics: BenchStatistics) -> None:
    """Each section has a table whose rows all have the width of its header."""
    report = _report(results, statistics)
    tables = _tables(report)
    assert list(tables) == [
        "Results",
        "Differences to one attempt",
        "Win rate over the course of campaigns",
        "By kind of data",
        "By complexity",
        "Tokens and cost per competition",
        "Tokens read, cached and written",
        "Best of several runs",
        "Until the final win rate of one attempt is reached",
        "Programs by kind of data",
        "Validation scores against true answers",
        "By competition",
        "Conditions",
        "Runs without a valid submission",
    ]
    for rows in tables.values():
        assert {len(row) for row in rows} == {len(rows[0])}
    for block in re.findall(r"(?:^\|.*\n)+", report, re.MULTILINE):
        assert len({len(line) for line in block.splitlines()}) == 1, "not aligned"
    assert [row[0] for row in tables["By complexity"][2::3]] == ["low", "medium", "high"]


def test_means_have_their_standard_errors(results: BenchResults, statistics: BenchStatistics) -> None:
    """The headline shows mean and standard error of the summary, the differences their interval."""
    tables = _tables(_report(results, statistics))
    rate = statistics.summaries[0].win_rate
    assert rate is not None
    assert tables["Results"][2][1] == f"{rate.mean:.1f} ± {rate.standard_error:.1f}"
    (first, _) = statistics.differences
    assert first.interval is not None
    shown = tables["Differences to one attempt"][2]
    assert shown[2] == f"{first.interval.low:+.1f} to {first.interval.high:+.1f}"


def test_failures_are_listed_with_reasons(results: BenchResults, statistics: BenchStatistics) -> None:
    """Missing and failed runs are counted and listed; markup of a reason is escaped, on one line."""
    report = _report(results, statistics)
    assert "71 of 72 runs, 1 missing." in report
    assert _tables(report)["Runs without a valid submission"][2:] == [
        ["best of many", "competition-0", "1", "-", "missing", "no run"],
        [
            "one attempt",
            "competition-3",
            "2",
            "late",
            "failed",
            r"timed out \| \<b\>\[link\](x)\</b\> second line",
        ],
    ]


def test_conditions_are_stated(results: BenchResults, statistics: BenchStatistics) -> None:
    """Feedback, network, knowledge of each arm, seeds and known leaks are in a table."""
    rows = dict(_tables(_report(results, statistics))["Conditions"][2:])
    assert rows["feedback from true answers"] == "none"
    assert rows["network of agents' code"] == "none"
    assert rows["knowledge of graph search"] == "community until 2024-05-01"
    assert rows["seeds"] == "0, 1, 2 (splits and sampling of the model)"
    assert rows["known leaks of competition-1"] == "leak: answers are on the forum"


def test_a_small_bench_has_a_report() -> None:
    """One arm with one run has no differences and no standard errors; what is unknown is a dash."""
    results = bench([run("base", "a", 0, win_rate=None, score=2.0)], ("base",))
    report = _report(results, compute_statistics(results))
    assert "There is no other arm." in report
    assert _tables(report)["Results"][2][:6] == ["base (reference)", "-", "-", "-", "-", "100.0"]
    assert _tables(report)["By competition"][2] == ["a", "base", "2", "-", "0", "1", "1", "-"]
    assert report.endswith("None.\n")


def test_csv_has_one_row_a_run(results: BenchResults) -> None:
    """Rows are in the order of the plan, and have every field except curve and program."""
    turned = BenchResults.model_validate({**results.model_dump(), "runs": results.runs[::-1]})
    assert runs_csv(turned) == runs_csv(results)
    rows = list(csv.DictReader(io.StringIO(runs_csv(results))))
    assert len(rows) == len(results.runs) == 71
    names = ["kind" if name == "category" else name for name in RunResult.model_fields]
    assert list(rows[0]) == [name for name in names if name not in ("curve", "program")]
    assert (rows[0]["arm"], rows[0]["valid"], rows[0]["medal"]) == ("graph search", "true", "silver")
    assert float(rows[0]["score"]) == results.by_cell["graph search", "competition-0", 0].score


def test_json_has_plan_conditions_and_statistics(
    results: BenchResults, statistics: BenchStatistics
) -> None:
    """The statistics are read back equal; missing cells are listed."""
    found = json.loads(statistics_json(results, statistics))
    assert BenchStatistics.model_validate(found["statistics"]) == statistics
    assert found["missing"] == [["best of many", "competition-0", 1]]
    assert found["conditions"]["reference"] == "one attempt"
