"""Look at a sample of side files: images, audio, arrays, the first lines of text; nothing raises."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comind.competitions.row_files import AUDIO_SUFFIXES, IMAGE_SUFFIXES
from comind.profile import formatting as fmt

_LOOKED_AT = 60
_TEXT_BYTES = 1 << 16
_LINE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class MediaSample:
    """What some files of one type are like."""

    type: str
    """`image`, `audio` or `array`."""
    seen: list[tuple[Any, ...]] = field(default_factory=list)
    """Width, height, mode; or sampling rate, channels, seconds; or shape, type of the numbers."""
    broken: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each file that cannot be read."""


def first_lines(path: Path, lines: int) -> list[str]:
    """Return the first non-blank lines of a text file, truncated; none of a binary file."""
    try:
        with path.open("rb") as file:
            data = file.read(_TEXT_BYTES)
    except OSError as error:
        return [f"cannot be read ({error.strerror or error})"]
    if b"\0" in data:
        return []
    text = data.decode("utf-8-sig", errors="replace").splitlines()
    return [fmt.line(line, _LINE_LENGTH) for line in text if line.strip()][:lines]


def sample_media(files: Sequence[Path]) -> MediaSample | None:
    """Look at files that share a suffix, evenly spaced over the list; None for other suffixes."""
    suffix = files[0].suffix.lower()
    readers: list[tuple[str, tuple[str, ...], Callable[[Path], tuple[Any, ...]]]] = [
        ("image", IMAGE_SUFFIXES, _read_image),
        ("audio", AUDIO_SUFFIXES, _read_audio),
        ("array", (".npy",), _read_array),
    ]
    for kind, suffixes, read in readers:
        if suffix in suffixes:
            sample = MediaSample(kind)
            for path in files[:: max(1, -(-len(files) // _LOOKED_AT))]:
                _look(path, read, sample)
            return sample
    return None


def _look(path: Path, read: Callable[[Path], tuple[Any, ...]], sample: MediaSample) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as Pillow's about very large images
            sample.seen.append(read(path))
    except ImportError:  # the decoder is in an extra that is not installed
        raise
    except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
        reason = str(error).partition(" '")[0].replace(str(path), path.name)
        sample.broken.append((path.name, reason))


def _read_image(path: Path) -> tuple[int, int, str]:
    from PIL import Image

    with Image.open(path) as image:
        return image.width, image.height, image.mode


def _read_audio(path: Path) -> tuple[str, str, float]:
    import soundfile

    info = soundfile.info(str(path))
    channels = f"{info.channels} channel{'s' * (info.channels > 1)}"
    return f"{info.samplerate} Hz", channels, info.duration


def _read_array(path: Path) -> tuple[str, str]:
    import numpy as np

    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return " x ".join(map(str, array.shape)), str(array.dtype)
