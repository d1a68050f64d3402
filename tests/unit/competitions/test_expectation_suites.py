"""The saved expectations and the fast checks agree, as both come from one form."""

import json
from pathlib import Path

import great_expectations as gx
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.competitions.expectation_suites import validate, write_checks
from comind.competitions.table_form import CellRule, TableForm, forms_of, submission_form
from comind.errors import CompetitionError, SubmissionError
from comind.metrics import METRICS
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import read_table, row_keys
from tests.unit.competitions.bad_folders import BAD_FOLDERS, BadFolder
from tests.unit.competitions.folders import competition_folder
from tests.unit.grading.bad_submissions import BAD_SUBMISSIONS, BadSubmission, ask

pytestmark = pytest.mark.slow


def _data(folder: Path) -> CompetitionData | None:
    """Return the tables of a folder, if they can be read, and its positive class is known."""
    try:
        competition = load_competition(folder)
        if competition.metric is None:
            return CompetitionData.read_without_metric(competition)
        data = CompetitionData.read(competition)
        _ = data.positive_class
    except CompetitionError:
        return None
    return data


def _check_agreement(form: TableForm, table: pd.DataFrame) -> bool:
    fault = form.first_fault(table)
    result = validate(form, table)
    assert (fault is None) == result.success, (fault, result.describe())
    return fault is None


@pytest.mark.parametrize("case", BAD_FOLDERS, ids=lambda case: case.name)
def test_suite_and_fast_check_agree_on_bad_folders(case: BadFolder, tmp_path: Path) -> None:
    """Each table of a broken folder passes both or neither."""
    folder = competition_folder(tmp_path)
    case.breaks(folder)
    data = _data(folder)
    if data is None:
        return  # no tables to check
    forms = forms_of(data)
    for form, table in ((forms.train, data.train), (forms.test, data.test), (forms.sample, data.sample)):
        _check_agreement(form, table)


@pytest.mark.parametrize("case", BAD_SUBMISSIONS, ids=lambda case: case.name)
def test_suite_and_fast_check_agree_on_bad_submissions(case: BadSubmission, tmp_path: Path) -> None:
    """A submission that the grader refuses for its form fails the suite, too."""
    folder = competition_folder(tmp_path)
    ask(folder, case.metric)
    content = case.content if isinstance(case.content, bytes) else case.content.encode()
    (tmp_path / "s.csv").write_bytes(content)
    try:
        table = read_table(tmp_path / "s.csv", SubmissionError)
    except SubmissionError:
        return  # no table to check
    data = _data(folder)
    assert data is not None
    metric = METRICS[case.metric]
    rows = row_keys(data.test, ["id"])
    _check_agreement(submission_form(rows, ["id"], data.targets, metric), table)


_IDS = st.sampled_from(["1", "2", "3", " 1", "2.0", "01", "", "a"])
_CELLS = st.sampled_from(
    ["0", "1", "yes", "1.5", " 1e3 ", "inf", "-Infinity", "nan", "", "  ", "1_0", "٣"]
)
_RULES = st.sampled_from(
    [
        CellRule("y"),
        CellRule("y", required=True),
        CellRule("y", distinct=2),
        CellRule("y", classes=("yes", "0", "1")),
        CellRule("y", number=True),
        *(
            CellRule("y", parse=METRICS[name].parse, metric=name)
            for name in ("accuracy", "rmse", "rmsle", "log-loss", "quadratic-weighted-kappa")
        ),
        CellRule("y", parse=METRICS["f1"].parse_truth, metric="f1", truth=True),
    ]
)
_MANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_MANY
@given(data=st.data())
def test_suite_and_fast_check_agree_on_any_table(data: st.DataObject) -> None:
    """Whatever columns, ids and cells a table has, it passes both or neither."""
    ids = data.draw(st.sampled_from([("id",), ("id", "shop")]))
    columns = data.draw(
        st.sampled_from([[*ids, "y"], [*ids, "y"], [*ids, "y"], [*ids, "y", "z"], ["y"], list(ids)])
    )
    size = data.draw(st.integers(0, 4))
    frame = pd.DataFrame(
        {
            name: data.draw(st.lists(_CELLS if name == "y" else _IDS, min_size=size, max_size=size))
            for name in columns
        },
        dtype=str,
    )
    values = ["1", "2", "3"] if len(ids) == 1 else [("1", "1"), ("1", "2"), ("2", "1")]
    keys = pd.Index(values[: data.draw(st.integers(1, 3))], tupleize_cols=False)
    rules = (data.draw(_RULES), data.draw(_RULES))
    arrival = TableForm(
        "t.csv",
        (*ids, "y"),
        ids,
        cells=rules,
        other_columns=data.draw(st.booleans()),
        min_rows=data.draw(st.integers(0, 2)),
        keys=data.draw(st.sampled_from([None, keys])),
    )
    _check_agreement(arrival, frame)
    _check_agreement(submission_form(keys, ids, ["y"], METRICS["log-loss"]), frame)


_SECRET = "8f2d61"  # in every label, as in the true answers


def _written(root: Path) -> tuple[SplitFolder, Path]:
    """Return a new split with its checks, whose labels are texts with a secret, and the folder."""
    folder = competition_folder(root, metric="exact-match", split={"kind": "random"})
    text = (folder / "public" / "train.csv").read_text()
    labelled = text.replace(",yes", f",yes {_SECRET}").replace(",no", f",no {_SECRET}")
    (folder / "public" / "train.csv").write_text(labelled)
    return make_split(load_competition(folder), root / "splits", seed=0, checks=write_checks), folder


def test_the_checks_are_saved_with_the_split(tmp_path: Path) -> None:
    """Suites, result and page are beside the public part; Great Expectations reads the suites."""
    split, _ = _written(tmp_path)
    assert sorted(path.name for path in split.checks.iterdir()) == [
        "index.html",
        "sample_submission.suite.json",
        "submission.suite.json",
        "test.suite.json",
        "train.suite.json",
        "validation.json",
    ]
    train = json.loads((split.checks / "train.suite.json").read_text())
    types = [each["type"] for each in train["expectations"]]
    assert "expect_column_values_to_be_unique" in types
    assert len(gx.ExpectationSuite(**train).expectations) == len(types)
    found = json.loads((split.checks / "validation.json").read_text())
    assert {name: table["success"] for name, table in found.items()} == {
        "sample_submission.csv": True,
        "test.csv": True,
        "train.csv": True,
    }


def test_the_checks_have_no_answers(tmp_path: Path) -> None:
    """No label is in them, nor anything computed from single cells, even where a check fails."""
    split, folder = _written(tmp_path)
    assert _SECRET in split.answers.read_text()
    for path in split.checks.iterdir():
        assert _SECRET not in path.read_text()
    table = read_table(folder / "public" / "train.csv", CompetitionError)
    form = TableForm("t.csv", ("id",), ("label",), cells=(CellRule("label", classes=("a",)),))
    failed = validate(form, table)
    assert not failed.success
    assert _SECRET not in json.dumps(failed.to_json_dict())


def test_the_page_is_one_file(tmp_path: Path) -> None:
    """The page needs neither scripts nor other files, and loads nothing from the network."""
    split, _ = _written(tmp_path)
    page = (split.checks / "index.html").read_text()
    assert "sample_submission.csv" in page
    assert "values must be valid true values for" in page
    for outward in ("<script", "<link", "<img", "http:", "https:", "@import", "url("):
        assert outward not in page


def test_the_split_does_not_depend_on_its_checks(tmp_path: Path) -> None:
    """Key and hashes are those without checks, and a split that exists is left as it is."""
    split, folder = _written(tmp_path)
    plain = make_split(load_competition(folder), tmp_path / "plain", seed=0)
    assert plain.read() == split.read()
    assert not plain.checks.exists()
    again = make_split(load_competition(folder), tmp_path / "plain", seed=0, checks=write_checks)
    assert again.root == plain.root
    assert not again.checks.exists()
    assert again.is_complete


def test_equal_tables_give_equal_results(tmp_path: Path) -> None:
    """The files have no times and no paths, so they can be compared."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = (_written(tmp_path / name)[0].checks for name in "ab")
    for path in one.glob("*.json"):
        assert path.read_bytes() == (other / path.name).read_bytes()
