"""The file of a row: aware of train and test, of whole paths, and of folders of rows."""

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from comind.competitions.row_files import (
    FileIndex,
    RowFiles,
    files_of_rows,
    find_file_column,
    neutral_path,
    part_of,
)

_TRAIN = [str(number) for number in range(1, 61)]
_TEST = [str(number) for number in range(1, 31)]  # the same names as some of train

_PLACES = {
    "flat": ("train/{}.jpg", "test/{}.jpg"),
    "named": ("train_images/{}.png", "test_images/{}.png"),
    "nested": ("data/train/images/{}.jpg", "data/test/images/{}.jpg"),
    "below kinds": ("images/training/{}.wav", "images/testing/{}.wav"),
    "of rows": ("train/{0}/images/{0}.png", "test/{0}/images/{0}.png"),
    "folders": ("train/{}/image.png", "test/{}/image.png"),
    "camel case": ("imagesTr/{}.png", "imagesTs/{}.png"),
    "of different names": ("train_photos/{}.JPG", "test/{}.jpg"),
    "train in no folder of its own": ("photos/{}.jpg", "test/{}.jpg"),
    "validation": ("valid/{}.jpg", "test/{}.jpg"),
}
_ANSWERS = ("train_masks/{}.png", "masks/{}.png", "train/masks/{}.jpg", "train/{}.xml")


def _placed(place: str, names: list[str]) -> dict[str, str]:
    return {name: place.format(name) for name in names}


def _found(train: dict[str, str], test: dict[str, str], *more: str) -> RowFiles:
    return files_of_rows(FileIndex([*train.values(), *test.values(), *more]), train, test)


@pytest.mark.parametrize(("train", "test"), _PLACES.values(), ids=_PLACES)
def test_files_of_equal_names_belong_to_the_rows_of_their_part(train: str, test: str) -> None:
    """A train row has its file below train, a test row of the same name below test."""
    expected = _placed(train, _TRAIN), _placed(test, _TEST)
    assert _found(*expected) == (*expected, False)


@pytest.mark.parametrize("answers", _ANSWERS)
@pytest.mark.parametrize("place", ["flat", "named", "nested", "below kinds"])
def test_files_that_only_labelled_rows_have_are_not_taken(place: str, answers: str) -> None:
    """Masks with the names of all images are no row's file; the images are, without doubt."""
    expected = _placed(_PLACES[place][0], _TRAIN), _placed(_PLACES[place][1], _TEST)
    assert _found(*expected, *_placed(answers, _TRAIN).values()) == (*expected, False)


@pytest.mark.parametrize(
    ("inputs", "answers"),
    [
        ("images", "groundtruth"),
        ("images", "ground_truth"),
        ("images", "annot"),
        ("tiles", "solutions"),
        ("slices", "segments"),
        ("photos", "gtFine"),
        ("scans", "seg"),
    ],
)
def test_files_of_answers_are_not_taken_where_test_files_are_elsewhere(
    inputs: str, answers: str
) -> None:
    """Of two folders with the names of all train rows, the one that is named like answers is none."""
    train, test = _placed(f"{inputs}/{{}}.png", _TRAIN), _placed("holdout/{}.png", ["a", "b", "c"])
    found = _found(train, test, *_placed(f"{answers}/{{}}.png", _TRAIN).values())
    assert found == (train, test, False)


@pytest.mark.parametrize("answers", ["train/{}/mask.png", "train/{0}/masks/{0}_0.png"])
def test_masks_in_folders_of_rows_are_not_taken(answers: str) -> None:
    """Of the files in a row's folder, the one that test rows have too is taken."""
    expected = _placed("train/{}/image.png", _TRAIN), _placed("test/{}/image.png", _TEST)
    assert _found(*expected, *_placed(answers, _TRAIN).values()) == (*expected, False)


def test_a_row_without_a_file_gets_none_of_the_other_part() -> None:
    """Where a test file is missing, its row has none, although train has a file of that name."""
    train, test = _placed("train/{}.jpg", _TRAIN), _placed("test/{}.jpg", _TEST[3:])
    assert files_of_rows(FileIndex([*train.values(), *test.values()]), _TRAIN, _TEST) == (
        train,
        test,
        False,
    )
    assert files_of_rows(FileIndex(train.values()), _TRAIN, _TEST) == (train, {}, False)


def test_one_folder_named_train_may_hold_all_files() -> None:
    """Test rows whose names train rows lack find their files below train, if they have no others."""
    train, test = _placed("train/{}.jpg", _TRAIN), _placed("train/{}.jpg", ["61", "62"])
    assert _found(train, test) == (train, test, False)


def test_a_whole_path_names_its_file() -> None:
    """A path wins over its folder's name, and a column of paths over one of names."""
    train, test = _placed("train/{}.jpg", _TRAIN), _placed("test/{}.jpg", _TEST)
    files = [*train.values(), *test.values()]
    assert files_of_rows(FileIndex(files), ["test/7.jpg"], ["./train/7.jpg"]) == (
        {"test/7.jpg": "test/7.jpg"},
        {"./train/7.jpg": "train/7.jpg"},
        False,
    )
    columns = [{"age": [*part][::-1], "id": [*part], "at": [*part.values()]} for part in (train, test)]
    found = find_file_column(FileIndex(files), *columns)
    assert found is not None
    assert (found.name, found.files.test) == ("at", {path: path for path in test.values()})


@pytest.mark.parametrize(("train", "test"), [("train/{}.png", "test/{}.png"), ("a/{}.png", "b/{}.png")])
def test_numbers_have_files_with_zeros_in_front(train: str, test: str) -> None:
    """A table of numbers has 7 and 120 where files are 007.png and 120.png; exact names come first."""
    ids = [str(number) for number in (7, 45, 120)]
    expected = [{name: place.format(name.zfill(3)) for name in ids} for place in (train, test)]
    if train.startswith("a"):
        expected[1] = {str(int(name) + 200): test.format(int(name) + 200) for name in ids}
    assert _found(*expected) == (*expected, False)
    exact = {name: train.format(name) for name in ids}
    others = [train.format(name.zfill(3)) for name in ids]
    assert _found(exact, {}, *others) == (exact, {}, False)
    padded = {name.zfill(4): train.format(name.zfill(4)) for name in ids}
    assert files_of_rows(FileIndex(padded.values()), padded, ids) == (padded, {}, False)


def test_the_end_of_a_path_names_a_file_of_the_part() -> None:
    """Cells with folders below train and test, with suffix or without, are names as well."""
    files = [f"{part}/{kind}/1.png" for part in ("train", "test") for kind in ("a", "b")]
    for cell in ("b/1.png", "b/1"):
        assert files_of_rows(FileIndex(files), [cell], [cell]) == (
            {cell: "train/b/1.png"},
            {cell: "test/b/1.png"},
            False,
        )


def test_the_column_that_names_most_files_is_found() -> None:
    """Numbers that happen to be names of some files do not hide the id; no names are no column."""
    files = [*_placed("train/{}.jpg", _TRAIN).values(), *_placed("test/{}.jpg", _TEST).values()]
    train = {"age": ["1"] * 60, "id": _TRAIN, "only": _TRAIN}
    found = find_file_column(FileIndex(files), train, {"age": ["2"] * 30, "id": [*_TEST[:-1], "none"]})
    assert found is not None
    assert found.name == "id"
    assert find_file_column(FileIndex(files), {"id": ["a"]}, {"id": ["b"]}) is None
    assert find_file_column(FileIndex([]), train, {"id": _TEST}) is None


def test_two_kinds_of_files_that_are_as_likely_are_ambiguous() -> None:
    """Colours and depth of all rows: one is taken, and that there is another is said."""
    files = [f"{part}/{kind}/1.png" for part in ("train", "test") for kind in ("colours", "depth")]
    found = files_of_rows(FileIndex(files), ["1"], ["1"])
    assert found == ({"1": "train/colours/1.png"}, {"1": "test/colours/1.png"}, True)


def test_a_train_file_that_may_be_an_answer_is_not_taken() -> None:
    """Of two folders of train rows where tests lie in a third, none is known to be the inputs."""
    names = _placed("scans/{}.png", _TRAIN), _placed("renders/{}.png", _TRAIN)
    test = _placed("holdout/{}.png", ["a", "b", "c"])
    assert _found(names[0], test, *names[1].values()) == ({}, test, True)
    assert _found(names[0], {}, *names[1].values()) == (names[1], {}, True)


def test_a_folder_of_several_files_is_no_rows_file() -> None:
    """Frames of a video, and images of a category that rows have, are no files of single rows."""
    frames = [f"{part}/{row}/{n}.jpg" for part in ("train", "test") for row in "ab" for n in range(3)]
    categories = ["dogs/pug/1.jpg", "dogs/pug/2.jpg", "dogs/beagle/1.jpg", "dogs/pug/x.jpg"]
    for files, cells in ((frames, ["a", "b"]), (categories, ["pug", "beagle"])):
        assert files_of_rows(FileIndex(files), cells, cells) == ({}, {}, True)
    cells = ["pug", "beagle"]
    assert not files_of_rows(FileIndex(categories[1:3]), cells, cells).ambiguous


def test_files_of_several_suffixes_and_folders_are_of_one_kind() -> None:
    """Files in numbered folders, some of them PNG and some JPEG, are the files of one column."""
    files = {str(number): f"train/{number % 3}/{number}x" for number in range(60)}
    train = {f"{name}x": f"{path}.{'png' if int(name) % 2 else 'jpg'}" for name, path in files.items()}
    test = {f"{number}x": f"test/{number % 3}/{number}x.JPEG" for number in range(20)}
    assert _found(train, test) == (train, test, False)


@pytest.mark.parametrize(
    ("path", "part", "neutral"),
    [
        ("train/1.jpg", "train", "?/1.jpg"),
        ("a/TEST-images/train_1.jpg", "test", "a/?-images/?_1.jpg"),
        ("TrainingImages/1.jpg", "train", "?Images/1.jpg"),
        ("labelsTs/1.nii", "test", "labels?/1.nii"),
        ("train2017/1.jpg", "train", "?2017/1.jpg"),
        ("trainimages/1.jpg", "train", "?images/1.jpg"),
        ("validation/1.jpg", "train", "validation/1.jpg"),
        ("train_test_split/test/1.jpg", "test", "?_?_split/?/1.jpg"),
        ("images/test_1.jpg", "test", "images/?_1.jpg"),
        ("trains/constrained/1.jpg", "", "trains/constrained/1.jpg"),
    ],
)
def test_a_part_is_a_word_of_a_folder(path: str, part: str, neutral: str) -> None:
    """The first folder with the word decides, else the name; words that contain it do not."""
    assert (part_of(path), neutral_path(path)) == (part, neutral)


def test_files_in_no_folder_of_a_part_are_not_those_of_test_rows() -> None:
    """Where test has a folder, a test row without a file gets none of the others with its name."""
    train, test = _placed("photos/{}.jpg", _TRAIN), _placed("test/{}.jpg", _TEST[3:])
    assert files_of_rows(FileIndex([*train.values(), *test.values()]), _TRAIN, _TEST) == (
        train,
        test,
        False,
    )
    train, test = _placed("train/{}.jpg", _TRAIN[3:]), _placed("photos/{}.jpg", _TEST)
    assert files_of_rows(FileIndex([*train.values(), *test.values()]), _TRAIN, _TEST) == (
        train,
        test,
        False,
    )


def test_test_rows_have_their_own_files_where_few_train_rows_are_known() -> None:
    """A file of a held-out row in no folder of a part is not a test row's, if test has a folder."""
    train, test = _placed("photos/{}.jpg", _TRAIN), _placed("test/{}.jpg", _TEST)
    files = FileIndex([*train.values(), *test.values()])
    assert files_of_rows(files, _TRAIN[::2], _TEST).test == test


def test_rows_of_both_parts_may_share_files() -> None:
    """Images in a folder of no part are those of all rows that name them, also beside masks."""
    files = _placed("images/{}.jpg", _TRAIN)
    masks = _placed("train_masks/{}.png", _TRAIN)
    shared = {name: files[name] for name in _TEST}
    assert files_of_rows(FileIndex([*files.values(), *masks.values()]), _TRAIN, _TEST) == (
        files,
        shared,
        False,
    )


_NAMES = st.sets(st.integers(1, 12).map(str), min_size=1)
_APART = [places for places in _PLACES.values() if not places[0].startswith("photos")]


@given(_NAMES, _NAMES, _NAMES, _NAMES, st.sampled_from(_APART), st.randoms())
def test_no_row_ever_has_the_file_of_another(
    train: set[str],
    test: set[str],
    has: set[str],
    masks: set[str],
    places: tuple[str, str],
    draw: random.Random,
) -> None:
    """With any overlap of names, missing files and masks, a row has its own file or none."""
    own = [train & has, {name for name in test if str(13 - int(name)) in has}]
    assume(len(train & masks) <= len(own[0]))  # at least as many images as masks
    expected = [_placed(place, sorted(names)) for place, names in zip(places, own, strict=True)]
    answers = _placed("train_masks/{}.png", sorted(train & masks))
    files = [path for part in (*expected, answers) for path in part.values()]
    draw.shuffle(files)
    assert [*files_of_rows(FileIndex(files), train, test)[:2]] == expected
