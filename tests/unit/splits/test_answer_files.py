"""Files that only training rows have are answers; those of held-out rows are removed."""

import pandas as pd
import pytest

from comind.splits.answer_files import answer_files

TRAIN = pd.DataFrame({"id": ["a1", "a2", "a3"]})
TEST = pd.DataFrame({"id": ["b1", "b2"]})
HELD_BACK = TRAIN.iloc[[1]]

_PARTED = [
    ("train/{}.png", "test/{}.png", "train_masks/{}.png"),
    ("train/images/{}.png", "test/images/{}.png", "train/masks/{}.png"),
    ("train/images/{}.png", "test/{}.png", "train/masks/{}.png"),
    ("train/{}.png", "test1/{}.png", "train_masks/{}.png"),
    ("train_v2/{}.png", "test_v2/{}.png", "masks/{}.png"),
    ("TrainImages/{}.png", "TestImages/{}.png", "TrainMasks/{}.png"),
    ("imagesTr/{}.png", "imagesTs/{}.png", "labelsTr/{}.png"),
    ("train/{}.wav", "test/{}.wav", "train/{}.txt"),
    ("Training/{}_0.png", "test/{}_0.png", "Training/{}_0_gt.png"),
    ("train/{0}/images/{0}.png", "test/{0}/images/{0}.png", "train/{0}/masks/7f.png"),
    ("train/{}/scan.dcm", "test/{}/scan.dcm", "train/{}/mask.png"),
    ("train/{}/image.png", "test/{}/image.png", "train/{}/mask.png"),
    ("train/{}/1.png", "test/{}/1.png", "train/{}/labels.csv"),
    ("train/{}_data.csv", "test/{}_data.csv", "train/{}_events.csv"),
    ("train/{}.json", "test/{}.json", "train/labels/{}.json"),
    ("train/img_{}.png", "test/img_{}.png", "train/mask_{}.png"),
    ("train/{:0>4}.png", "test/{:0>4}.png", "train_masks/{:0>4}.png"),
]
"""Places of inputs of train and of test rows, and of answers."""


@pytest.mark.parametrize("first", [1, 2, 3, 4])
@pytest.mark.parametrize(("train", "test", "answers"), _PARTED)
@pytest.mark.parametrize("listed", [2, 3])
def test_answers_are_found_by_their_folders(
    train: str, test: str, answers: str, first: int, listed: int
) -> None:
    """Test rows may have all, some or no numbers of train rows, whose answers may be files alone."""
    rows, asked = ["1", "2", "3"], [str(first), str(first + 1)]
    files = {place.format(name) for place in (train, answers) for name in rows}
    files |= {test.format(name) for name in asked}
    tables = [pd.DataFrame({"id": ids}) for ids in (rows[:listed], asked, ["2"])]
    assert answer_files(files, *tables) == ({answers.format("2")}, "")


@pytest.mark.parametrize("first", [1, 4])
def test_what_is_called_a_mask_is_no_input(first: int) -> None:
    """Where inputs of train and test have nothing in common, names decide; else the kinds are named."""
    asked = [str(first), str(first + 1)]
    tables = [pd.DataFrame({"id": ids}) for ids in (["1", "2", "3"], asked, ["2"])]
    files = {f"{place}/{name}.png" for place in ("photos", "masks") for name in "123"}
    files |= {f"unseen_test/{name}.png" for name in asked}
    assert answer_files(files, *tables) == ({"masks/2.png"}, "")
    files |= {f"more/{name}.png" for name in "123"}
    assert answer_files(files, *tables) == ({"masks/2.png"}, "more/*.png, photos/*.png")
    paths = [table.assign(file=[f"photos/{name}.png" for name in table["id"]]) for table in tables]
    assert answer_files(files, *paths) == ({"masks/2.png", "more/2.png"}, "")


def test_the_same_files_of_train_and_test_stay() -> None:
    """Where the same ids mean the same objects, their files are inputs of both."""
    files = {f"{place}/{name}.png" for place in ("photos", "masks") for name in "123"}
    tables = [pd.DataFrame({"id": ids}) for ids in (["1", "2", "3"], ["1", "2"], ["2"])]
    assert answer_files(files, *tables) == (set(), "")


@pytest.mark.parametrize(
    ("train", "test", "answers"),
    [
        ("images/{}.png", "images/{}.png", None),
        ("train/{}.png", "test/{}.png", None),
        ("train/{}.png", "test/{}.png", "train_cleaned/{}.png"),
        ("images/{}.png", "images/{}.png", "masks/{}.png"),
        ("images/{}.png", "images/{}.png", "images/{}_mask.png"),
        ("train/{}.wav", "test/{}.wav", "train/{}.txt"),
        ("Training/{}_0.png", "test/{}_0.png", "Training/{}_0_gt.png"),
        ("only_train/{}.png", "elsewhere/{}.png", None),
        ("train/{0}/images/{0}.png", "test/{0}/images/{0}.png", "train/{0}/masks/7f.png"),
        ("train/{}/scan.dcm", "test/{}/scan.dcm", "train/{}/mask.png"),
        ("data/{}/1.png", "data/{}/1.png", "data/{}/labels.csv"),
        ("train/{}_data.csv", "test/{}_data.csv", "train/{}_events.csv"),
    ],
)
def test_answers_of_held_back_rows_are_found(train: str, test: str, answers: str | None) -> None:
    """Files placed like those of test rows are inputs; other kinds beside them are answers."""
    files = {train.format(name) for name in TRAIN["id"]} | {test.format(name) for name in TEST["id"]}
    if answers:
        files |= {answers.format(name) for name in TRAIN["id"]}
    found = answer_files(files, TRAIN, TEST, HELD_BACK)
    assert found.files == ({answers.format("a2")} if answers else set())


def test_pixels_belong_to_images() -> None:
    """A pixel row has the files of its image."""
    train = pd.DataFrame({"id": [f"{name}_{row}_1" for name in (1, 2) for row in range(3)]})
    test = pd.DataFrame({"id": ["3_0_1", "3_1_1"]})
    files = {"train/1.png", "train/2.png", "train_cleaned/1.png", "train_cleaned/2.png", "test/3.png"}
    assert answer_files(files, train, test, train.tail(3)).files == {"train_cleaned/2.png"}


def test_without_common_inputs_nothing_is_an_answer() -> None:
    """If training rows have a single kind of file, it is an input."""
    files = {f"photos/{name}.png" for name in TRAIN["id"]}
    assert answer_files(files, TRAIN, TEST, HELD_BACK).files == set()


def test_each_row_may_have_a_folder_of_many_answers() -> None:
    """All files of a kind in the folder of a held-out row are removed, inputs are not."""
    inputs = {f"{part}/{name}/images/{name}.png" for part, name in (("train", "a1"), ("train", "a2"))}
    inputs |= {f"test/{name}/images/{name}.png" for name in TEST["id"]}
    masks = {f"train/{name}/masks/{mask}.png" for name in ("a1", "a2") for mask in ("0c", "1d", "2")}
    found = answer_files(inputs | masks, TRAIN, TEST, HELD_BACK)
    assert found.files == {f"train/a2/masks/{mask}.png" for mask in ("0c", "1d", "2")}


def test_numbers_in_other_columns_are_no_ids() -> None:
    """Only the answers of held-out rows are removed, whatever numbers the other columns have."""
    tables = [
        pd.DataFrame({"id": list(ids), "age": list(ages)})
        for ids, ages in (("123", "331"), ("45", "22"), (["2"], ["3"]))
    ]
    files = {f"{place}/{name}.png" for place in ("images", "masks") for name in "123"}
    files |= {f"images/{name}.png" for name in "45"}
    assert answer_files(files, *tables).files == {"masks/2.png"}


def test_a_column_of_many_values_names_no_folder() -> None:
    """Folders that are cells of a repeated column, such as a kind, are no rows."""
    train = TRAIN.assign(kind="cat")
    test = TEST.assign(kind="cat")
    files = {f"cat/{name}.png" for name in (*TRAIN["id"], *TEST["id"])} | {"cat/notes/readme.png"}
    assert answer_files(files, train, test, train.iloc[[1]]).files == set()
