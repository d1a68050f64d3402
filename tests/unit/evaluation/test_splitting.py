"""Splits hold back what they should, the same on every machine."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import CompetitionError
from comind.evaluation.folder import load_competition
from comind.evaluation.splitting import SplitFolder, make_split
from tests.unit.evaluation.folders import competition_folder


def _split(root: Path, *, seed: int = 0, **changes: object) -> SplitFolder:
    folder = competition_folder(root, **changes)  # type: ignore[arg-type]
    return make_split(load_competition(folder), root / "splits", seed=seed)


@given(
    rows=st.integers(10, 400),
    kind=st.sampled_from(["random", "stratified"]),
    seed=st.integers(0, 5),
)
def test_a_split_parts_the_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: int, kind: str, seed: int
) -> None:
    """Every labelled row is in train or in validation, never in both, and the labels are sealed."""
    root = tmp_path_factory.mktemp("split")
    rule = {"kind": kind} | ({"column": "label"} if kind == "stratified" else {})
    folder = _split(root, rows=rows, seed=seed, split=rule)
    train, validation, test, whole = (
        pd.read_csv(path)
        for path in (
            folder.public / "train.csv",
            folder.public / "validation.csv",
            folder.public / "test.csv",
            root / "small" / "public" / "train.csv",
        )
    )
    assert sorted([*train["id"], *validation["id"]]) == sorted(whole["id"])
    assert list(validation.columns) == list(test.columns)
    answers = pd.read_csv(folder.answers)
    truth = whole.set_index("id")["label"]
    assert (answers.set_index("id")["label"] == truth[answers["id"]]).all()
    assert set(train["label"]) == set(whole["label"])
    split = folder.read()
    assert (split.train_rows, split.validation_rows) == (len(train), len(validation))


def test_a_split_is_the_same_everywhere(tmp_path: Path) -> None:
    """The same competition and seed give the same bytes; these were frozen on another machine."""
    first = _split(tmp_path / "a").read()
    second = _split(tmp_path / "b").read()
    assert first == second
    assert (first.key, first.sealed_sha256[:12]) == ("small-8c5c81d79453", "370a34e354d3"[:12])


def test_another_seed_is_another_split(tmp_path: Path) -> None:
    """The seed changes which rows are held back, and the split's name."""
    first, second = (_split(tmp_path / str(seed), seed=seed) for seed in (0, 1))
    assert first.root.name != second.root.name
    assert first.answers.read_text() != second.answers.read_text()


@pytest.mark.parametrize(
    ("rows", "validation"), [(40, 10), (891, 222), (1200, 300), (2000, 300), (5000, 500)]
)
def test_how_many_rows_are_held_back(tmp_path: Path, rows: int, validation: int) -> None:
    """A tenth of the rows, but at least 300 while that is at most a quarter."""
    assert _split(tmp_path, rows=rows).read().validation_rows == validation


def test_classes_keep_their_share(tmp_path: Path) -> None:
    """A stratified split has each class in validation in proportion."""
    folder = _split(tmp_path, rows=400)
    shares = pd.read_csv(folder.answers)["label"].value_counts(normalize=True)
    assert shares["yes"] == pytest.approx(0.25, abs=0.01)


def test_a_finished_split_is_used_again(tmp_path: Path) -> None:
    """A split that is there is not written again."""
    folder = _split(tmp_path)
    before = folder.described.stat().st_mtime_ns
    again = make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0)
    assert again.root == folder.root
    assert folder.described.stat().st_mtime_ns == before
    assert [path.name for path in (tmp_path / "splits").iterdir()] == [folder.root.name]


def test_a_link_in_the_data_is_refused(tmp_path: Path) -> None:
    """A symbolic link in public could lead to the labels, so it is named and refused."""
    folder = competition_folder(tmp_path)
    (folder / "public" / "more").symlink_to("/etc")
    with pytest.raises(CompetitionError, match=r"more is a symbolic link"):
        make_split(load_competition(folder), tmp_path / "splits", seed=0)
