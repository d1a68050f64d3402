"""The `submit` function, run as in an attempt, over real tables and the real grader."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.script.cells import RanCell
from comind.campaign.script.derive import derive
from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens
from comind.profile.problem_description import describe_problem
from comind.splits.split_folder import SplitFolder
from tests.unit.agents.graded_cells import KINDS, run_and_grade, split_of_kind

_TEMPLATES = Templates("comind.agents.comind")
_READ = "\n".join(
    f"{part} = pd.read_csv('input/small/{part}.csv')" for part in ("train", "validation", "test")
)


def _frame(split: SplitFolder) -> str:
    problem = describe_problem(split, count_tokens)
    return _TEMPLATES.render("coding_frame", problem=problem, folds=True)


@pytest.mark.parametrize("tables", [True, False], ids=["frame", "after a program"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_predictions_of_every_kind_are_handed_in(kind: str, tables: bool, tmp_path: Path) -> None:
    """Pair, out-of-fold predictions and nomination reach the grader for any ids and targets."""
    split = split_of_kind(tmp_path, kind)
    problem = describe_problem(split, count_tokens)
    name = "coding_frame" if tables else "coding_submit"
    given = _TEMPLATES.render(name, problem=problem, tables=tables, folds=True)
    targets = list(problem.target_columns)
    cell = (
        "some = lambda table: train[targets].sample(len(table), replace=True, random_state=0)\n"
        "out_of_fold = train[targets].astype(object)\n"
        "out_of_fold.iloc[:5] = np.nan\n"
        "submit(some(validation), some(test).to_numpy(), out_of_fold, final=True)"
    )
    begun = f"import numpy as np\nimport pandas as pd\n{_READ}\n\ntargets = {targets}"
    pair, out_of_fold, nominated = run_and_grade(split, tmp_path, [begun, given, cell])
    assert pair.valid, pair.message
    assert out_of_fold.score is not None, out_of_fold.message
    assert out_of_fold.score.rows == 25
    assert out_of_fold.score.value.value == (0.0 if kind == "targets of two columns" else 1.0)
    assert nominated


_BESIDE = ("validation_probabilities.csv", "test_probabilities.csv", "out_of_fold_probabilities.csv")


def _submitted_probabilities(
    kind: str, tables: bool, root: Path, probabilities: str
) -> list[pd.DataFrame]:
    """Submit labels with `probabilities`, an expression; return the files without ids."""
    split = split_of_kind(root, kind)
    problem = describe_problem(split, count_tokens)
    name = "coding_frame" if tables else "coding_submit"
    cells = [
        f"import numpy as np\nimport pandas as pd\n{_READ}\n\ntarget = {problem.target_columns[0]!r}",
        _TEMPLATES.render(name, problem=problem, tables=tables, folds=True),
        "some = lambda table: np.full(len(table), train[target].iloc[0], dtype=object)",
        f"submit(some(validation), some(test), some(train), probabilities={probabilities})",
    ]
    run_and_grade(split, root, cells)
    submitted = root / "attempt" / "submissions" / "step-001"
    ids = list(problem.id_columns)
    return [pd.read_csv(submitted / file).drop(columns=ids) for file in _BESIDE]


@pytest.mark.parametrize("tables", [True, False], ids=["frame", "after a program"])
@pytest.mark.parametrize("kind", ["labels", "ids of two columns", "other ids in train"])
def test_probabilities_of_classes_are_handed_in(kind: str, tables: bool, tmp_path: Path) -> None:
    """Arrays have columns in the order of the classes, tables by name; rows of train may be missing."""
    shares = "np.tile([0.25, 0.75], ({0}, 1))"
    given = (
        f"({shares.format('len(validation)')}, {shares.format('len(test)')},"
        " pd.DataFrame({'yes': np.where(train.index < 5, np.nan, 0.25), 'no': 0.75}))"
    )
    found = _submitted_probabilities(kind, tables, tmp_path, given)
    assert [list(table.columns) for table in found] == [["no", "yes"], ["no", "yes"], ["yes", "no"]]
    assert (found[0]["yes"] == 0.75).all()
    assert found[2]["yes"].dropna().tolist() == [0.25] * 25


@pytest.mark.parametrize("tables", [True, False], ids=["frame", "after a program"])
def test_numbers_before_rounding_are_handed_in(tables: bool, tmp_path: Path) -> None:
    """Of ordered labels, an array or a column of any name becomes the target column."""
    given = "(np.full(len(validation), 1.5), pd.Series([2.5] * len(test)), train[['f']] + 0.4)"
    found = _submitted_probabilities("ordered labels", tables, tmp_path, given)
    assert [list(table.columns) for table in found] == [["x"]] * 3
    assert [table["x"].iloc[0] % 0.5 for table in found] == pytest.approx([0, 0, 0.4])


def test_other_answers_have_no_probabilities_to_hand_in(tmp_path: Path) -> None:
    """Where no labels are predicted, `submit` takes none."""
    frame = _frame(split_of_kind(tmp_path, "targets of two columns"))
    assert "probabilities" not in frame


def test_a_list_of_labels_may_have_gaps(tmp_path: Path) -> None:
    """Labels in a plain list with NaN are accepted."""
    split = split_of_kind(tmp_path, "labels")
    frame = _frame(split)
    cell = (
        "labels = [*train['label'][:20], *[np.nan] * (len(train) - 20)]\n"
        "submit(['no'] * len(validation), ['no'] * len(test), labels)"
    )
    pair, out_of_fold, nominated = run_and_grade(split, tmp_path, [frame, cell])
    assert pair.score is not None
    assert out_of_fold.score is not None, out_of_fold.message
    assert (out_of_fold.score.rows, out_of_fold.score.value.value) == (20, 1.0)
    assert not nominated


def test_the_derived_script_hands_in_as_the_cells_did(tmp_path: Path) -> None:
    """The derived script contains the function and writes all files again, without a notebook."""
    split = split_of_kind(tmp_path, "targets of two columns")
    frame = _frame(split)
    cells = [
        frame,
        "look = train.describe()",
        "means = train[['x', 'y']].mean().to_numpy()",
        "fill = lambda table: np.tile(means, (len(table), 1))",
        "submit(fill(validation), fill(test), fill(train), final=True)",
    ]
    names = SubmissionNames()
    ran = [RanCell(step, "goal", cell, 0, names) for step, cell in enumerate(cells, start=1)]
    script = derive(ran)
    assert "def submit(" in script.text
    assert "describe" not in script.text
    whole = run_and_grade(split, tmp_path / "cells", cells)
    assert run_and_grade(split, tmp_path / "script", [script.text]) == whole
    written = [(tmp_path / each / "workspace") for each in ("cells", "script")]
    for name in ("validation_submission.csv", "submission.csv", "out_of_fold.csv"):
        first, second = ((folder / name).read_bytes() for folder in written)
        assert first == second
    assert np.isfinite(whole[1].score.value.value if whole[1].score else np.nan)
