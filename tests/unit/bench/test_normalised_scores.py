"""Scores of programs are averaged over competitions, and compared pair by pair."""

import pytest

from comind.bench.normalised_scores import normalised_scores
from comind.bench.report_sections import report_sections
from comind.bench.results import RunResult
from comind.bench.statistics import compute_statistics
from comind.reporting.markdown import markdown_report
from tests.unit.bench.benches import bench, run


def _program(arm: str, name: str, seed: int, score: float | None) -> RunResult:
    fields = {"valid": score is not None, "score": score, "normalised_score": score or 0.0}
    return run(arm, name, seed, win_rate=None, **fields)


def test_scores_of_programs_are_means_over_competitions() -> None:
    """A run without a valid program counts 0, tables do not count, and differences have intervals."""
    runs = [
        _program("a", "tsp", 0, 0.9),
        _program("a", "tsp", 1, 0.7),
        _program("a", "packing", 0, 1.0),
        _program("a", "packing", 1, None),
        _program("b", "tsp", 0, 0.9),
        _program("b", "tsp", 1, 0.9),
        _program("b", "packing", 0, 0.5),
        _program("b", "packing", 1, 0.5),
        run("a", "titanic", 0, score=0.8),
    ]
    results = bench(runs, arms=("b", "a"))
    second, first = normalised_scores(results)
    assert first.by_competition == pytest.approx({"tsp": 0.8, "packing": 0.5})
    assert first.mean == pytest.approx(0.65)
    assert (first.difference, first.interval) == (None, None)
    assert second.difference == pytest.approx(0.05)
    assert second.interval is not None
    assert second.interval.low < 0 < second.interval.high
    report = markdown_report("t", report_sections(results, compute_statistics(results)))
    assert "## Normalised scores of programs" in report


def test_benches_of_tables_have_no_such_section() -> None:
    """The section is there for competitions of programs alone."""
    results = bench([run("a", "titanic", 0, score=0.8)], arms=("a",))
    assert normalised_scores(results) == ()
    assert "Normalised" not in markdown_report(
        "t", report_sections(results, compute_statistics(results))
    )
