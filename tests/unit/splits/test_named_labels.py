"""Names, folders and comments of held-out rows' files do not show their labels."""

import io
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, PngImagePlugin

from tests.unit.splits.sealed_worlds import build, split, table_of

_PLACES = (
    "train/{label}/{id}.png",
    "train/{id}_{label}.png",
    "train/{label}/{id}/scan.png",
    "{label}-{id}.png",
)


def _world(root: Path, place: str, *, first: int, named: bool) -> tuple[Path, pd.DataFrame]:
    """Write a competition with a picture for each row, which a column names or its id alone."""
    train = table_of("classes")
    train["file"] = [
        place.format(**row) for row in train.rename(columns={"target": "label"}).to_dict("records")
    ]
    test_place = "test/{}/scan.png" if "/scan" in place else "test/{}.png"
    public = build(root, train if named else train.drop(columns="file"), first=first)
    test = pd.read_csv(public / "test.csv", dtype=str)
    test["file"] = [test_place.format(name) for name in test["id"]]
    if named:
        test.to_csv(public / "test.csv", index=False)
    for number, name in enumerate([*train["file"], *test["file"]]):
        _picture(public / name, number)
    return public, train


def _picture(path: Path, seed: int, **comments: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (8, 8, 3), dtype=np.uint8)
    chunks = PngImagePlugin.PngInfo()
    for key, value in comments.items():
        chunks.add_text(key, value)
    Image.fromarray(pixels).save(path, pnginfo=chunks, comment=str(comments).encode())


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("place", "first"), list(zip(_PLACES, (1, 61, 1, 61), strict=True)))
def test_names_of_held_out_files_show_no_labels(
    tmp_path: Path, place: str, first: int, named: bool
) -> None:
    """A held-out row's picture is there under a name without its label, which validation.csv has."""
    public, train = _world(tmp_path, place, first=first, named=named)
    folder, held_out = split(public)
    rows = train.set_index("id")
    files = {path.relative_to(folder.public).as_posix(): path for path in folder.public.rglob("*.png")}
    assert len(files) == len(list(public.rglob("*.png")))
    by_content = {path.read_bytes(): name for name, path in files.items()}
    for name, row in rows.iterrows():
        now = by_content[(public / row["file"]).read_bytes()]
        assert (now == row["file"]) == (name not in held_out)
        assert name not in held_out or row["target"] not in now
        assert (folder.full / row["file"]).exists() == (name in held_out)
    if named:
        shown = pd.read_csv(folder.public / "validation.csv", dtype=str).set_index("id")["file"]
        for name, file in shown.items():
            assert files[file].read_bytes() == (public / rows["file"][name]).read_bytes()
    assert any("are renamed" in line for line in folder.read().warnings)


def test_folders_that_test_files_are_in_stay(tmp_path: Path) -> None:
    """A folder that happens to say the label of train rows is a feature where test rows have it."""
    train = table_of("classes")
    public = build(tmp_path, train, first=61)
    for name, label in train[["id", "target"]].to_numpy():
        _picture(public / "train" / label / f"{name}.png", int(name))
    for number in range(61, 91):
        _picture(public / "test" / ("cat", "dog")[number % 2] / f"{number}.png", number)
    folder, _ = split(public)
    names = sorted(path.relative_to(public) for path in public.rglob("*.png"))
    assert sorted(path.relative_to(folder.public) for path in folder.public.rglob("*.png")) == names


def test_an_archive_of_named_files_is_left_out(tmp_path: Path) -> None:
    """Names in an archive show labels, too; so do masks in one."""
    train = table_of("classes")
    public = build(tmp_path, train, first=1)
    with zipfile.ZipFile(public / "more.zip", "w") as archive:
        for name, label in train[["id", "target"]].to_numpy():
            archive.writestr(f"{label}/{name}.jpg", b"x")
    for place in ("train_pictures.zip", "train_masks.zip", "test_pictures.zip"):
        with zipfile.ZipFile(public / place, "w") as archive:
            for name in train["id"][: 30 if "test" in place else None]:
                archive.writestr(f"{name}.png", b"x")
    folder, _ = split(public)
    assert {path.name for path in folder.public.glob("*.zip")} == {
        "train_pictures.zip",
        "test_pictures.zip",
    }
    assert folder.read().warnings == (
        "folders of files show 'target', as more.zip/New York/16.jpg: 15 are renamed",
        "more.zip is left out, as names of files in it show labels",
        "train_masks.zip is left out, as it has answers to held-out rows",
    )


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
def test_comments_in_held_out_pictures_are_removed(tmp_path: Path, suffix: str) -> None:
    """Pixels are the same, and the texts of the other pictures stay."""
    train = table_of("classes")
    public = build(tmp_path, train, first=61)
    for name, label in train[["id", "target"]].to_numpy():
        _picture(public / "images" / f"{name}{suffix}", int(name), label=label, more="x")
    for number in range(61, 91):
        _picture(public / "images" / f"{number}{suffix}", number, more="x")
    folder, held_out = split(public)
    for name, label in train[["id", "target"]].to_numpy():
        file = f"images/{name}{suffix}"
        data = (folder.public / file).read_bytes()
        assert (label.encode() in data) == (name not in held_out)
        with Image.open(io.BytesIO(data)) as new, Image.open(public / file) as old:
            assert np.array_equal(np.asarray(new), np.asarray(old))
    assert len(folder.read().warnings) == 1


def test_comments_that_name_the_row_beside_its_label_are_removed(tmp_path: Path) -> None:
    """Where names of files say nothing, a comment may say whose label another one is."""
    train = table_of("classes")
    public = build(tmp_path, train, first=61)
    for number, (name, label) in enumerate(reversed(train[["id", "target"]].to_numpy())):
        _picture(public / "images" / f"scan{number:x}z.png", int(name), row=name, label=label)
    folder, held_out = split(public)
    shown = [path.read_bytes() for path in (folder.public / "images").iterdir()]
    assert len(shown) == len(train)
    assert sum(b"label" in data for data in shown) == len(train) - len(held_out)


def test_ids_that_show_labels_are_named(tmp_path: Path) -> None:
    """Ids have to stay, so a line says that validation.csv shows the labels."""
    train = table_of("classes")
    train["id"] = train["target"] + "_" + train["id"]
    public = build(tmp_path, train, first=61)
    folder, _ = split(public)
    assert (
        "validation.csv shows labels: they are in the ids of column 'id', and not in those of test.csv"
        in folder.read().warnings
    )
    shutil.rmtree(public)
