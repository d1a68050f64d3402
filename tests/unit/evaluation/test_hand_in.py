"""The suite that a final submission must meet."""

from pathlib import Path

import pandas as pd
import pytest

from comind.errors import SubmissionError
from comind.evaluation.expectations import check_hand_in
from comind.evaluation.grading import SubmissionForm
from comind.evaluation.metrics import METRICS
from comind.evaluation.tables import read_table
from tests.unit.evaluation.bad_submissions import BAD_SUBMISSIONS, ask
from tests.unit.evaluation.folders import competition_folder


def _form(metric: str = "accuracy", ids: tuple[str, ...] = ("id",)) -> SubmissionForm:
    rows = pd.DataFrame({"id": ["1", "2", "3"], "day": ["1", "1", "2"]}, dtype=str)
    return SubmissionForm(rows, ids, ("label",), METRICS[metric])


def _table(**columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(columns, dtype=str)


def test_a_good_submission_passes() -> None:
    """Order and spelling of ids are free, as they are in grading."""
    check_hand_in(_form(), _table(label=["a", "b", "c"], id=["3.0", " 2", "1"]))
    two = _table(label=["a", "b", "c"], id=["3", "2", "1"], day=["2", "1", "1"])
    check_hand_in(_form(ids=("id", "day")), two)


def test_an_empty_text_is_an_answer() -> None:
    """Only metrics of texts, sets and masks take an empty cell for a value."""
    check_hand_in(_form("exact-match"), _table(id=["1", "2", "3"], label=["", "", ""]))


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            {"id": ["1", "2", "3"], "labels": ["a", "b", "c"]},
            "the columns are not id, label, but id, labels",
        ),
        (
            {"id": ["1", "2"], "label": ["a", "b"]},
            "does not have 3 rows, one for each row of test.csv",
        ),
        (
            {"id": ["1", "2", ""], "label": ["a", "b", "c"]},
            "no id (id) in 1 of 3 rows",
        ),
        (
            {"id": ["1", "2", "2.0"], "label": ["a", "b", "c"]},
            "the id '2' (id) appears twice",
        ),
        (
            {"id": ["1", "2", "4"], "label": ["a", "b", "c"]},
            "an id that is not asked for in 1 of 3 rows",
        ),
        (
            {"id": ["1", "2", "3"], "label": ["a", " ", "c"]},
            "no 'label' in 1 of 3 rows",
        ),
    ],
    ids=["columns", "rows", "no id", "id twice", "other id", "no label"],
)
def test_a_bad_submission_is_told(columns: dict[str, list[str]], line: str) -> None:
    """The first expectation that fails is said in one line."""
    with pytest.raises(SubmissionError) as caught:
        check_hand_in(_form(), _table(**columns))
    assert str(caught.value) == line


def test_the_suite_and_grading_agree(tmp_path: Path) -> None:
    """What grading finds wrong with the form of a submission, the suite finds, too."""
    for case in BAD_SUBMISSIONS:
        if case.unreadable or case.metric != "accuracy":
            continue
        folder = competition_folder(tmp_path / case.name)
        ask(folder, case.metric)
        (folder / "s.csv").write_bytes(case.content.encode())  # type: ignore[union-attr]
        answers = read_table(folder / "private" / "answers.csv", SubmissionError)
        form = SubmissionForm(answers, ("id",), ("label",), METRICS[case.metric])
        with pytest.raises(SubmissionError):
            check_hand_in(form, read_table(folder / "s.csv", SubmissionError))
        assert not form.check(folder / "s.csv").valid
