"""The sample of the training rows, drawn by the rule of the split."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.splits.sample_rows import count_sample, write_sample
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_tree
from tests.unit.competitions.folders import competition_folder, write

_ROWS = 20_000
_RULES: list[dict[str, Any]] = [
    {"kind": "random"},
    {"kind": "stratified", "column": "label"},
    {"kind": "group", "column": "shop"},
    {"kind": "time", "column": "day"},
]


def _split(root: Path, rule: dict[str, Any], rows: int = _ROWS, groups: int = 700) -> SplitFolder:
    """Split a competition with a rare class, groups and times."""
    folder = competition_folder(root, rows=8, split=rule)
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": range(rows),
            "x": draw.normal(size=rows).round(4),
            "shop": draw.permutation(np.arange(rows) % groups),
            "day": pd.date_range("1990-01-01", periods=rows, freq="h").strftime("%Y-%m-%d %H:00"),
            "label": np.where(draw.random(rows) < 0.3, "yes", "no"),
        }
    )
    table.loc[[5, 105, 205], "label"] = "rare"
    write(folder, "train.csv", table.to_csv(index=False).splitlines())
    test = table.iloc[:10].assign(id=range(rows, rows + 10), day="2090-01-01").drop(columns="label")
    write(folder, "test.csv", test.to_csv(index=False).splitlines())
    write(folder, "sample_submission.csv", ["id,label", *(f"{each},no" for each in test["id"])])
    answers = ["id,label", *(f"{each},no" for each in test["id"])]
    (folder / "private" / "answers.csv").write_text("\n".join(answers) + "\n")
    return make_split(load_competition(folder), root / "splits", seed=0)


def _tables(split: SplitFolder, root: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return train.csv and its sample, as written."""
    write_sample(split.public, split.read(), root / "sample")
    return pd.read_csv(split.public / "train.csv"), pd.read_csv(root / "sample" / "train.csv")


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: rule["kind"])
def test_a_sample_has_about_a_tenth_of_the_rows_unchanged(rule: dict[str, Any], tmp_path: Path) -> None:
    """It has all columns and whole rows of train.csv in their order, and folds; each time the same."""
    split = _split(tmp_path, rule)
    train, sample = _tables(split, tmp_path)
    assert len(train) / 20 < len(sample) < len(train) / 5
    assert count_sample(split.public, split.read()) == len(sample)
    places = train["id"].isin(sample["id"])
    pd.testing.assert_frame_equal(sample, train[places].reset_index(drop=True))
    folds = pd.read_csv(tmp_path / "sample" / "folds.csv")["fold"]
    assert len(folds) == len(sample)
    assert folds.nunique() == 5
    write_sample(split.public, split.read(), tmp_path / "again")
    assert hash_tree(tmp_path / "again") == hash_tree(tmp_path / "sample")


def test_a_stratified_sample_has_every_class(tmp_path: Path) -> None:
    """Classes are in proportion, and a class of three rows is there, too."""
    train, sample = _tables(_split(tmp_path, {"kind": "stratified", "column": "label"}), tmp_path)
    assert set(sample["label"]) == {"yes", "no", "rare"}
    shares = [table["label"].eq("yes").mean() for table in (train, sample)]
    assert shares[0] == pytest.approx(shares[1], abs=0.005)


def test_a_sample_by_groups_has_whole_groups(tmp_path: Path) -> None:
    """No group is in the sample and outside of it."""
    train, sample = _tables(_split(tmp_path, {"kind": "group", "column": "shop"}), tmp_path)
    others = train[~train["id"].isin(sample["id"])]
    assert not set(sample["shop"]) & set(others["shop"])


def test_a_sample_by_time_has_the_latest_rows(tmp_path: Path) -> None:
    """All other training rows are earlier."""
    train, sample = _tables(_split(tmp_path, {"kind": "time", "column": "day"}), tmp_path)
    others = train[~train["id"].isin(sample["id"])]
    assert sample["day"].min() > others["day"].max()


def test_with_few_groups_rows_are_drawn_at_random(tmp_path: Path) -> None:
    """Four groups have no tenth of the rows; the sample has rows of each."""
    split = _split(tmp_path, {"kind": "group", "column": "shop"}, groups=4)
    train, sample = _tables(split, tmp_path)
    assert set(sample["shop"]) == set(train["shop"])
    assert len(sample) == pytest.approx(len(train) / 10, rel=0.05)


@pytest.mark.parametrize(
    ("rows", "least", "most"), [(3_000, 0, 0), (4_000, 300, 800), (125_000, 1_100, 4_600)]
)
@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: rule["kind"])
def test_it_has_about_as_many_rows_as_are_wanted(
    rule: dict[str, Any], rows: int, least: int, most: int, tmp_path: Path
) -> None:
    """2,000, but at most a tenth and at least a fiftieth, or by the rule up to half or twice as many."""
    split = _split(tmp_path, rule, rows=rows)
    assert least <= count_sample(split.public, split.read()) <= most


@pytest.mark.parametrize(
    ("rule", "groups", "least", "most"),
    [
        ({"kind": "random"}, 700, 315, 315),
        ({"kind": "group", "column": "shop"}, 7, 500, 500),
        ({"kind": "group", "column": "shop"}, 20, 0, 0),
    ],
    ids=["random", "groups of 500 rows", "groups of 175 rows"],
)
def test_a_sample_of_fewer_than_300_rows_is_none(
    rule: dict[str, Any], groups: int, least: int, most: int, tmp_path: Path
) -> None:
    """Whole groups may give fewer rows than are wanted; the split then counts none."""
    split = _split(tmp_path, rule, rows=3_500, groups=groups)
    assert least <= count_sample(split.public, split.read()) <= most


def test_rare_classes_may_double_a_sample_but_not_more(tmp_path: Path) -> None:
    """With thousands of classes it has a row of each, unless these would be more than twice the rows."""
    sizes = []
    for groups in (3_000, 9_000):
        root = tmp_path / str(groups)
        split = _split(root, {"kind": "stratified", "column": "shop"}, groups=groups)
        sizes.append(count_sample(split.public, split.read()) / split.read().train_rows)
    assert sizes[0] == pytest.approx(0.2, abs=0.06)
    assert sizes[1] == pytest.approx(0.1, abs=0.01)
