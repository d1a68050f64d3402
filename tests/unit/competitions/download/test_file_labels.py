"""Rows that are files: labels in folders and in names, and files that ids name."""

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.download.file_labels import FileRows, files_of_all_rows, find_file_rows


def of(*names: str) -> list[PurePosixPath]:
    return [PurePosixPath(name) for name in names]


def classes(pattern: str, rows: int = 20, labels: Sequence[str] = ("cat", "dog")) -> list[PurePosixPath]:
    return of(*(pattern.format(label=label, row=row) for label in labels for row in range(rows)))


def found(paths: Sequence[PurePosixPath]) -> FileRows:
    rows = find_file_rows(paths)
    assert rows is not None
    return rows


@pytest.mark.parametrize(
    "pattern",
    [
        "train/{label}/{row}.jpg",
        "train/{label}/a/{row}.jpg",
        "data/train/train/{label}/{label}_{row}.PNG",
        "Training/{label}/{row}.jpeg",
        "train_images/{label}/{row}.jpg",
        "{label}/{row}.jpg",
        "all/{label}/{row}.jpg",
        "train/{label}.{row}.jpg",
        "train/train/{label}_{row:04d}.jpg",
        "train/{label}-{row}.jpg",
        "train/{label} ({row}).jpg",
    ],
)
def test_labels_in_folders_and_names(pattern: str) -> None:
    """The label is the folder of a train file, or the part of its name before the number."""
    rows = found([*classes(pattern), *of("test/1.jpg", "test/2.jpg", "readme.txt")])
    assert rows.kind == "image"
    assert Counter(row.label for row in rows.train) == {"cat": 20, "dog": 20}
    assert all(row.label in str(row.path) for row in rows.train)
    assert [(row.id, str(row.path), row.name) for row in rows.test] == [
        ("1", "test/1.jpg", "test/1.jpg"),
        ("2", "test/2.jpg", "test/2.jpg"),
    ]


def test_the_reason_is_a_line() -> None:
    """The reason counts files and classes and names the place of the labels."""
    rows = found(classes("train/{label}/{row}.wav"))
    assert (rows.kind, rows.test) == ("audio", ())
    assert rows.reason == "40 sounds in 2 folders of train/, one for each label (cat, dog)"
    rows = found(classes("train/{label}.{row}.txt"))
    assert rows.kind == "text"
    assert rows.reason == "40 texts in train/, named by their labels (cat, dog), as in cat.0.txt"


def test_no_label_is_left_in_a_name() -> None:
    """New names are numbers that say nothing of the class, in folder and order."""
    rows = found(classes("train/{label}/{label}_{row}.jpg", rows=200))
    assert sorted(int(row.id) for row in rows.train) == list(range(1, 401))
    assert all(row.name == f"train/{row.id}.jpg" for row in rows.train)
    first = Counter(row.label for row in rows.train if int(row.id) <= 200)
    assert 60 < first["cat"] < 140
    ordered = [row.label for row in sorted(rows.train, key=lambda row: int(row.id))]
    assert 130 < sum(a != b for a, b in itertools.pairwise(ordered)) < 270


def test_names_depend_on_paths_alone() -> None:
    """The order of the listing and the suffix's case change nothing."""
    paths = classes("train/{label}/{row}.JPG")
    assert found(paths) == found(paths[::-1])
    assert {row.name.rpartition(".")[2] for row in found(paths).train} == {"jpg"}


def test_ids_of_both_parts_differ() -> None:
    """No train id is also the id of a test file."""
    rows = found([*classes("train/{label}/{row}.jpg"), *of(*(f"test/{n}.jpg" for n in range(30, 90)))])
    assert not {row.id for row in rows.train} & {row.id for row in rows.test}


def test_test_files_with_the_same_name() -> None:
    """Test files of the same stem are told apart by their folders."""
    rows = found([*classes("train/{label}/{row}.jpg"), *of("test/a/1.jpg", "test/b/1.jpg")])
    assert [row.id for row in rows.test] == ["a/1", "b/1"]


@pytest.mark.parametrize(
    "paths",
    [
        [],
        of("train.csv", "test.csv"),
        [*classes("train/{label}/{row}.jpg"), *classes("test/{label}/{row}.jpg")],
        [*classes("train/{label}/{row}.jpg"), *classes("test/{label}.{row}.jpg")],
        [*classes("train/{label}/{row}.jpg"), *classes("test/train/{label}/{row}.jpg")],
        [*classes("train/{label}_{row}.jpg"), *classes("test/{label}_{row}.jpg")],
        classes("train/{label}/{row}.jpg", labels=("cat",)),
        classes("train/{label}/{row}.jpg", labels=("images", "masks")),
        classes("train/{label}_{row}.jpg", rows=1, labels=("a", "b", "c", "d", "e")),
        classes("train/{label}/{row}.jpg", rows=1, labels=[f"p{n}" for n in range(50)]),
        classes("train/{label}_{row}.jpg", labels=[f"patient{n}" for n in range(5)]),
        [*classes("train/{label}/{row}.jpg"), *of("train/lost.jpg")],
        [*classes("train/{label}/{row}.jpg"), *classes("train/{label}/{row}.txt")],
        of(*(f"train/{n}.jpg" for n in range(50))),
    ],
)
def test_no_guess(paths: list[PurePosixPath]) -> None:
    """Without classes, or where the test files seem to have them too, there is no answer."""
    assert find_file_rows(paths) is None


def test_litter_is_no_file() -> None:
    """Files of operating systems are passed over."""
    paths = classes("train/{label}/{row}.jpg")
    assert found([*paths, *of("__MACOSX/train/cat/._1.jpg", "train/.DS_Store", "train/cat/._3.jpg")])
    assert len(found([*paths, *of("__MACOSX/train/cat/._1.jpg")]).train) == 40


@given(st.lists(st.text("abt/.-_19 ", min_size=1, max_size=16), max_size=30))
def test_any_names(names: list[str]) -> None:
    """Any names give rows with unique ids and names, or none."""
    rows = find_file_rows([PurePosixPath("train", f"{name.strip('/')}.jpg") for name in names])
    if rows is not None:
        assert len({row.id for row in rows.train}) == len({row.name for row in rows.train})
        assert len({row.label for row in rows.train}) > 1


def _files(train: list[str], test: list[str], paths: list[PurePosixPath]) -> list[list[str]] | None:
    found = files_of_all_rows(paths, train, test)
    return found and [[*found.train.values()], [*found.test.values()]]


def test_ids_without_a_suffix() -> None:
    """Ids name files by stem, by name, or by path; files of test rows may have names of train files."""
    paths = of("train/a.png", "train/b.png", "test/a.png", "train.csv")
    expected = [["train/a.png", "train/b.png"], ["test/a.png"]]
    assert _files(["a", "b"], ["a"], paths) == expected
    assert _files(["a.png", "b.png"], ["a.png"], paths) == expected
    assert _files(["train/a", "train/b"], ["test/a"], paths) == expected
    assert _files(["a"], ["b"], of("train/a.png", "test/b.png")) == [["train/a.png"], ["test/b.png"]]


def test_ids_of_no_or_several_files() -> None:
    """An id without a file, or with one in each of two folders, gives no answer."""
    assert _files(["a", "x"], [], of("train/a.png")) is None
    assert _files(["a"], ["x"], of("train/a.png", "train/x.png")) is not None
    assert _files(["a"], ["a"], of("train/a.png")) is None
    assert _files([], [], of("train/a.png")) is None
    assert _files(["a"], ["b"], of("left/a.png", "right/a.png", "left/b.png", "right/b.png")) is None


def test_only_a_path_names_a_file_of_another_kind() -> None:
    """Numbers that are names of arrays are no ids of files; their paths are."""
    paths = of("train/1.npy", "test/1.npy")
    assert _files(["1"], ["1"], paths) is None
    assert _files(["train/1.npy"], ["test/1.npy"], paths) == [["train/1.npy"], ["test/1.npy"]]
