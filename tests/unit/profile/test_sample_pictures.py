"""Sample pictures of train.csv on one sheet, with labels; spectrograms of sounds."""

import struct
import warnings
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
from PIL import Image as Pillow

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.competitions.competition_folder import load_competition
from comind.llm.settings import ModelSettings
from comind.llm.tokens import count_tokens
from comind.profile.problem_description import describe_problem
from comind.profile.sample_pictures import _label, _samples, sample_pictures
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.wiring.runtime import CampaignRuntime
from tests.unit.campaign.samples import opened, split_made
from tests.unit.competitions.folders import competition_folder, write

_CLASSES = ("ant", "bee", "cat", "dog")


def _grey(path: Path, row: int) -> None:
    """Draw a picture whose grey is its row's."""
    Pillow.new("L", (30, 20), 5 * row).save(path)


def _warning(path: Path, row: int) -> None:
    """Draw a picture that claims to be an animation of no frames, of which Pillow warns."""
    _grey(path, row)
    content, claim = path.read_bytes(), b"acTL" + bytes(8)
    chunk = struct.pack(">I", 8) + claim + struct.pack(">I", zlib.crc32(claim))
    path.write_bytes(content[:33] + chunk + content[33:])


def _tone(path: Path, row: int) -> None:
    soundfile.write(path, np.sin(np.arange(4_000) * (row + 1) / 40), 8_000)


def _split(
    root: Path,
    suffix: str = ".png",
    draw: Callable[[Path, int], None] = _grey,
    label: Callable[[int], object] = lambda row: _CLASSES[row % 4],
    splits: Path | None = None,
    **changes: object,
) -> SplitFolder:
    """Split a competition of 40 labelled rows, each with a file."""
    folder = competition_folder(root, split={"kind": "random"}, **changes)
    names = {"train": [f"r{n}" for n in range(40)], "test": [f"t{n}" for n in range(20)]}
    write(folder, "train.csv", ["id,label", *(f"r{n},{label(n)}" for n in range(40))])
    write(folder, "test.csv", ["id", *names["test"]])
    write(folder, "sample_submission.csv", ["id,label", *(f"{n},{label(0)}" for n in names["test"])])
    for part, ids in names.items():
        (folder / "public" / part).mkdir()
        for row, name in enumerate(ids):
            draw(folder / "public" / part / f"{name}{suffix}", row)
    return make_split(load_competition(folder), splits or root / "splits", seed=0)


def _rows_shown(split: SplitFolder) -> list[int]:
    """Return the rows whose pictures are on the sheet."""
    found = describe_problem(split, count_tokens).samples
    assert found is not None
    assert (found.width, found.height) == (768, 768)
    assert found.caption == "Pictures of some rows of train.csv, each above its label."
    with Pillow.open(BytesIO(found.data)) as sheet:
        greys = [
            sheet.convert("L").getpixel((256 * n + 128, 256 * m + 118))
            for m in range(3)
            for n in range(3)
        ]
    return [round(grey / 5) for grey in greys]  # type: ignore[operator]


def test_a_sheet_shows_train_rows_of_each_class(tmp_path: Path) -> None:
    """Nine pictures, of each class in turn; none of a held-out row, whose label is sealed."""
    split = _split(tmp_path)
    train = pd.read_csv(split.public / "train.csv").set_index("id")["label"]
    rows = _rows_shown(split)
    assert {f"r{row}" for row in rows} <= set(train.index)
    assert len(set(rows)) == 9
    samples = _samples(split, split.read(), "image")
    assert [each.label for each in samples] == [train[Path(each.file).stem] for each in samples]
    assert [{each.label for each in samples[at : at + 4]} for at in (0, 4)] == [set(_CLASSES)] * 2


def test_numbers_are_shown_over_their_range(tmp_path: Path) -> None:
    """Where the label is a number, the pictures go from the least to the greatest."""
    split = _split(tmp_path, label=lambda row: row / 8, metric="rmse")
    train = pd.read_csv(split.public / "train.csv")["label"]
    labels = [float(each.label) for each in _samples(split, split.read(), "image")[:9]]
    assert labels == sorted(labels)
    assert (labels[0], labels[-1]) == (train.min(), train.max())


def test_the_sheet_is_drawn_once(tmp_path: Path) -> None:
    """It is cached beside the public files, and is the same for a resumed campaign."""
    split = _split(tmp_path)
    first = describe_problem(split, count_tokens)
    for path in split.public.rglob("*.png"):
        path.write_bytes(b"")
    again = describe_problem(split, count_tokens)
    assert again.samples == first.samples
    assert "samples" not in first.model_dump()
    assert describe_problem(split).samples is None


def test_broken_pictures_are_passed_over(tmp_path: Path) -> None:
    """Files that cannot be decoded leave their place to others; where none can, there is no sheet."""
    split = _split(tmp_path)
    first = [each.file for each in _samples(split, split.read(), "image")][:9]
    for name in first[1:]:
        (split.public / name).write_bytes(b"words")
    rows = _rows_shown(split)
    assert len(set(rows)) == 9
    assert not {f"train/r{row}.png" for row in rows} & set(first[1:])
    split.samples.unlink()
    for path in split.public.rglob("*.png"):
        path.write_bytes(b"words")
    assert sample_pictures(split, split.read()) is None
    for path in split.public.rglob("*.png"):
        _grey(path, 1)
    assert sample_pictures(split, split.read()) is None, "read again in the same process"


def test_other_formats_are_not_decoded(tmp_path: Path) -> None:
    """What a file is decides, not its suffix: formats that need other programs are passed over."""
    split = _split(tmp_path, draw=lambda path, row: Pillow.new("L", (30, 20), row).save(path, "PPM"))
    assert sample_pictures(split, split.read()) is None


@pytest.mark.filterwarnings("ignore:Invalid APNG")
def test_warnings_of_decoders_are_silent(tmp_path: Path) -> None:
    """A decoder that warns of a file does not end the profile."""
    split = _split(tmp_path, draw=_warning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sample_pictures(split, split.read()) is not None


@pytest.mark.parametrize(("images", "drawn"), [(None, True), (True, True), (False, False)])
def test_samples_are_drawn_only_for_models_that_see(
    images: bool | None, drawn: bool, tmp_path: Path
) -> None:
    """With `images: false` no file of a row is decoded for them."""
    project = ProjectFolder(tmp_path)
    split = _split(tmp_path, splits=project.splits)
    settings = ModelSettings(name="m", base_url="http://127.0.0.1:9", images=images)
    folder = project.campaign("demo-tiny-1")
    with Campaign(folder) as campaign:
        campaign.record(opened(agent="comind", model="m", models={"default": settings}))
        campaign.record(split_made(key=split.root.name))
    with CampaignRuntime(project, folder) as runtime:
        assert (runtime.problem.samples is not None) == drawn
    assert split.samples.exists() == drawn


def test_sounds_are_spectrograms(tmp_path: Path) -> None:
    """A tone is a light line; an empty sound is passed over."""
    split = _split(tmp_path, ".wav", _tone)
    first = _samples(split, split.read(), "audio")[0]
    soundfile.write(split.public / first.file, np.zeros(0), 8_000)
    found = describe_problem(split, count_tokens).samples
    assert found is not None
    assert found.caption.startswith("Spectrograms of some rows of train.csv, each above its label: ")
    with Pillow.open(BytesIO(found.data)) as sheet:
        tile = np.asarray(sheet.convert("L"))[:236, 10:246].mean(axis=1)
    assert tile.max() > 200
    assert np.median(tile) < 100


def test_tables_have_no_samples(tmp_path: Path) -> None:
    """Without files of rows there is no sheet."""
    split = make_split(load_competition(competition_folder(tmp_path)), tmp_path / "splits", seed=0)
    assert describe_problem(split, count_tokens).samples is None
    assert not split.samples.exists()


@pytest.mark.parametrize(
    ("cells", "label"),
    [
        ({"label": "ant"}, "ant"),
        ({"price": 0.30000000000000004}, "0.3"),
        ({"rust": 0, "scab": 1, "healthy": 1}, "scab, healthy"),
        ({"rust": 0, "scab": 0}, "none"),
        ({"x": 1.5, "y": 2}, "x 1.5, y 2"),
    ],
)
def test_a_label_is_a_line(cells: dict[str, object], label: str) -> None:
    """Of one column the value; of zeros and ones the names of the ones; else names and values."""
    assert _label(cells) == label
