"""The `submit` function, run as in an attempt, over real tables and the real grader."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comind.agents.comind.coding_agent import OPENING_VERSION
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.script.cells import RanCell
from comind.campaign.script.derive import derive
from comind.campaign.work.cell_outputs import SubmissionCollector
from comind.domain.problem import FOLDS_AT
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.grader_port import GradeReport
from comind.evaluation.grader_server import SplitGrader
from comind.evaluation.problem_description import describe_problem
from comind.evaluation.splits.fold_vector import FOLDS_FILE, write_folds
from comind.evaluation.splits.split_files import make_split
from comind.evaluation.splits.split_folder import SplitFolder
from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens
from tests.unit.evaluation.folders import competition_folder, write

_TEMPLATES = Templates("comind.agents.comind")
_READ = "\n".join(
    f"{part} = pd.read_csv('input/small/{part}.csv')" for part in ("train", "validation", "test")
)
_KINDS: dict[str, dict[str, Any]] = {
    "labels": {},
    "ids of two columns": {"id_columns": ["day", "id"], "split": {"kind": "random"}},
    "other ids in train": {"train_id_columns": ["row"]},
    "targets of two columns": {
        "metric": "mae",
        "label_columns": ["x", "y"],
        "target_columns": ["x", "y"],
        "split": {"kind": "random"},
    },
    "sets of labels": {"metric": "samples f1", "split": {"kind": "random"}},
}


def _split(root: Path, kind: str) -> SplitFolder:
    """Write a competition of an answer kind, with extra columns, and split it."""
    changes = _KINDS[kind]
    folder = competition_folder(root, **changes)
    ids = changes.get("id_columns", ["id"])
    targets = changes.get("target_columns", ["label"])
    values = {"id": range(40), "day": [n % 3 for n in range(40)], "f": [n * 0.5 for n in range(40)]}
    answers = {"label": ["yes"] * 20 + ["no"] * 20, "x": range(40), "y": range(1, 41)}
    train = pd.DataFrame(values | {name: answers[name] for name in targets})
    test = train.drop(columns=targets).assign(id=range(40, 80))
    renamed = dict(zip(ids, changes.get("train_id_columns", ids), strict=True))
    for name, table in (
        ("train.csv", train.rename(columns=renamed)),
        ("test.csv", test),
        ("sample_submission.csv", test[ids].assign(**{name: answers[name] for name in targets})),
    ):
        write(folder, name, table.to_csv(index=False).splitlines())
    return make_split(load_competition(folder), root / "splits", seed=0)


def _frame(split: SplitFolder) -> str:
    problem = describe_problem(split, count_tokens)
    return _TEMPLATES.render("coding_frame", problem=problem, opening_version=OPENING_VERSION)


def _hand_in(split: SplitFolder, root: Path, cells: list[str]) -> tuple[GradeReport, GradeReport, bool]:
    """Run cells; return the verdicts on the submissions of the last one."""
    workspace, folder = root / "workspace", WorkFolder(root / "attempt")
    (workspace / "input").mkdir(parents=True, exist_ok=True)
    (workspace / "input" / "small").symlink_to(split.public)
    write_folds(split.public, split.read(), workspace / FOLDS_AT / FOLDS_FILE)
    space: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as here:
        here.chdir(workspace)
        for cell in cells[:-1]:
            exec(cell, space)
        hand_in = SubmissionCollector(workspace, None)
        exec(cells[-1], space)
    submitted, said = hand_in.collect(folder, 1)
    assert submitted is not None, said
    grader = SplitGrader(split)
    pair = grader.grade(folder.validation_submission(1), folder.test_submission(1))
    return pair, grader.out_of_fold(folder.out_of_fold(1)), submitted.nominated


@pytest.mark.parametrize("tables", [True, False], ids=["frame", "after a program"])
@pytest.mark.parametrize("kind", list(_KINDS))
def test_predictions_of_every_kind_are_handed_in(kind: str, tables: bool, tmp_path: Path) -> None:
    """Pair, out-of-fold predictions and nomination reach the grader for any ids and targets."""
    split = _split(tmp_path, kind)
    problem = describe_problem(split, count_tokens)
    name = "coding_frame" if tables else "coding_submit"
    given = _TEMPLATES.render(name, problem=problem, tables=tables, opening_version=OPENING_VERSION)
    targets = list(problem.target_columns)
    cell = (
        "some = lambda table: train[targets].sample(len(table), replace=True, random_state=0)\n"
        "out_of_fold = train[targets].astype(object)\n"
        "out_of_fold.iloc[:5] = np.nan\n"
        "submit(some(validation), some(test).to_numpy(), out_of_fold, final=True)"
    )
    begun = f"import numpy as np\nimport pandas as pd\n{_READ}\n\ntargets = {targets}"
    pair, out_of_fold, nominated = _hand_in(split, tmp_path, [begun, given, cell])
    assert pair.valid, pair.message
    assert out_of_fold.score is not None, out_of_fold.message
    assert out_of_fold.score.rows == 25
    assert out_of_fold.score.value.value == (0.0 if kind == "targets of two columns" else 1.0)
    assert nominated


def test_a_list_of_labels_may_have_gaps(tmp_path: Path) -> None:
    """Labels in a plain list with NaN are accepted."""
    split = _split(tmp_path, "labels")
    frame = _frame(split)
    cell = (
        "labels = [*train['label'][:20], *[np.nan] * (len(train) - 20)]\n"
        "submit(['no'] * len(validation), ['no'] * len(test), labels)"
    )
    pair, out_of_fold, nominated = _hand_in(split, tmp_path, [frame, cell])
    assert pair.score is not None
    assert out_of_fold.score is not None, out_of_fold.message
    assert (out_of_fold.score.rows, out_of_fold.score.value.value) == (20, 1.0)
    assert not nominated


def test_the_derived_script_hands_in_as_the_cells_did(tmp_path: Path) -> None:
    """The derived script contains the function and writes all files again, without a notebook."""
    split = _split(tmp_path, "targets of two columns")
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
    whole = _hand_in(split, tmp_path / "cells", cells)
    assert _hand_in(split, tmp_path / "script", [script.text]) == whole
    written = [(tmp_path / each / "workspace") for each in ("cells", "script")]
    for name in ("validation_submission.csv", "submission.csv", "out_of_fold.csv"):
        first, second = ((folder / name).read_bytes() for folder in written)
        assert first == second
    assert np.isfinite(whole[1].score.value.value if whole[1].score else np.nan)
