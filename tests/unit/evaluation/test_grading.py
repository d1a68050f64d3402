"""Grading: the right form first, then the score; what is wrong is one line."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.evaluation.grading import AnswerSheet, SubmissionForm
from comind.evaluation.metrics import METRICS
from comind.evaluation.report import GradeReport

_ANSWERS = pd.DataFrame({"id": ["1", "2", "3", "4"], "label": ["yes", "no", "no", "yes"]})


def _grade(tmp_path: Path, text: str | bytes, answers: pd.DataFrame = _ANSWERS) -> GradeReport:
    path = tmp_path / "submission.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    form = SubmissionForm(answers, ("id",), ("label",), METRICS["accuracy"])
    return AnswerSheet(form, answers).grade(path)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("id,label\n1,yes\n2,no\n3,no\n4,yes\n", 1.0),
        ("id,label\n4,yes\n3,no\n2,no\n1,yes\n", 1.0),
        ("label,id\nyes,1\nno,2\nyes,3\nyes,4\n", 0.75),
        ("id,label\n1.0,yes\n2.0,yes\n3.0,yes\n4.0,yes\n", 0.5),
        (b"\xef\xbb\xbfid,label\r\n1,no\r\n2,yes\r\n3,yes\r\n4,no\r\n", 0.0),
    ],
    ids=["as asked", "other order", "columns swapped", "ids as floats", "byte order mark"],
)
def test_a_readable_submission_is_scored(tmp_path: Path, text: str | bytes, score: float) -> None:
    """Rows are matched by id, whatever their order, and columns by name."""
    report = _grade(tmp_path, text)
    assert report.score is not None, report.message
    assert report.score.value.value == score
    assert report.score.interval.low <= score <= report.score.interval.high


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,label\n", "4 of 4 ids (id) are missing, for instance '1'"),
        ("id,label\n1,yes\n2,no\n3,no\n", "1 of 4 ids (id) are missing, for instance '4'"),
        ("id,label\n1,yes\n2,no\n3,no\n4,no\n5,no\n", "1 ids (id) are not asked for, for instance '5'"),
        ("id,label\n1,yes\n1,no\n3,no\n4,no\n", "the id '1' (id) appears twice"),
        ("id,labels\n1,yes\n", "the column 'label' is missing; expected id, label"),
        ("id,label,x\n1,yes,0\n", "the column 'x' is not asked for; expected id, label"),
        ("id,label\n1,yes\n2,\n3,no\n4,no\n", "column 'label': 1 rows have no label"),
        ("id,label\n1,yes,7\n2,no,7\n", "more cells than its header"),
        ("id,label,label\n1,yes,no\n", "the column 'label' appears twice"),
        (b"id,label\n1,\xff\xfe\n", "is not UTF-8 text"),
        (b"id,label\n1,\x00\n", "binary"),
    ],
)
def test_a_bad_submission_is_told_in_one_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    """The report of an invalid submission names the first thing that is wrong."""
    report = _grade(tmp_path, text)
    assert not report.valid
    assert report.score is None
    assert message in report.message
    assert "\n" not in report.message


@given(
    labels=st.lists(st.sampled_from(["yes", "no", "maybe", "1", "1.0"]), min_size=1, max_size=30),
    order=st.randoms(use_true_random=False),
)
def test_order_never_changes_a_grade(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str], order: object
) -> None:
    """Shuffling the rows of a submission gives the same score and the same interval."""
    folder = tmp_path_factory.mktemp("grade")
    answers = pd.DataFrame({"id": [str(i) for i in range(len(labels))], "label": labels[::-1]})
    rows = [f"{i},{label}" for i, label in enumerate(labels)]
    first = _grade(folder, "\n".join(["id,label", *rows]), answers)
    order.shuffle(rows)  # type: ignore[attr-defined]
    assert _grade(folder, "\n".join(["id,label", *rows]), answers) == first


def test_the_interval_narrows_with_more_rows(tmp_path: Path) -> None:
    """A score on a hundred times the rows is known about ten times better."""
    widths = []
    for rows in (40, 4000):
        answers = pd.DataFrame({"id": map(str, range(rows)), "label": ["a", "b"] * (rows // 2)})
        text = "\n".join(["id,label", *(f"{i},a" for i in range(rows))])
        score = _grade(tmp_path, text, answers).score
        assert score is not None
        widths.append(score.interval.high - score.interval.low)
    assert widths[0] / widths[1] == pytest.approx(10, rel=0.2)
