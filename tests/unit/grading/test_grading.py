"""Grading: submissions are validated, then scored; errors are one line."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.grading.grader_port import GradeReport
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers
from comind.metrics import METRICS
from tests.examples import examples

_ANSWERS = pd.DataFrame({"id": ["1", "2", "3", "4"], "label": ["yes", "no", "no", "yes"]})


def _grade(tmp_path: Path, text: str | bytes, answers: pd.DataFrame = _ANSWERS) -> GradeReport:
    path = tmp_path / "submission.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    form = SubmissionSchema(answers, ("id",), ("label",), METRICS["accuracy"])
    return Answers(form, answers).grade(path)


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
    """Rows are matched by id in any order, and columns by name."""
    report = _grade(tmp_path, text)
    assert report.score is not None, report.message
    assert report.score.value.value == score
    assert report.score.interval.low <= score <= report.score.interval.high


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("id,label\n1,yes\n", "3 of 4 ids (id) are missing, for instance '2'")],
    ids=["unreadable", "readable"],
)
def test_a_bad_submission_is_a_report(tmp_path: Path, text: str, message: str) -> None:
    """Any submission gets a report, which does not contain the path on the host."""
    report = _grade(tmp_path, text)
    assert (report.valid, report.message, report.score) == (False, message, None)


def test_without_a_metric_only_an_empty_cell_is_refused(tmp_path: Path) -> None:
    """Without a metric, any text is valid except an empty cell."""
    path = tmp_path / "submission.csv"
    form = SubmissionSchema(_ANSWERS, ("id",), ("label",), None)
    path.write_text("id,label\n1,?\n2,-\n3,0\n4,nan\n")
    assert form.read(path)["label"].tolist() == ["?", "-", "0", "nan"]
    path.write_text("id,label\n1,yes\n2, \n3,no\n4,no\n")
    assert form.check(path).message == "column 'label': nothing in 1 of 4 rows"


def test_several_id_columns_make_one_key(tmp_path: Path) -> None:
    """Rows are matched by all id columns together; a missing key is shown as a tuple."""
    answers = pd.DataFrame({"day": ["1", "1", "2"], "shop": ["a", "b", "a"], "label": ["x", "y", "z"]})
    form = SubmissionSchema(answers, ("day", "shop"), ("label",), METRICS["accuracy"])
    sheet = Answers(form, answers)
    path = tmp_path / "s.csv"
    path.write_text("shop,day,label\na,2.0,z\nb,1,y\na,1,x\n")
    graded = sheet.grade(path)
    assert graded.score is not None, graded.message
    assert graded.score.value.value == 1.0
    path.write_text("shop,day,label\na,2,z\nb,1,y\n")
    assert sheet.grade(path).message == (
        "1 of 3 ids (day and shop) are missing, for instance ('1', 'a')"
    )


@examples(25)
@given(
    labels=st.lists(st.sampled_from(["yes", "no", "maybe", "1", "1.0"]), min_size=1, max_size=30),
    order=st.randoms(use_true_random=False),
)
def test_order_never_changes_a_grade(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str], order: object
) -> None:
    """Shuffling the rows of a submission changes neither score nor interval."""
    folder = tmp_path_factory.mktemp("grade")
    answers = pd.DataFrame({"id": [str(i) for i in range(len(labels))], "label": labels[::-1]})
    rows = [f"{i},{label}" for i, label in enumerate(labels)]
    first = _grade(folder, "\n".join(["id,label", *rows]), answers)
    order.shuffle(rows)  # type: ignore[attr-defined]
    assert _grade(folder, "\n".join(["id,label", *rows]), answers) == first


def test_ids_that_lost_their_zeros_are_explained(tmp_path: Path) -> None:
    """Where ids were read as numbers, the message says how to keep their zeros."""
    answers = _ANSWERS.assign(id=["01", "02", "03", "04"])
    report = _grade(tmp_path, "id,label\n1,yes\n2,no\n3,no\n4,yes\n", answers)
    assert not report.valid
    assert "for instance '01' ('1' is there: read ids as text, with dtype=str)" in report.message


@pytest.mark.parametrize(("rows", "counted"), [(16, False), (17, True)])
def test_far_too_many_rows_are_counted(tmp_path: Path, rows: int, *, counted: bool) -> None:
    """A submission of more than four times the expected rows is refused before its ids are compared."""
    report = _grade(tmp_path, "id,label\n" + "".join(f"{row},x\n" for row in range(rows)))
    assert (f"has {rows} rows, and 4 are expected" in report.message) == counted
