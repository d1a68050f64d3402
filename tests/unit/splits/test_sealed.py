"""Answers planted anywhere among the public files cannot be found in what an attempt can read."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from tests.examples import examples
from tests.unit.splits.sealed_worlds import PLANTS, build, shown_texts, split, table_of

_LAYOUTS = {
    "none": None,
    "flat": ("train/{id}.png", "train_masks/{id}.png", "test/{id}.png"),
    "nested": ("train/images/{id}.png", "train/masks/{id}.png", "test/images/{id}.png"),
    "by row": ("train/{id}/image.png", "train/{id}/mask.png", "test/{id}/image.png"),
    "by class": ("train/{label}/{id}.png", "masks/{id}.png", "test/{id}.png"),
    "named": ("train/{id}_{label}.png", "train/{id}_mask.png", "test/{id}.png"),
    "texts": ("images/{id}.png", "notes/{id}.txt", "images/t{id}.png"),
}
"""Places of inputs of train rows, of answers, and of inputs of test rows."""

_TABLES = [name for name in PLANTS if name not in ("lists", "one-hot", "codes", "by label")]
_FIRST = {"the same ids": 1, "some of the ids": 41, "other ids": 61}


@dataclass(frozen=True)
class Planted:
    """Where the answers are."""

    layout: str
    tables: tuple[str, ...]
    comments: bool
    times: bool
    named: bool
    """Whether a column has the paths of the pictures."""
    ids: str

    def build(self, root: Path) -> tuple[Path, pd.DataFrame]:
        """Write the competition; return its public folder and its labelled rows."""
        train = table_of("markers")
        places = _LAYOUTS[self.layout]
        first = 61 if self.layout == "texts" else _FIRST[self.ids]
        ids = [str(first + row) for row in range(30)]
        shown = train
        if places and self.named:
            shown = train.assign(file=[_place(places[0], *row) for row in _labels(train)])
        public = build(root, shown, first=first)
        if places:
            if self.named:
                test = pd.read_csv(public / "test.csv", dtype=str)
                test["file"] = [_place(places[2], name, "") for name in test["id"]]
                test.to_csv(public / "test.csv", index=False)
            for number, (name, label) in enumerate(_labels(train)):
                _picture(public / _place(places[0], name, label), number, label if self.comments else "")
                _write(public / _place(places[1], name, label), label.encode())
            for name in ids:
                _picture(public / _place(places[2], name, ""), 1000 + int(name), "")
        for name in self.tables:
            PLANTS[name](public, train)
        for path in public.rglob("*") if self.times else ():
            shown_label = train["target"].map(lambda each: each.rpartition(" ")[2])
            row = shown_label[train["id"] == path.stem.partition("_")[0]]
            os.utime(path, (int(row.iloc[0]) if len(row) else 7, int(row.iloc[0]) if len(row) else 7))
        return public, train


def _labels(train: pd.DataFrame) -> list[tuple[str, str]]:
    return list(train[["id", "target"]].itertuples(index=False, name=None))


def _place(place: str, name: str, label: str) -> str:
    return place.format(id=name, label=label)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _picture(path: Path, seed: int, comment: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Description", comment or "none")
    pixels = np.random.default_rng(seed).integers(0, 255, (6, 6), dtype=np.uint8)
    Image.fromarray(pixels).save(path, pnginfo=texts)


@st.composite
def planted(draw: st.DrawFn) -> Planted:
    """Return answers in files, folders, names, comments, times, tables and archives."""
    return Planted(
        layout=draw(st.sampled_from(sorted(_LAYOUTS))),
        tables=tuple(draw(st.lists(st.sampled_from(_TABLES), max_size=2, unique=True))),
        comments=draw(st.booleans()),
        times=draw(st.booleans()),
        named=draw(st.booleans()),
        ids=draw(st.sampled_from(sorted(_FIRST))),
    )


def _check(world: Planted, root: Path) -> None:
    public, train = world.build(root)
    before = {path: path.read_bytes() for path in public.rglob("*") if path.is_file()}
    folder, held_out = split(public)
    texts = dict(shown_texts(folder.public))
    for name, label in _labels(train):
        number = label.rpartition(" ")[2]
        where = [file for file, text in texts.items() if number in text or number in file]
        assert (name in held_out) <= (not where), f"{label} of row {name} is in {where}"
    times = {path.stat().st_mtime_ns for path in folder.public.rglob("*")}
    assert len(times) == 1
    assert {path: path.read_bytes() for path in before} == before
    if places := _LAYOUTS[world.layout]:
        pictures = [path for path in folder.public.rglob("*.png") if "mask" not in path.as_posix()]
        assert len(pictures) == len(train) + 30, "a picture of a row is lost"
        answers = {_place(places[1], *row) for row in _labels(train) if row[0] not in held_out}
        assert all((folder.public / name).is_file() for name in answers)
    shutil.rmtree(root)


_KINDS = {
    "masks numbered as test files": ("flat", (), True, True, False, "the same ids"),
    "folders of labels": ("by class", ("tabs",), False, True, True, "the same ids"),
    "a folder for each row": ("by row", ("zip",), False, False, False, "some of the ids"),
    "labels in names": ("named", ("arrays",), True, False, True, "other ids"),
}


@pytest.mark.parametrize("kind", _KINDS)
def test_planted_answers_are_sealed(tmp_path: Path, kind: str) -> None:
    """No held-out label is in a text, archive, name, comment or time; inputs and kept answers stay."""
    _check(Planted(*_KINDS[kind]), tmp_path)


@pytest.mark.torture
@examples(25)
@given(world=planted())
def test_answers_planted_anywhere_are_sealed(
    tmp_path_factory: pytest.TempPathFactory, world: Planted
) -> None:
    """The same of any combination of places."""
    _check(world, tmp_path_factory.mktemp("sealed"))
