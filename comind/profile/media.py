"""Describe side files from a sample of them: images, audio, arrays, the first lines of text.

Unreadable files are counted and the first error is reported; nothing raises.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from comind.competitions.row_files import AUDIO_SUFFIXES, IMAGE_SUFFIXES
from comind.profile import formatting as fmt

_T = TypeVar("_T")

_LOOKED_AT = 60
_KINDS_SHOWN = 4
_TEXT_BYTES = 1 << 16
_LINE_LENGTH = 200
_ARRAYS = (".npy",)


def describe_media(paths: Sequence[Path]) -> str:
    """Describe files that share a suffix; an empty string for unsupported suffixes."""
    suffix = paths[0].suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        return _describe(paths, _read_image, _describe_images)
    if suffix in AUDIO_SUFFIXES:
        return _describe(paths, _read_audio, _describe_audio)
    return _describe(paths, _read_array, _describe_arrays) if suffix in _ARRAYS else ""


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


def _describe(
    files: Sequence[Path], read: Callable[[Path], _T], combine: Callable[[list[_T]], str]
) -> str:
    """Describe at most `_LOOKED_AT` files, evenly spaced over the list."""
    paths = files[:: max(1, -(-len(files) // _LOOKED_AT))]
    seen: list[_T] = []
    broken: list[str] = []
    for path in paths:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as Pillow's about very large images
                seen.append(read(path))
        except ImportError:  # the decoder is in an extra that is not installed
            raise
        except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
            reason = str(error).partition(" '")[0].replace(str(path), path.name)
            broken.append(
                f"{fmt.line(path.name, 60)} cannot be read ({fmt.line(reason, 80) or 'broken'})"
            )
    words = [f"{combine(seen)} ({len(seen):,} looked at)"] if seen else []
    if broken:
        words.append(f"{len(broken)} of {len(paths)} looked at are broken: {broken[0]}")
    return "; ".join(words)


def _read_image(path: Path) -> tuple[int, int, str]:
    from PIL import Image

    with Image.open(path) as image:
        return image.width, image.height, image.mode


def _describe_images(seen: list[tuple[int, int, str]]) -> str:
    width, height = _range([w for w, _, _ in seen]), _range([h for _, h, _ in seen])
    return f"pictures {width} wide, {height} high, mode {_ranked([mode for *_, mode in seen])}"


def _read_audio(path: Path) -> tuple[int, int, float]:
    import soundfile

    info = soundfile.info(str(path))
    return info.samplerate, info.channels, info.duration


def _describe_audio(seen: list[tuple[int, int, float]]) -> str:
    rates = _ranked([f"{rate} Hz" for rate, _, _ in seen])
    channels = _ranked([f"{channels} channel{'s' * (channels > 1)}" for _, channels, _ in seen])
    return f"sounds {_range([seconds for *_, seconds in seen])} s, {rates}, {channels}"


def _read_array(path: Path) -> tuple[str, str]:
    import numpy as np

    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return " x ".join(map(str, array.shape)), str(array.dtype)


def _describe_arrays(seen: list[tuple[str, str]]) -> str:
    return f"arrays {_ranked([shape for shape, _ in seen])}, {_ranked([kind for _, kind in seen])}"


def _range(values: Sequence[float]) -> str:
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    if low == high:
        return fmt.number(low)
    return f"{fmt.interval(low, high)} (median {fmt.number(ordered[len(ordered) // 2])})"


def _ranked(values: Sequence[str]) -> str:
    ranked = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
    return fmt.names([value for value, _ in ranked], _KINDS_SHOWN)
