"""What is in side files, seen from a few of them: pictures, sounds, arrays, the first lines of text.

A file that cannot be read is counted and the first reason told; nothing raises.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from comind.evaluation.data_profile.formatting import count, listed, number, plain
from comind.evaluation.shape import PICTURES, SOUNDS

__all__ = ["first_lines", "look_at"]

T = TypeVar("T")

_LOOKED_AT = 60
_KINDS_SHOWN = 4
_TEXT_BYTES = 1 << 16
_LINE_LENGTH = 200
_ARRAYS = (".npy",)


def look_at(paths: Sequence[Path]) -> str:
    """Return what files with one ending hold, in a few words; nothing where nobody knows how to look."""
    suffix = paths[0].suffix.lower()
    if suffix in PICTURES:
        return _told(_sample(paths), _picture, _tell_pictures)
    if suffix in SOUNDS:
        return _told(_sample(paths), _sound, _tell_sounds)
    return _told(_sample(paths), _array, _tell_arrays) if suffix in _ARRAYS else ""


def first_lines(path: Path, lines: int) -> list[str]:
    """Return the beginning of a text file, long lines cut; nothing of what is no text."""
    try:
        with path.open("rb") as file:
            data = file.read(_TEXT_BYTES)
    except OSError as error:
        return [f"cannot be read ({error.strerror or error})"]
    if b"\0" in data:
        return []
    text = data.decode("utf-8-sig", errors="replace").splitlines()
    return [plain(line, _LINE_LENGTH) for line in text if line.strip()][:lines]


def _sample(paths: Sequence[Path]) -> list[Path]:
    """Return files from the whole list, evenly."""
    step = max(1, -(-len(paths) // _LOOKED_AT))
    return list(paths[::step])


def _told(paths: list[Path], look: Callable[[Path], T], tell: Callable[[list[T]], str]) -> str:
    seen: list[T] = []
    broken: list[str] = []
    for path in paths:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a large picture is none of ours to open
                seen.append(look(path))
        except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
            reason = str(error).partition(" '")[0].replace(str(path), path.name)
            broken.append(f"{plain(path.name, 60)} cannot be read ({plain(reason, 80) or 'broken'})")
    words = [f"{tell(seen)} ({count(len(seen))} looked at)"] if seen else []
    if broken:
        words.append(f"{len(broken)} of {len(paths)} looked at are broken: {broken[0]}")
    return "; ".join(words)


def _picture(path: Path) -> tuple[int, int, str]:
    from PIL import Image

    with Image.open(path) as image:
        return image.width, image.height, image.mode


def _tell_pictures(seen: list[tuple[int, int, str]]) -> str:
    width, height = _range([w for w, _, _ in seen]), _range([h for _, h, _ in seen])
    return f"pictures {width} wide, {height} high, mode {_most([mode for *_, mode in seen])}"


def _sound(path: Path) -> tuple[int, int, float]:
    import soundfile

    info = soundfile.info(str(path))
    return info.samplerate, info.channels, info.duration


def _tell_sounds(seen: list[tuple[int, int, float]]) -> str:
    rates = _most([f"{rate} Hz" for rate, _, _ in seen])
    channels = _most([f"{channels} channel{'s' * (channels > 1)}" for _, channels, _ in seen])
    return f"sounds {_range([seconds for *_, seconds in seen])} s, {rates}, {channels}"


def _array(path: Path) -> tuple[str, str]:
    import numpy as np

    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return " x ".join(map(str, array.shape)), str(array.dtype)


def _tell_arrays(seen: list[tuple[str, str]]) -> str:
    return f"arrays {_most([shape for shape, _ in seen])}, {_most([kind for _, kind in seen])}"


def _range(values: Sequence[float]) -> str:
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    if low == high:
        return number(low)
    return f"{number(low)} to {number(high)} (median {number(ordered[len(ordered) // 2])})"


def _most(values: Sequence[str]) -> str:
    """Return the values, the most frequent first; ties by name."""
    ranked = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
    return listed([value for value, _ in ranked], _KINDS_SHOWN)
