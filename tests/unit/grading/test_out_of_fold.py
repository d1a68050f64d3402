"""Out-of-fold predictions are scored over their rows of train.csv."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.grading.blending.cross_fit import OutOfFold
from comind.grading.grader_port import GradeReport
from comind.grading.grader_server import SplitGrader
from comind.grading.out_of_fold import OutOfFoldScorer
from comind.metrics import METRICS
from comind.metrics.bootstrap import Bootstrap
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from tests.unit.competitions.folders import competition_folder, write

_CLASSES = {
    "metric": "multiclass log loss",
    "target_columns": ["yes", "no"],
    "split": {"kind": "random"},
}


def _split(root: Path, **changes: Any) -> SplitFolder:
    folder = competition_folder(root, **changes)
    if changes.get("target_columns") == ["yes", "no"]:
        write(folder, "sample_submission.csv", ["id,yes,no", *[f"{i},0.5,0.5" for i in range(40, 50)]])
    return make_split(load_competition(folder), root / "splits", seed=0)


def _grade(split: SplitFolder, table: pd.DataFrame | str) -> GradeReport:
    path = split.root.parent / "out_of_fold.csv"
    path.write_text(table if isinstance(table, str) else table.to_csv(index=False))
    return SplitGrader(split).out_of_fold(path)


def _train(split: SplitFolder) -> pd.DataFrame:
    return pd.read_csv(split.public / "train.csv")


@pytest.mark.parametrize(
    ("change", "rows", "score"),
    [
        (lambda table: table, 30, 1.0),
        (lambda table: table.iloc[::-1], 30, 1.0),
        (lambda table: table.iloc[5:], 25, 1.0),
        (lambda table: table.assign(label=table["label"].where(table["id"] % 2 == 0)), None, 1.0),
        (lambda table: table.assign(label="no"), 30, 22 / 30),
        (lambda table: table.iloc[:2], 2, 1.0),
    ],
    ids=["whole", "other order", "rows absent", "empty cells", "wrong labels", "two rows"],
)
def test_rows_that_are_there_are_scored(
    change: Callable[[pd.DataFrame], pd.DataFrame], rows: int | None, score: float, tmp_path: Path
) -> None:
    """Rows are matched by id; missing and empty ones are ignored, and the number of rows is reported."""
    split = _split(tmp_path)
    table = change(_train(split)[["id", "label"]])
    report = _grade(split, table)
    assert report.score is not None, report.message
    assert report.score.rows == (rows or table["label"].notna().sum())
    assert report.score.value.value == pytest.approx(score)
    assert report.score.interval.low <= report.score.value.value <= report.score.interval.high


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,label\n", "it predicts 0 rows, too few to score"),
        ("id,label\n{0},no\n{1},\n", "it predicts 1 rows, too few to score"),
        ("id,label\n{0},no\n{0},no\n", "the id '{0}' appears twice"),
        ("id,label\n{0},no\n7777,no\n", "1 of its ids are not in train.csv, for instance '7777'"),
        ("id,other\n{0},no\n", "the column 'label' is missing; expected id, label"),
        ("id,label,x\n{0},no,1\n", "the column 'x' is unexpected; expected id, label"),
        ("id,label\n{0},no,7\n", "line 2 has 3 cells, but the header 2"),
    ],
    ids=["empty", "no rows", "one row", "twice", "unknown", "missing", "surplus", "ragged"],
)
def test_a_bad_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    """An invalid file gives a report with the error."""
    split = _split(tmp_path)
    ids = list(_train(split)["id"])
    for braces, row in (("{0}", ids[0]), ("{1}", ids[1])):
        text, message = text.replace(braces, str(row)), message.replace(braces, str(row))
    report = _grade(split, text)
    assert (report.valid, report.score) == (False, None)
    assert message in report.message
    assert str(tmp_path) not in report.message


def test_a_row_of_validation_is_none_of_train(tmp_path: Path) -> None:
    """Ids of validation rows are refused."""
    split = _split(tmp_path)
    held_out = pd.read_csv(split.public / "validation.csv")[["id"]].assign(label="yes")
    report = _grade(split, pd.concat([_train(split)[["id", "label"]], held_out]))
    assert report.message.startswith(f"{len(held_out)} of its ids are not in train.csv")


@pytest.mark.parametrize("name", ["row", "id"])
def test_train_may_name_its_ids_otherwise(name: str, tmp_path: Path) -> None:
    """Id columns may have the names of train.csv or of a submission."""
    folder = competition_folder(tmp_path, train_id_columns=["row"])
    labelled = [f"{n},1,{'yes' if n % 4 else 'no'}" for n in range(40)]
    write(folder, "train.csv", ["row,x,label", *labelled])
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    report = _grade(split, _train(split)[["row", "label"]].rename(columns={"row": name}))
    assert report.score is not None, report.message
    assert (report.score.rows, report.score.value.value) == (30, 1.0)


def test_classes_are_columns_where_a_submission_has_them(tmp_path: Path) -> None:
    """A label of train.csv is compared with a probability for each class."""
    split = _split(tmp_path, **_CLASSES)
    train = _train(split)
    certain = {name: np.where(train["label"] == name, 0.9, 0.1) for name in ("yes", "no")}
    report = _grade(split, pd.DataFrame({"id": train["id"], **certain}))
    assert report.score is not None, report.message
    assert report.score.value.value == pytest.approx(-np.log(0.9))


def test_an_empty_cell_may_be_an_answer(tmp_path: Path) -> None:
    """If empty cells are answers, rows with them are scored."""
    folder = competition_folder(tmp_path, metric="samples f1", split={"kind": "random"})
    write(folder, "train.csv", ["id,x,label", *[f"{n},1,{'a b' if n % 2 else ''}" for n in range(40)]])
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    report = _grade(split, _train(split)[["id", "label"]])
    assert report.score is not None, report.message
    assert report.score.rows == 30


def test_rows_of_a_group_are_drawn_together(tmp_path: Path) -> None:
    """In a split by groups, the interval resamples groups."""
    folder = competition_folder(tmp_path, split={"kind": "group", "column": "group"})
    labelled = [f"{n},{n % 20},{'yes' if n % 20 < 8 else 'no'}" for n in range(200)]
    write(folder, "train.csv", ["id,group,label", *labelled])
    write(folder, "test.csv", ["id,group", *[f"{n},{n}" for n in range(200, 210)]])
    write(folder, "sample_submission.csv", ["id,label", *[f"{n},no" for n in range(200, 210)]])
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    train = _train(split)
    report = _grade(split, train[["id"]].assign(label="no"))
    assert report.score is not None, report.message
    groups, _ = pd.factorize(train["group"])
    truth, said = train[["label"]], train[["label"]].assign(label="no")
    drawn = Bootstrap(len(train), groups)
    expected = drawn.interval(METRICS["accuracy"], truth, said, report.score.value.value)
    assert report.score.interval == expected
    assert expected != Bootstrap(len(train)).interval(
        METRICS["accuracy"], truth, said, report.score.value.value
    )


@pytest.mark.parametrize(
    "rule",
    [
        {"by": "parts", "column": "id", "parts": [1]},
        {"by": "parts", "column": "id", "parts": [1, 2]},
        {"by": "place", "columns": ["x", "y"], "sizes": [2.0, 2.0]},
        {"by": "twins", "columns": ["x", "y"]},
        {"by": "twins", "columns": ["x", "y"], "sizes": [0.5, 0.5]},
        {"by": "date", "column": "seen"},
    ],
    ids=["one part", "two parts", "blocks", "equal rows", "nearly equal rows", "days"],
)
def test_any_rule_by_groups_is_graded(rule: dict[str, Any], tmp_path: Path) -> None:
    """All columns of the groups are read."""
    folder = competition_folder(tmp_path, split={"kind": "group", **rule})
    rows = [
        f"p{n % 20}_s{n % 40}_{n},{n % 20},{n % 20},2020-01-{1 + n % 20:02d} 10:00" for n in range(210)
    ]
    labelled = [f"{row},{'yes' if n % 20 < 8 else 'no'}" for n, row in enumerate(rows[:200])]
    write(folder, "train.csv", ["id,x,y,seen,label", *labelled])
    write(folder, "test.csv", ["id,x,y,seen", *rows[200:]])
    write(folder, "sample_submission.csv", ["id,label", *[f"{r.split(',')[0]},no" for r in rows[200:]]])
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    report = _grade(split, _train(split)[["id"]].assign(label="no"))
    assert report.score is not None, report.message
    assert report.score.rows == len(_train(split))


def _together(split: SplitFolder, *candidates: Sequence[pd.DataFrame]) -> OutOfFold | None:
    paths = []
    for number, tables in enumerate(candidates):
        paths.append([split.root.parent / f"{number}-{part}.csv" for part in range(len(tables))])
        for path, table in zip(paths[-1], tables, strict=True):
            table.to_csv(path, index=False)
    return OutOfFoldScorer(split, METRICS["accuracy"]).together(paths)


def test_candidates_are_blended_on_the_rows_that_they_have_in_common(tmp_path: Path) -> None:
    """Several files of a candidate are one; one with too few rows, or without a file, is left out."""
    split = _split(tmp_path)
    train = _train(split)[["id", "label"]]
    wrong = train.assign(label="no")
    found = _together(split, [train[:7]], [train.iloc[::-1]], [], [wrong.iloc[:10], wrong.iloc[10:24]])
    assert found is not None
    assert sorted(found.predictions) == [1, 3]
    assert len(found.truth) == 24
    assert found.predictions[1]["label"].tolist() == found.truth["label"].tolist()
    assert set(found.predictions[3]["label"]) == {"no"}
    assert _together(split, [], []) is None
