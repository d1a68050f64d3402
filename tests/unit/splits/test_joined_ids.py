"""Ids of a submission that join columns of the tables are made where competition.yaml names them."""

from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.errors import CompetitionError
from comind.grading.grader_server import SplitGrader
from comind.grading.past_competition import grade_past
from comind.splits.checked_plan import check_competition
from comind.splits.split_files import make_split
from tests.unit.competitions.folders import competition_folder

_PARTS = {"columns": ["town", "day"], "separator": "_"}


def _folder(root: Path, **changes: object) -> Path:
    """Write a competition whose tables have town and day for the id."""
    folder = competition_folder(root, rows=80, **{"id_parts": _PARTS} | changes)
    for name in (
        "public/train.csv",
        "public/test.csv",
        "public/sample_submission.csv",
        "private/answers.csv",
    ):
        table = pd.read_csv(folder / name, dtype=str)
        rows = table.pop("id").astype(int)
        town, day = rows.map(lambda row: f"town{row % 4}"), rows // 4
        if name.startswith("public/t"):
            table.insert(0, "day", day.astype(float))
            table.insert(0, "town", town)
        else:
            table.insert(0, "id", town + "_" + day.astype(str))
        table.to_csv(folder / name, index=False)
    return folder


def test_joined_ids_are_made_everywhere(tmp_path: Path) -> None:
    """Plan, split, grader and the grading of past competitions know the ids; days 7.0 are 7."""
    competition = load_competition(_folder(tmp_path))
    check_competition(competition)
    assert grade_past(competition, competition.answers).score == 1.0
    split = make_split(competition, tmp_path / "splits", seed=0)
    for name in ("train", "test", "validation"):
        table = pd.read_csv(split.public / f"{name}.csv", dtype=str)
        assert list(table["id"]) == list(table["town"] + "_" + table["day"].str.removesuffix(".0"))
    report = SplitGrader(split).grade(split.answers, split.sample)
    assert report.score is not None, report.message
    assert report.score.value.value == 1.0


def test_repeated_train_ids_are_numbered(tmp_path: Path) -> None:
    """Several labelled rows of one town and day get a number each."""
    folder = _folder(tmp_path)
    train = pd.read_csv(folder / "public/train.csv", dtype=str).assign(day="1")
    train.to_csv(folder / "public/train.csv", index=False)
    plan = check_competition(load_competition(folder))
    assert list(plan.data.train["id"].head(2)) == ["0", "1"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"id_parts": {"columns": ["town", "hour"]}}, "public/test.csv has no column 'hour'"),
        (
            {"id_parts": {"columns": ["town"]}},
            "id_parts: an id joins two columns or more",
        ),
        ({"id_parts": None}, "public/test.csv has no column 'id'"),
        ({"id_parts": _PARTS, "id_columns": ["town", "day"]}, "id_parts requires one id column"),
    ],
)
def test_unusable_parts_are_one_line(tmp_path: Path, changes: dict[str, object], line: str) -> None:
    """A column that is not there, too few parts, or none."""
    folder = _folder(tmp_path, **changes)
    with pytest.raises(CompetitionError, match=line):
        check_competition(load_competition(folder))
