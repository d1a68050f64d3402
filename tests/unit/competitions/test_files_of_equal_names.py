"""Downloads whose train and test files have equal names, and whose test truth is known."""

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
from PIL import Image

from comind.baseline.recipe_programs import programs, task_of
from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.tables import read_tables
from comind.competitions.competition_folder import load_competition
from comind.competitions.download.plain_download import arrange_download
from comind.competitions.row_files import IMAGE_SUFFIXES
from comind.domain.problem import ROW_FILES_AT, DataShape, Problem
from comind.llm.tokens import count_tokens
from comind.profile.problem_description import describe_problem
from comind.splits.split_files import make_split
from comind.splits.twin_files import find_row_files

# sklearn 1.11 will have another way to the same; until then predictions stay as they are.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning"),
]

_TRAIN, _TEST = 48, 24
_Write = Callable[[Path, int], None]


@dataclass(frozen=True)
class _World:
    """Where files are, and how test rows are numbered."""

    train: str
    test: str
    first: int = 1
    masks: str = ""

    def files(self, part: str) -> dict[int, str]:
        """Return the files of a part by number."""
        if part == "train":
            return {number: self.train.format(number) for number in range(1, 1 + _TRAIN)}
        return {number: self.test.format(number) for number in range(self.first, self.first + _TEST)}


_WORLDS = {
    "flat": _World("train/{}.png", "test/{}.png"),
    "some numbers in common": _World("train/{}.png", "test/{}.png", first=37),
    "nested": _World("train/images/{}.png", "test/images/{}.png"),
    "beside masks": _World("train_images/{}.png", "test_images/{}.png", masks="train_masks/{}.png"),
    "above masks": _World("train/images/{}.png", "test/images/{}.png", masks="train/masks/{}.png"),
    "in folders of rows": _World("train/{}/image.png", "test/{}/image.png"),
    "one folder": _World("images/{}.png", "images/{}.png", first=1 + _TRAIN),
    "train in no folder of its own": _World("photos/{}.png", "test/{}.png"),
}


def _colour(path: Path, label: int) -> None:
    """Write a picture that is red for 1 and blue for 0."""
    pixels = np.random.default_rng(len(str(path)) + int(label)).integers(0, 60, (12, 12, 3))
    pixels[..., 0 if label else 2] += 150
    Image.fromarray(pixels.astype(np.uint8)).save(path)


def _tone(path: Path, label: int) -> None:
    """Write a sound that rises for 1 and falls for 0."""
    pitch = np.linspace(300, 1500, 1600)
    soundfile.write(path, np.sin(np.cumsum(pitch if label else pitch[::-1]) / 1200) / 3, 8000)


def _labels() -> dict[str, list[int]]:
    draw = np.random.default_rng(0)
    return {"train": draw.integers(0, 2, _TRAIN).tolist(), "test": draw.integers(0, 2, _TEST).tolist()}


def _download(root: Path, world: _World, write: _Write) -> pd.DataFrame:
    """Write a download; return the truth of the test rows."""
    tables = {}
    for part, labels in _labels().items():
        files = world.files(part)
        for file, label in zip(files.values(), labels, strict=True):
            path = root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, label)
        tables[part] = pd.DataFrame({"name": [*files], "red": labels})
    for number in tables["train"]["name"] if world.masks else ():
        path = root / world.masks.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (12, 12), 255 * (number % 2)).save(path)
    tables["train"].to_csv(root / "train_labels.csv", index=False)
    tables["test"].assign(red=0).to_csv(root / "sample_submission.csv", index=False)
    page = "# Red\n\n## Evaluation\n\nSubmissions are evaluated on classification accuracy.\n"
    (root / "description.md").write_text(page)
    return tables["test"]


def _problem(root: Path, *, named: bool = True) -> Problem:
    """Arrange and split the download in `root`, linked as in a working directory, which is `root`."""
    arrange_download(root / "download", root / "red")
    if not named:
        for name in ("train.csv", "test.csv"):
            table = pd.read_csv(root / "red/public" / name, dtype=str)
            table.drop(columns="file", errors="ignore").to_csv(root / "red/public" / name, index=False)
    folder = make_split(load_competition(root / "red"), root / "splits", seed=0)
    problem = describe_problem(folder, count_tokens)
    (root / "input").mkdir()
    (root / problem.folder).symlink_to(folder.public)
    return problem


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, as programs name their files relative to one."""
    (tmp_path / "download").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("world", "named"),
    [(_WORLDS["flat"], True), *((world, False) for world in _WORLDS.values())],
    ids=["flat with paths", *_WORLDS],
)
def test_each_row_has_the_file_of_its_part(workspace: Path, world: _World, named: bool) -> None:
    """The baseline, the search for near-duplicates and the shape of the data go by the same files."""
    _download(workspace / "download", world, _colour)
    problem = _problem(workspace, named=named)
    assert problem.shape is DataShape.IMAGES
    tables = read_tables(task_of(problem, 0))
    folder = Path(problem.folder)
    found = side_files(task_of(problem, 0), tables, IMAGE_SUFFIXES)
    for part, rows, paths in zip(("train", "train", "test"), tables, found, strict=True):
        files = world.files(part)
        assert paths == [folder / files[number] for number in rows["name"]]
    listed = pd.read_csv("red/row_files.csv", keep_default_na=False)
    for part, rows in listed.groupby("part"):
        assert rows["image"].tolist() == [world.files(str(part))[number] for number in rows["id"]]
    train, test = (pd.read_csv(folder / f"{part}.csv", dtype=str) for part in ("train", "test"))
    twins = find_row_files(train.drop(columns="red"), test, folder.resolve())
    assert twins is not None
    assert [str(path) for path in twins[1]] == list(world.files("test").values())


@pytest.mark.parametrize(
    ("place", "named"), [("flat", True), ("nested", False), ("in folders of rows", False)]
)
def test_the_profile_names_the_files_of_each_part(workspace: Path, place: str, named: bool) -> None:
    """No folder of train is said to have the files of test rows."""
    world = _WORLDS[place]
    _download(workspace / "download", world, _colour)
    text = _problem(workspace, named=named).preview.partition("Folders and other files:\n")[2]
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].startswith("input/row_files/row_files.csv (part, id, image): the file of each row")
    assert lines[1] == "image: 100 % of train rows, 100 % of validation rows, 100 % of test rows"
    for part, shares in (("train", (100, 100, 0)), ("test", (0, 0, 100))):
        [said] = [after for line, after in pairwise(lines) if line.startswith(f"{part}/")]
        assert said.rpartition(": ")[2] == ", ".join(
            f"{share} % of {name} rows"
            for share, name in zip(shares, ("train", "validation", "test"), strict=True)
        )


@pytest.mark.parametrize(
    ("write", "world", "listed"),
    [
        (_colour, _WORLDS["flat"], False),
        (_colour, _WORLDS["flat"], True),
        (_colour, _WORLDS["some numbers in common"], True),
        (_colour, _WORLDS["one folder"], True),
        (_tone, _World("train/{}.wav", "test/{}.wav"), True),
    ],
    ids=["images", "images by the list", "numbers that overlap", "one folder", "sounds"],
)
def test_the_baseline_is_right_on_test(
    workspace: Path, write: _Write, world: _World, listed: bool
) -> None:
    """Its own program predicts test rows from test files: all are right, as validation rows are."""
    truth = _download(workspace / "download", world, write)
    problem = _problem(workspace, named=False)
    assert problem.shape is (DataShape.AUDIO if write is _tone else DataShape.IMAGES)
    if listed:
        Path(ROW_FILES_AT).symlink_to(next((workspace / "splits").glob("*/row_files")))
    (workspace / "program.py").write_text(programs(problem, 0)[0].code)
    runpy.run_path("program.py")
    found = pd.read_csv("submission.csv").set_index("name").loc[truth["name"], "red"]
    assert found.tolist() == truth["red"].tolist()
    assert truth["red"].tolist() != _labels()["train"][:_TEST]


@pytest.mark.parametrize("listed", [False, True])
def test_masks_of_test_images_are_found(workspace: Path, *, listed: bool) -> None:
    """The program draws masks of test images, not those of train images with the same numbers."""
    draw, side, size = np.random.default_rng(0), 20, 7
    masks: dict[str, list[str]] = {}
    for part, count in (("train", _TRAIN), ("test", _TEST)):
        (workspace / "download" / part).mkdir()
        for number in range(1, 1 + count):
            mask = np.zeros((side, side), dtype=bool)
            top, left = draw.integers(0, side - size, 2)
            mask[top : top + size, left : left + size] = True
            image = draw.integers(0, 80, mask.shape) + 150 * mask
            Image.fromarray(image.astype(np.uint8)).save(f"download/{part}/{number}.png")
            starts = (np.flatnonzero(mask.T.ravel())[::size] + 1).tolist()
            masks.setdefault(part, []).append(" ".join(f"{start} {size}" for start in starts))
    pd.DataFrame({"id": range(1, 1 + _TRAIN), "runs": masks["train"]}).to_csv(
        "download/train.csv", index=False
    )
    sample = pd.DataFrame({"id": range(1, 1 + _TEST), "runs": "1 1"})
    sample.to_csv("download/sample_submission.csv", index=False)
    page = "# Squares\n\n## Evaluation\n\nThe mean Dice coefficient of run-length encoded masks.\n"
    Path("download/description.md").write_text(page)
    problem = _problem(workspace)
    assert problem.shape is DataShape.MASKS
    if listed:
        Path(ROW_FILES_AT).symlink_to(next((workspace / "splits").glob("*/row_files")))
    (workspace / "program.py").write_text(programs(problem, 0)[0].code)
    runpy.run_path("program.py")
    found = pd.read_csv("submission.csv").set_index("id").loc[range(1, 1 + _TEST), "runs"]
    assert (found == masks["test"]).mean() > 0.8
