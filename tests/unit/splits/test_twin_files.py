"""Near-duplicates of held-out files leave train, exactly where test rows have none there."""

from collections.abc import Callable, Sequence
from pathlib import Path

import imagehash
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition
from comind.splits.extra_folds import count_folds, make_fold
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.splits.split_plan import file_clusters_of, plan_split, split_keys
from comind.splits.twin_files import RowClusters, Separation, find_row_files
from tests.unit.competitions.folders import competition_folder
from tests.unit.splits.pictures import picture, shifted

pytestmark = pytest.mark.slow

_COPIES: Sequence[Callable[[Image.Image], Image.Image]] = (
    lambda image: image.resize((80, 80), Image.Resampling.BILINEAR),
    lambda image: image.point(lambda grey: int(grey * 0.95) + 3),
    shifted,
)


def world(root: Path, seed: int, copies: int, *, in_test: bool) -> Competition:
    """Pictures with random labels, each with copies: in train, or some of them in test."""
    draw = np.random.default_rng(seed)
    originals = 240 // copies
    labels = draw.permutation([f"c{number % 8}" for number in range(originals)])
    test_originals = 40 // copies
    rows = [(source, copy) for source in range(originals) for copy in range(copies)]
    order = draw.permutation(len(rows)).tolist()
    tests = {row for row in order if rows[row][0] < test_originals}
    tests = set(order[:40]) if in_test else tests
    folder = competition_folder(root, split=None)
    (folder / "public/images").mkdir()
    tables: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for name, row in enumerate(order):
        source, copy = rows[row]
        image = picture(10_000 * seed + source)
        image = _COPIES[(copy - 1) % 3](image) if copy else image
        image = image.convert("L").convert("RGB") if copy > 3 else image
        image.save(folder / f"public/images/{name}.{'png' if copy < 2 else 'jpg'}", quality=80)
        tables["test" if row in tests else "train"].append((str(name), labels[source]))
    train, test = (pd.DataFrame(tables[part], columns=["id", "label"]) for part in ("train", "test"))
    train.to_csv(folder / "public/train.csv", index=False)
    test[["id"]].to_csv(folder / "public/test.csv", index=False)
    test.assign(label="c0").to_csv(folder / "public/sample_submission.csv", index=False)
    test.to_csv(folder / "private/answers.csv", index=False)
    return load_competition(folder)


def looked_up(folder: SplitFolder, asked: pd.DataFrame) -> float:
    """The accuracy of the label of the picture in train with the nearest hash."""
    paths = {path.stem: path for path in (folder.public / "images").iterdir()}

    def hashes(table: pd.DataFrame) -> np.ndarray:
        found = []
        for name in table["id"].astype(str):
            with Image.open(paths[name]) as image:
                found.append(imagehash.phash(image).hash.ravel())
        return np.array(found)

    train = pd.read_csv(folder.public / "train.csv")
    distance = (hashes(asked)[:, None] != hashes(train)[None]).sum(axis=2)
    guess = train["label"].to_numpy()[distance.argmin(axis=1)]
    return float((guess == asked["label"]).mean())


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize(
    ("copies", "in_test"), [(1, False), (2, False), (2, True), (3, False), (8, False), (8, True)]
)
def test_no_file_answers_validation_more_than_test(
    tmp_path: Path, seed: int, copies: int, in_test: bool
) -> None:
    """An oracle that looks up the nearest picture of train gets chance on validation iff on test."""
    competition = world(tmp_path, seed, copies, in_test=in_test)
    folder = make_split(competition, tmp_path / "splits", seed=0)
    validation = looked_up(folder, pd.read_csv(folder.answers))
    test = looked_up(folder, pd.read_csv(competition.folder / "private/answers.csv"))
    leaks = copies > 1 and in_test
    assert (test > 0.4) == leaks
    assert (validation > 0.4) == leaks
    split = folder.read()
    assert 30 <= split.validation_rows <= 70
    assert split.train_rows >= 60
    assert folder.near_duplicates.exists() == ("near-duplicate" in split.rule_reason)
    assert folder.near_duplicates.exists() == (copies > 1 and not in_test)


def test_the_split_is_named_by_its_rows(tmp_path: Path) -> None:
    """Rows that change have another key; a split of the key before is taken as it is."""
    competition = world(tmp_path, 0, 2, in_test=False)
    plan = plan_split(CompetitionData.read(competition), 0)
    plain, changed, *others = split_keys(plan.data, 0)
    assert plain != changed == plan.key
    assert plan.excluded
    folder = make_split(competition, tmp_path / "splits", seed=0)
    assert folder.root.name == plan.key
    assert make_split(competition, tmp_path / "splits", seed=0).root == folder.root
    former = folder.root
    for key in (plain, *others):  # the last two are of the search before
        former = former.rename(tmp_path / "splits" / key)
        assert make_split(competition, tmp_path / "splits", seed=0).root.name == key


def test_folds_keep_twins_apart(tmp_path: Path) -> None:
    """No cluster of files is on both sides of a further fold."""
    folder = make_split(world(tmp_path, 0, 2, in_test=False), tmp_path / "splits", seed=0)
    clusters = pd.read_csv(folder.near_duplicates)["cluster"]
    ids = pd.read_csv(folder.full / "train.csv")["id"]
    by_id = dict(zip(ids, clusters, strict=True))
    assert count_folds(folder, 2).folds == 2
    for number in (1, 2):
        fold = make_fold(folder, number)
        sides = [
            {by_id[name] for name in pd.read_csv(fold.public / table)["id"]}
            for table in ("train.csv", "validation.csv")
        ]
        assert sides[1]
        assert not sides[0] & sides[1]


def test_without_named_files(tmp_path: Path) -> None:
    """Tables without files of rows have the key and rows they had, and nothing is compared."""
    competition = load_competition(competition_folder(tmp_path))
    data = CompetitionData.read(competition)
    assert file_clusters_of(data) is None
    assert split_keys(data, 0)[0] == plan_split(data, 0).key
    (competition.public / "chart.png").write_bytes(b"x")
    assert file_clusters_of(data) is None


def test_files_of_rows(tmp_path: Path) -> None:
    """Masks, which test rows lack, are not taken for the files of train rows."""
    for name in ("train/1.png", "train/2.png", "train_masks/1.png", "train_masks/2.png", "test/1.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    train, test = (
        pd.DataFrame({"x": ["a", "b"], "id": ["1", "2"]}),
        pd.DataFrame({"x": ["a"], "id": ["1"]}),
    )
    found = find_row_files(train, test, tmp_path)
    assert found is not None
    assert [[str(path) for path in part] for part in found] == [
        ["train/1.png", "train/2.png"],
        ["test/1.png"],
    ]
    assert find_row_files(train[["x"]], test[["x"]], tmp_path) is None


def test_too_many_twins() -> None:
    """Where the rule is given and half of train would go, nothing is changed."""
    clusters = RowClusters(np.arange(100) % 5, np.array([7, 8]))
    rows = [0, 1, 2, 3, 4]
    assert clusters.separate(rows, whole=False, seed=0) == Separation(rows, [])
    chosen, excluded, note, _ = clusters.separate(rows, whole=True, seed=0)
    assert len(chosen) == 20
    assert len({row % 5 for row in chosen}) == 1
    assert not excluded
    assert note == "near-duplicate files are held out together"


def test_twins_in_test_too() -> None:
    """Nothing changes from 2 % of test rows with near-duplicates in train."""
    train = np.arange(50) // 2
    for related, unchanged in ((0, False), (1, False), (2, True)):
        test = np.r_[np.arange(related), np.arange(100, 200 - related)]
        assert RowClusters(train, test).answer_nothing == unchanged
