"""One form of a competition's tables is behind the checks on arrival and the grader's."""

from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.competitions.table_form import TableForms, forms_of, submission_form
from comind.metrics import METRICS
from tests.unit.competitions.folders import competition_folder


def _forms(root: Path) -> TableForms:
    return forms_of(CompetitionData.read(load_competition(competition_folder(root))))


def _table(text: str) -> pd.DataFrame:
    first, *rows = text.split()
    return pd.DataFrame([row.split(",") for row in rows], columns=first.split(","), dtype=str)


def test_tables_in_their_form_have_no_fault(tmp_path: Path) -> None:
    """The tables of a good competition are in their forms; the sample is a submission, too."""
    data = CompetitionData.read(load_competition(competition_folder(tmp_path)))
    forms = forms_of(data)
    assert forms.train.first_fault(data.train) is None
    assert forms.test.first_fault(data.test) is None
    assert forms.sample.first_fault(data.sample) is None
    assert forms.submission.first_fault(data.sample) is None


def test_columns_and_rows_belong_to_the_form(tmp_path: Path) -> None:
    """Each table has its columns, its key and, where the rows are known, exactly these rows."""
    forms = _forms(tmp_path)
    assert forms.train.columns == ("id", "label")
    assert forms.train.other_columns
    assert forms.test.columns == ("id", "x")
    assert not forms.test.other_columns
    assert forms.sample.columns == forms.submission.columns == ("id", "label")
    assert forms.sample.keys is not None
    assert len(forms.sample.keys) == 10


def test_cells_are_checked_on_demand() -> None:
    """Cells can be left to the caller, which parses them once and keeps the result."""
    form = submission_form(pd.Index(["1", "2"]), ["id"], ["y"], METRICS["rmse"])
    bad_cell = _table("id,y 1,a 2,3")
    assert form.first_fault(bad_cell, cells=False) is None
    fault = form.first_fault(bad_cell)
    assert fault is not None
    assert fault.line == "column 'y': no number in 1 of 2 rows, for instance 'a'"
    assert fault.hint == "the metric is rmse"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("day,shop,y 1,a,2 1,b,3", None),
        ("day,shop,y 1.0,a,2 1,b,3", None),
        ("day,shop,y 1,a,2 1,a,3", "the id ('1', 'a') (day and shop) appears twice"),
        ("day,shop,y 1,a,2 2,b,3", "1 of 2 ids (day and shop) are missing, for instance ('1', 'b')"),
    ],
)
def test_a_key_of_two_columns_is_checked_as_one(text: str, line: str | None) -> None:
    """Neither column is unique; both together name the row."""
    keys = pd.Index([("1", "a"), ("1", "b")], tupleize_cols=False)
    fault = submission_form(keys, ["day", "shop"], ["y"], METRICS["rmse"]).first_fault(_table(text))
    assert (fault and fault.line) == line
