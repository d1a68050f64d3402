"""What one submission causes is the result of its grading, and no fault of the grader."""

import json
from pathlib import Path
from typing import cast

import pytest

from comind.errors import DiskError, SubmissionError
from comind.grading.grader_process import _FoldGrader
from comind.grading.grader_server import SplitGrader, _grade

_FILE = Path("submission.csv")


class _Failing:
    """A grader whose metric fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def fold(self, _number: int) -> "_Failing":
        return self

    def grade(self, *_files: Path) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SubmissionError("a cell is no number"), "a cell is no number"),
        (IndexError("sealed label 7"), "grading failed (IndexError)"),
    ],
)
def test_a_failed_grading_is_reported_without_labels(error: Exception, reason: str) -> None:
    """An exception of the code over a submission is the result for it; its text stays in the log."""
    grader = cast("SplitGrader", _Failing(error))
    assert json.loads(_grade(grader, b'{"grade": ["v.csv", "t.csv"]}')) == {"unreadable": reason}


def test_a_full_disk_is_no_fault_of_a_submission() -> None:
    """It is a fault of the service, after which the step is graded again."""
    full = DiskError("v.csv: no space left in /tmp")
    grader = cast("SplitGrader", _Failing(full))
    assert json.loads(_grade(grader, b'{"grade": ["v.csv", "t.csv"]}')) == {"fault": str(full)}


def test_what_cannot_be_graded_is_invalid() -> None:
    """Submissions that exceed a limit get a report; two that cannot be compared have no difference."""
    why = "grading needed more than 600 s of processor time"
    grader = _FoldGrader(lambda *_request, **_more: {"unreadable": why}, 0)
    for report in (grader.grade(_FILE, _FILE), grader.check(_FILE), grader.out_of_fold(_FILE)):
        assert (report.valid, report.message, report.score) == (False, why, None)
    with pytest.raises(SubmissionError, match=why):
        grader.compare(_FILE, _FILE)
