"""The saved expectations and the fast checks agree, as both come from one form."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comind.errors import CompetitionError, SubmissionError
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.csv_tables import read_table, row_keys
from comind.evaluation.expectation_suites import validate
from comind.evaluation.metrics import METRICS
from comind.evaluation.scripts.generated_plan import plan_without_metric
from comind.evaluation.splits.split_plan import SplitPlan
from comind.evaluation.table_form import CellRule, TableForm, forms_of, submission_form
from tests.unit.evaluation.bad_folders import BAD_FOLDERS, BadFolder
from tests.unit.evaluation.bad_submissions import BAD_SUBMISSIONS, BadSubmission, ask
from tests.unit.evaluation.folders import competition_folder


def _plan(folder: Path) -> SplitPlan | None:
    """Return the plan of a folder whose tables can be read."""
    try:
        competition = load_competition(folder)
        return (
            plan_without_metric(competition) if competition.metric is None else SplitPlan(competition, 0)
        )
    except CompetitionError:
        return None


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
    plan = _plan(folder)
    if plan is None:
        return  # no tables to check
    forms = forms_of(plan)
    for form, table in ((forms.train, plan.train), (forms.test, plan.test), (forms.sample, plan.sample)):
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
    plan = _plan(folder)
    assert plan is not None
    metric = METRICS[case.metric]
    rows = row_keys(plan.test, ["id"])
    _check_agreement(submission_form(rows, ["id"], plan.targets, metric), table)


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
_MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


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
