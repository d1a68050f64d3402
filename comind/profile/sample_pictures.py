"""Draw sample pictures of train.csv on one sheet, or spectrograms where its rows are sounds."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from comind.competitions.row_file_list import ROW_FILES
from comind.domain.image import Image
from comind.domain.problem import AnswerKind
from comind.domain.value import one_line
from comind.llm.images import MAX_SIDE, encode_image, image_of, scaled
from comind.splits.split_folder import Split, SplitFolder
from comind.system.files import write_atomically

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_COLUMNS, _TILE, _LINE = 3, 236, 14  # tiles side by side; pixels of a tile, and of the text below it
_CELL = MAX_SIDE // _COLUMNS
_SAMPLES = _COLUMNS**2
_LOOKED_AT = 3 * _SAMPLES  # files, of which some may be broken
_ROWS_READ = 100_000
_LINE_LENGTH = 34
_SECONDS, _WINDOW, _DECIBELS = 10, 0.025, 80  # of a sound, of a column, and below the loudest moment
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
"""Of files of rows that are decoded; Pillow runs other programs for some formats."""
_CAPTIONS = {
    "image": "Pictures of some rows of train.csv, each above its label.",
    "audio": (
        "Spectrograms of some rows of train.csv, each above its label: up to ten seconds from left to "
        "right, frequencies from 0 at the bottom to half the sampling rate, light is loud."
    ),
}


_unreadable: set[Path] = set()
"""Splits of which no file could be read, so that this process does not try again."""


class _Sample(NamedTuple):
    """A file of a row of train.csv."""

    file: str
    label: str


def sample_pictures(folder: SplitFolder, split: Split) -> Image | None:
    """Return a sheet of up to nine pictures or spectrograms of train.csv with their labels.

    Drawn once, then cached beside the public files, so that a resumed campaign shows the same. None
    where rows have neither pictures nor sounds, or none that can be read.
    """
    listed = folder.row_files / ROW_FILES
    kinds = pd.read_csv(listed, nrows=0).columns if listed.is_file() else ()
    kind = next((kind for kind in _CAPTIONS if kind in kinds), None)
    if kind is None:
        return None
    from PIL import Image as Pillow

    if folder.samples.is_file():
        with Pillow.open(folder.samples) as sheet:
            return image_of(folder.samples.read_bytes(), _CAPTIONS[kind], sheet.size)
    if folder.root in _unreadable:
        return None
    draw = _picture if kind == "image" else _spectrogram
    tiles = [*_tiles(folder.public, _samples(folder, split, kind), draw)]
    if not tiles:
        _unreadable.add(folder.root)
        return None
    image = encode_image(_sheet(tiles), _CAPTIONS[kind])
    write_atomically(folder.samples, image.data)
    return image


def _samples(folder: SplitFolder, split: Split, kind: str) -> list[_Sample]:
    """Return files of train rows to try in turn: one of each class, then the next of each.

    Of numbers they are spread evenly over their order. A file of several rows, or with a mask, has no
    label: these are of parts of it.
    """
    files = pd.read_csv(folder.row_files / ROW_FILES, dtype=str, keep_default_na=False, nrows=_ROWS_READ)
    names = list(split.label_columns)
    labels = pd.read_csv(folder.public / "train.csv", usecols=names, nrows=_ROWS_READ)[names]
    found = labels.assign(_file=files.loc[files["part"] == "train", kind].reset_index(drop=True))
    found = found[found["_file"].fillna("") != ""]
    found["_part"] = found["_file"].duplicated(keep=False) | (split.answer_kind is AnswerKind.MASK)
    found = found[~found["_file"].duplicated()]
    if split.answer_kind is AnswerKind.NUMBER:
        found = found.sort_values(names[0], kind="stable")
        places = [np.linspace(0, len(found) - 1, n).astype(int) for n in (_SAMPLES, _LOOKED_AT)]
        found = found.iloc[list(dict.fromkeys(np.concatenate(places).tolist()))] if len(found) else found
    else:
        turn = found.groupby(names, dropna=False).cumcount()
        found = found.loc[turn.sort_values(kind="stable").index]
    return [
        _Sample(str(row["_file"]), "" if row["_part"] else _label({name: row[name] for name in names}))
        for row in found.head(_LOOKED_AT).to_dict("records")
    ]


def _label(cells: Mapping[str, object]) -> str:
    """Return a row's label; of several columns their names and values, of zeros and ones the ones."""
    shown = {name: f"{cell:g}" if isinstance(cell, float) else str(cell) for name, cell in cells.items()}
    if len(shown) == 1:
        return next(iter(shown.values()))
    if set(shown.values()) <= {"0", "1"}:
        return ", ".join(name for name, cell in shown.items() if cell == "1") or "none"
    return ", ".join(f"{name} {cell}" for name, cell in shown.items())


def _tiles(
    public: Path, samples: Sequence[_Sample], draw: Callable[[Path], "Picture"]
) -> Iterator[tuple["Picture", str]]:
    """Yield the first nine files that can be read, each with its label."""
    drawn = 0
    for sample in samples:
        if drawn == _SAMPLES:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as Pillow's about very large images
                tile = draw(public / sample.file)
        except ImportError:  # the decoder is in an extra that is not installed
            raise
        except Exception:  # noqa: BLE001, S112 - a decoder fails on strange bytes in any way
            continue
        drawn += 1
        yield tile, sample.label


def _picture(path: Path) -> "Picture":
    from PIL import Image as Pillow
    from PIL import ImageOps

    with Pillow.open(path, formats=_FORMATS) as picture:
        small = scaled(picture, _TILE)
    return ImageOps.contain(small, (_TILE, _TILE), Pillow.Resampling.NEAREST)


def _spectrogram(path: Path) -> "Picture":
    import soundfile
    from PIL import Image as Pillow
    from scipy.signal import stft

    with soundfile.SoundFile(path) as file:
        sound = file.read(_SECONDS * file.samplerate, dtype="float32", always_2d=True).mean(axis=1)
    window = max(64, int(_WINDOW * file.samplerate))
    _, _, spectrum = stft(sound, nperseg=min(window, len(sound)), nfft=max(512, window), boundary=None)
    loudness = 20 * np.log10(np.abs(spectrum) + 1e-9)
    shares = np.clip((loudness - loudness.max()) / _DECIBELS + 1, 0, 1)
    return Pillow.fromarray((255 * shares[::-1]).astype(np.uint8)).resize((_TILE, _TILE))


def _sheet(tiles: Sequence[tuple["Picture", str]]) -> "Picture":
    """Return the tiles in rows of three, each centred above its label."""
    from PIL import Image as Pillow
    from PIL import ImageDraw, ImageFont

    size = min(len(tiles), _COLUMNS) * _CELL, -(-len(tiles) // _COLUMNS) * _CELL
    sheet = Pillow.new("RGB", size, "white")
    drawing, font = ImageDraw.Draw(sheet), ImageFont.load_default(_LINE)
    for number, (tile, label) in enumerate(tiles):
        x, y = number % _COLUMNS * _CELL, number // _COLUMNS * _CELL
        sheet.paste(tile, (x + (_CELL - tile.width) // 2, y + (_TILE - tile.height) // 2))
        drawing.text((x + 4, y + _TILE + 1), one_line(label, _LINE_LENGTH), fill="black", font=font)
    return sheet
