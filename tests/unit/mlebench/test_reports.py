"""Reports are readable by MLE-bench's tools and averaged as by them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from comind.grading.grading_report import grading_report, submission_lines, summarise
from tests.unit.mlebench.reports import report

_AGGREGATOR = os.environ.get("MLEBENCH_AGGREGATOR", "")
_PYTHON = os.environ.get("MLEBENCH_PYTHON", sys.executable)

_KEYS = {
    "competition_id": str,
    "score": float,
    "gold_threshold": float,
    "silver_threshold": float,
    "bronze_threshold": float,
    "median_threshold": float,
    "any_medal": bool,
    "gold_medal": bool,
    "silver_medal": bool,
    "bronze_medal": bool,
    "above_median": bool,
    "submission_exists": bool,
    "valid_submission": bool,
    "is_lower_better": bool,
    "created_at": str,
    "submission_path": str,
}
"""The keys of MLE-bench's CompetitionReport.from_dict."""

SPOOKY, LEAF, PIZZA = "spooky-author-identification", "leaf-classification", "random-acts-of-pizza"

REPORTS = [
    report(SPOOKY, 1, "gold", win_rate=0.9, rank=3, teams=20),
    report(LEAF, 1, None, win_rate=0.4, rank=12, teams=20),
    report(PIZZA, 1, "bronze", win_rate=0.8, rank=4, teams=20),
    report(SPOOKY, 2, None, valid_submission=False, score=None, teams=20),
    report(LEAF, 2, "silver", win_rate=0.7, rank=6, teams=20),
    report(PIZZA, 2, None, win_rate=0.2, rank=16, teams=20),
]


def test_a_grading_report_has_the_keys_of_mlebench() -> None:
    """Every key has the type that MLE-bench expects; further keys describe the run."""
    written = json.loads(json.dumps(grading_report(REPORTS[:3])))
    assert (written["total_runs"], written["total_medals"], written["total_gold_medals"]) == (3, 2, 1)
    for told in written["competition_reports"]:
        assert {key: type(told[key]) for key in _KEYS} == _KEYS
        assert told["any_medal"] == (told["gold_medal"] or told["silver_medal"] or told["bronze_medal"])
        assert (told["track"], told["internet_access"], told["test_feedback"]) == (
            "closed",
            False,
            "none",
        )


def test_lines_for_mlebench_grade() -> None:
    """The path of a missing submission is null."""
    lines = submission_lines([REPORTS[0], report(LEAF, 1, submission_exists=False)])
    assert [line["submission_path"] for line in lines] == [REPORTS[0].submission_path, None]


def test_means_and_errors_over_seeds() -> None:
    """Mean and standard error over seeds equal values computed by hand."""
    (summary,) = summarise(REPORTS)
    lines = {line.name: line for line in summary.lines}
    every = lines["all"]
    assert (every.competitions, every.seeds, summary.dropped) == (3, 2, ())
    assert every.shares["any_medal"].mean == pytest.approx(50)
    assert every.shares["any_medal"].standard_error == pytest.approx(100 / 6)
    assert every.shares["valid_submission"].mean == pytest.approx(100 * (1 + 2 / 3) / 2)
    assert every.win_rate is not None
    assert every.win_rate.mean == pytest.approx(100 * (2.1 / 3 + 0.9 / 3) / 2)
    low, high = every.shares["any_medal"].interval
    assert high - low == pytest.approx(2 * 1.96 * 100 / 6)


def test_flagged_competitions_can_be_left_out() -> None:
    """There is a row for all competitions, one without flagged ones, and rows by kind."""
    (summary,) = summarise(REPORTS)
    lines = {line.name: line for line in summary.lines}
    assert lines["all without flagged"].competitions == 2  # random-acts-of-pizza leaks
    assert lines["all without flagged"].shares["any_medal"].mean == pytest.approx(50)
    assert {"complexity low", "category text cls"} <= set(lines)
    assert sum(line.competitions for name, line in lines.items() if name.startswith("category")) == 3


def test_incomplete_seeds_are_left_out_and_named() -> None:
    """A third report on one competition only is dropped, not a third seed."""
    extra = report(SPOOKY, 3, "gold")
    (summary,) = summarise([*REPORTS, extra])
    assert summary.dropped == (extra.campaign,)
    assert summary.lines[0].seeds == 2


def test_systems_and_tracks_are_never_mixed() -> None:
    """Runs with community material are summarised separately."""
    other = [report(SPOOKY, 1, "gold", track="community"), report(SPOOKY, 1, model="gpt")]
    groups = [str(summary.group) for summary in summarise([REPORTS[0], *other])]
    assert groups == [
        "comind, offline, track closed",
        "comind, offline, track community",
        "comind, gpt, track closed",
    ]


@pytest.mark.oracle
@pytest.mark.skipif(not _AGGREGATOR, reason="MLEBENCH_AGGREGATOR names no aggregate_grading_reports.py")
def test_the_aggregator_of_mlebench_says_the_same(tmp_path: Path) -> None:
    """MLE-bench's aggregator reads the files and computes the same means and errors."""
    files = []
    for seed in (1, 2):
        files.append(tmp_path / f"{seed}_grading_report.json")
        files[-1].write_text(json.dumps(grading_report([r for r in REPORTS if r.seed == seed])))
    split = tmp_path / "split.txt"
    split.write_text(f"{SPOOKY}\n{LEAF}\n{PIZZA}\n")
    command = [_PYTHON, _AGGREGATOR, "--grading-reports", *map(str, files), "--split", str(split)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.partition("across seeds:\n")[2])["metrics"]
    (summary,) = summarise(REPORTS)
    for key, share in summary.lines[0].shares.items():
        names = (f"{key}_percentage", f"{key}s_percentage")
        told = next(theirs[name] for name in names if name in theirs)
        assert told["mean"] == pytest.approx(share.mean)
        assert told["standard_error"] == pytest.approx(share.standard_error)
