"""row_files.csv lists the files of each row of a split; recipes read it, or match by the same rules."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from comind.baseline.recipe_programs import task_of
from comind.baseline.recipes.files import ROW_FILES as READ_AT
from comind.baseline.recipes.files import listed_files, listed_or_all_files, side_files
from comind.baseline.recipes.tables import read_tables
from comind.competitions.competition_folder import load_competition
from comind.competitions.row_file_list import ROW_FILES, write_row_files
from comind.competitions.row_files import AUDIO_SUFFIXES, IMAGE_SUFFIXES
from comind.domain.problem import ROW_FILES_AT
from comind.profile.problem_description import describe_problem
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from tests.unit.competitions.folders import competition_folder, write

_PARTS = ("train", "validation", "test")


def _split(root: Path, train: str, test: str) -> SplitFolder:
    """Split a competition whose rows have images at these places, numbered alike in both parts."""
    folder = competition_folder(root, split={"kind": "random"})
    labels = ["yes", "no"] * 20
    tables = {"train": [f"{n},{label}" for n, label in enumerate(labels)], "test": map(str, range(20))}
    write(folder, "train.csv", ["id,label", *tables["train"]])
    write(folder, "test.csv", ["id", *tables["test"]])
    write(folder, "sample_submission.csv", ["id,label", *(f"{n},yes" for n in range(20))])
    for place, count in ((train, 40), (test, 20)):
        for number in range(count):
            label = labels[number] if "{label}" in place else ""
            path = folder / "public" / place.format(n=number, label=label)
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (4, 4), number).save(path)
    return make_split(load_competition(folder), root / "splits", seed=0)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("train/{n}.png", "test/{n}.png"),
        ("train/{n}/image.png", "test/{n}/image.png"),
        ("train/{label}/{n}.png", "test/{n}.png"),
    ],
    ids=["folders of parts", "folders of rows", "folders of classes"],
)
def test_each_row_has_its_public_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: str, test: str
) -> None:
    """Lines are in the order of the tables; each names the public file that a recipe finds itself."""
    split = _split(tmp_path, train, test)
    listed = pd.read_csv(split.row_files / ROW_FILES, dtype=str)
    assert listed.columns.tolist() == ["part", "id", "image"]
    tables = {part: pd.read_csv(split.public / f"{part}.csv", dtype=str) for part in _PARTS}
    for part, rows in tables.items():
        own = listed[listed["part"] == part]
        assert own["id"].tolist() == rows["id"].tolist()
        images = [Image.open(split.public / file).getpixel((0, 0)) for file in own["image"]]
        assert images == [int(each) for each in rows["id"]]
        assert all(file.startswith("test/") == (part == "test") for file in own["image"])
    monkeypatch.chdir(tmp_path)
    problem = describe_problem(split)
    (tmp_path / problem.folder).parent.mkdir()
    (tmp_path / problem.folder).symlink_to(split.public)
    task = task_of(problem, 0)
    matched = side_files(task, read_tables(task), IMAGE_SUFFIXES)
    assert f"{ROW_FILES_AT}/{ROW_FILES}" == READ_AT
    Path(ROW_FILES_AT).symlink_to(split.row_files)
    shutil.rmtree(tmp_path / "small")
    read = listed_files(task, read_tables(task), IMAGE_SUFFIXES)
    assert read is not None
    assert [[Path(problem.folder, file) for file in part] for part in read] == matched
    assert listed_or_all_files(task, read_tables(task), IMAGE_SUFFIXES) == sorted(
        file for part in read for file in part
    )
    every = sorted(path.relative_to(split.public).as_posix() for path in split.public.rglob("*.png"))
    split.row_files.joinpath(ROW_FILES).write_text(listed.replace(read[0][0], "").to_csv(index=False))
    assert listed_or_all_files(task, read_tables(task), IMAGE_SUFFIXES) == every
    listed.to_csv(split.row_files / ROW_FILES, index=False)
    some = read_tables(task)._replace(train=read_tables(task).train.iloc[[5, 2]])
    asked = listed_files(task, some, IMAGE_SUFFIXES)
    assert asked is not None
    assert asked[0] == [read[0][5], read[0][2]]
    assert listed_files(task, some, AUDIO_SUFFIXES) == [[""] * len(rows) for rows in some]
    (split.public / "logo.wav").touch()
    assert listed_or_all_files(task, some, AUDIO_SUFFIXES) == ["logo.wav"]


def test_lines_of_held_out_rows_name_no_label(tmp_path: Path) -> None:
    """Files in folders of classes are listed by the names that the split gives them."""
    split = _split(tmp_path, "train/{label}/{n}.png", "test/{n}.png")
    listed = pd.read_csv(split.row_files / ROW_FILES, dtype=str).set_index("part")["image"]
    assert not listed["validation"].str.contains("yes|no").any()
    assert listed["train"].str.contains("yes|no").all()


def test_the_list_is_no_part_of_what_is_hashed(tmp_path: Path) -> None:
    """A split of an earlier version, without a list, is the same split; the list is made from it."""
    split = _split(tmp_path, "train/{n}.png", "test/{n}.png")
    before, task = split.row_files / ROW_FILES, split.read()
    text = before.read_bytes()
    shutil.rmtree(split.row_files)
    assert (
        make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0).root == split.root
    )
    write_row_files(split.public, task.id_columns, task.train_id_columns, before)
    assert before.read_bytes() == text


def test_rows_without_files_have_an_empty_list(tmp_path: Path) -> None:
    """Tables alone, and files that no column names, give the header and no line."""
    folder = competition_folder(tmp_path)
    Image.new("L", (4, 4)).save(folder / "public" / "logo.png")
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    assert (split.row_files / ROW_FILES).read_text() == "part,id\n"
    preview = describe_problem(split, len).preview
    assert "logo.png" in preview
    assert "row_files" not in preview


def test_a_row_may_have_files_of_several_kinds(tmp_path: Path) -> None:
    """Each kind of files has a column; measurements name none, and a document at the top is none."""
    public = tmp_path / "public"
    public.mkdir()
    for part in _PARTS:
        (public / f"{part}.csv").write_text("id,mass\na,0.5\nb,0.7\n".replace("a,", f"{part[0]}a,"))
    names = ("ta.png", "va.png", "b.JPG", "ta.wav", "notes/ta.json", "0.5.txt", "0.7.txt", "b.json")
    for name in names:
        (public / name).parent.mkdir(exist_ok=True)
        (public / name).touch()
    write_row_files(public, ["id"], ["id"], tmp_path / ROW_FILES)
    found = pd.read_csv(tmp_path / ROW_FILES, keep_default_na=False)
    assert found.columns.tolist() == ["part", "id", "image", "audio", "other"]
    first = found.groupby("part").first()
    assert first.loc["train"].tolist() == ["ta", "ta.png", "ta.wav", "notes/ta.json"]
    assert first.loc["validation"].tolist() == ["va", "va.png", "", ""]


def test_a_word_that_happens_to_be_a_file_is_no_list(tmp_path: Path) -> None:
    """A column that names a file in less than a tenth of the rows has none of its own."""
    public = tmp_path / "public"
    (public / "more").mkdir(parents=True)
    for part, first in (("train", "logo"), ("validation", "a"), ("test", "b")):
        (public / f"{part}.csv").write_text("\n".join(["id", first, *(f"{part}{n}" for n in range(12))]))
    (public / "more" / "logo.png").touch()
    write_row_files(public, ["id"], ["id"], tmp_path / ROW_FILES)
    assert (tmp_path / ROW_FILES).read_text() == "part,id\n"


@pytest.mark.parametrize("form", ["{}_rust", "{}.png_rust", "{}_3_4"])
def test_cells_may_begin_with_the_name_of_a_file(tmp_path: Path, form: str) -> None:
    """Rows of masks and of pixels have the image that their ids begin with, of their own part."""
    public = tmp_path / "public"
    for part, folder in (("train", "train"), ("validation", "train"), ("test", "test")):
        (public / folder).mkdir(parents=True, exist_ok=True)
        names = [f"s_{n + 2 * (part == 'validation')}" for n in range(2)]
        (public / f"{part}.csv").write_text("\n".join(["id", *map(form.format, names)]))
        for name in names:
            (public / folder / f"{name}.png").touch()
    write_row_files(public, ["id"], ["id"], tmp_path / ROW_FILES)
    found = pd.read_csv(tmp_path / ROW_FILES).groupby("part")["image"].agg(list)
    assert found.to_dict() == {
        "train": ["train/s_0.png", "train/s_1.png"],
        "validation": ["train/s_2.png", "train/s_3.png"],
        "test": ["test/s_0.png", "test/s_1.png"],
    }
