"""Cells that run on a real split of any kind of prediction, graded by the real grader."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.work.cell_outputs import SubmissionCollector
from comind.competitions.competition_folder import load_competition
from comind.domain.problem import FOLDS_AT
from comind.grading.grader_port import GradeReport
from comind.grading.grader_server import SplitGrader
from comind.splits.extra_folds import FOLDS_FILE, write_folds
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from tests.unit.competitions.folders import competition_folder, write

KINDS: dict[str, dict[str, Any]] = {
    "labels": {},
    "ids of two columns": {"id_columns": ["day", "id"], "split": {"kind": "random"}},
    "other ids in train": {"train_id_columns": ["row"]},
    "targets of two columns": {
        "metric": "mae",
        "label_columns": ["x", "y"],
        "target_columns": ["x", "y"],
        "split": {"kind": "random"},
    },
    "ordered labels": {
        "metric": "quadratic weighted kappa",
        "label_columns": ["x"],
        "target_columns": ["x"],
        "split": {"kind": "random"},
    },
    "sets of labels": {"metric": "samples f1", "split": {"kind": "random"}},
}


def split_of_kind(root: Path, kind: str) -> SplitFolder:
    """Write a competition of an answer kind, with extra columns, and split it."""
    changes = KINDS[kind]
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


def run_and_grade(
    split: SplitFolder, root: Path, cells: list[str]
) -> tuple[GradeReport, GradeReport, bool]:
    """Run cells; return the verdicts on the submissions of the last one.

    Probabilities beside them are kept in `attempt`, and have to be valid.
    """
    workspace, folder = root / "workspace", WorkFolder(root / "attempt")
    (workspace / "input").mkdir(parents=True, exist_ok=True)
    (workspace / "input" / "small").symlink_to(split.public)
    write_folds(split.public, split.read(), workspace / FOLDS_AT / FOLDS_FILE)
    space: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as here:
        here.chdir(workspace)
        for cell in cells[:-1]:
            exec(cell, space)
        hand_in = SubmissionCollector(workspace, None, probabilities=True)
        exec(cells[-1], space)
    submitted, said = hand_in.collect(folder, 1)
    assert submitted is not None, said
    grader = SplitGrader(split)
    files = [path for path in folder.submissions(1).iterdir() if path.stem.endswith("_probabilities")]
    if files:
        checked = grader.probabilities(files)
        assert checked.valid, checked.message
    pair = grader.grade(folder.validation_submission(1), folder.test_submission(1))
    return pair, grader.out_of_fold(folder.out_of_fold(1)), submitted.nominated
