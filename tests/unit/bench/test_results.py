"""Results are consistent, survive a round trip through JSON, and are rejected in one line."""

from typing import Any

import pytest
from pydantic import ValidationError

from comind.bench.results import RunResult, ScorePoint, dump_results, load_results
from comind.errors import UsageError
from tests.unit.bench.benches import bench, run, whole_bench


def test_results_survive_json() -> None:
    """What is written is read back equal, and written as the same text."""
    results = whole_bench()
    text = dump_results(results)
    again = load_results(text, "results.json")
    assert again == results
    assert dump_results(again) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "results.json: Expecting property"), ('{"name": "x"}', "results.json: arms: field required")],
)
def test_a_bad_file_is_one_line(text: str, words: str) -> None:
    """Text that is not the JSON of results is an error that names the file."""
    with pytest.raises(UsageError, match=words):
        load_results(text, "results.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"score": None},
        {"status": "missing"},
        {"valid": False, "win_rate": 0.2},
        {"valid": False, "win_rate": None, "medal": "gold"},
        {"win_rate": 1.2},
        {"score": float("nan")},
        {
            "curve": (
                ScorePoint(seconds=2, usd=0, validation_score=1),
                ScorePoint(seconds=1, usd=0, validation_score=1),
            )
        },
    ],
)
def test_an_inconsistent_run_is_rejected(changes: dict[str, Any]) -> None:
    """A run whose fields contradict each other is rejected."""
    with pytest.raises(ValidationError):
        run("base", "a", 0, **changes)


@pytest.mark.parametrize(
    ("runs", "arms", "words"),
    [
        ([run("ours", "a", 0), run("ours", "a", 0)], ("ours",), "has 2 runs"),
        ([run("stray", "a", 0)], ("ours",), "is not planned"),
        ([run("ours", "a", 0)], ("ours", "ours"), "an? arm is listed twice"),
        ([run("ours", "a", 0), run("ours", "a", 1, win_rate=None, score=1)], ("ours",), "no win rate"),
        ([run("ours", "a", 0), run("ours", "a", 1, maximize=False)], ("ours",), "larger is better"),
    ],
)
def test_inconsistent_results_are_rejected(
    runs: list[RunResult], arms: tuple[str, ...], words: str
) -> None:
    """Runs that contradict the plan or each other are rejected."""
    with pytest.raises(ValidationError, match=words):
        bench(runs, arms)


def test_the_reference_is_an_arm() -> None:
    """A reference that is not an arm is rejected."""
    results = whole_bench().model_dump()
    results["conditions"]["reference"] = "unknown"
    with pytest.raises(ValidationError, match="is not an arm"):
        type(whole_bench()).model_validate(results)


def test_missing_cells_are_those_without_a_run() -> None:
    """A planned cell is missing if its run has that status, and if it has none."""
    results = bench(
        [run("ours", "a", 0), run("base", "a", 0, valid=False, win_rate=None, status="missing")]
    )
    assert results.missing == (("base", "a", 0),)
    assert bench([run("ours", "a", 0)]).missing == (("base", "a", 0),)
