"""Look at a sample of side files: images, audio, arrays, lines of text; nothing raises."""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comind.competitions.row_files import AUDIO_SUFFIXES, IMAGE_SUFFIXES
from comind.profile import formatting as fmt

_LOOKED_AT = 60
_TEXT_BYTES = 1 << 16
_LINE_LENGTH = 200
_COMMENT_MARKS = ("#", "%", "//", ";")
_WHOLE_LINES, _WHOLE_LENGTH = 25, 1_500
"""The most lines and characters of a text file that is shown whole."""
_FORMS = 3  # of a line, by its number of fields; files with more have no fixed form


@dataclass(frozen=True, slots=True)
class MediaSample:
    """What some files of one type are like."""

    type: str
    """`image`, `audio` or `array`."""
    seen: list[tuple[Any, ...]] = field(default_factory=list)
    """Width, height, mode; or sampling rate, channels, seconds; or shape, type of the numbers."""
    broken: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each file that cannot be read."""


@dataclass(frozen=True, slots=True)
class TextSample:
    """What some text files of one type are like; lines are those that are not blank."""

    name: str
    """Path of the file that is shown: the smallest one that was looked at."""
    lines: list[str]
    """Its lines, each truncated: all of them, or the first ones that are no comments."""
    whole: bool
    """Whether `lines` are all lines of the file."""
    comments: tuple[str, ...]
    """The comment lines that were left out before or between `lines`."""
    files: int
    """Number of files that were looked at."""
    counts: list[int]
    """Number of lines of each file, comments included; empty where one is too large to count."""
    fields: list[str]
    """Forms of the lines that are no comments, as `5 fields in 80 % of lines`; empty for free text."""


def first_lines(path: Path, lines: int) -> list[str]:
    """Return the first non-blank lines of a text file, truncated; none of a binary file."""
    text = _read_text(path)
    if isinstance(text, OSError):
        return [f"cannot be read ({text.strerror or text})"]
    return [fmt.line(line, _LINE_LENGTH) for line in text][:lines]


def sample_text(folder: Path, files: Sequence[str], lines: int) -> TextSample | None:
    """Look at text files of one type, evenly spaced over the list; None for binary or broken files.

    Args:
        folder: that they are in.
        files: their paths in it, of one type.
        lines: the number of lines to show of a file that is too large to be shown whole.
    """
    looked = files[:: max(1, -(-len(files) // _LOOKED_AT))]
    texts = ((name, _read_text(folder / name)) for name in looked)
    read = [(name, text) for name, text in texts if isinstance(text, list) and text]
    if not read:
        return None
    sizes = {name: (folder / name).stat().st_size for name, _ in read}
    name, shown = min(read, key=lambda pair: sizes[pair[0]])
    whole = len(shown) <= _WHOLE_LINES and sizes[name] <= _WHOLE_LENGTH
    kept = shown if whole else [line for line in shown if not _is_comment(line)][:lines] or shown[:lines]
    last = shown.index(kept[-1])
    left_out = [line for line in shown[:last] if _is_comment(line) and line not in kept]
    return TextSample(
        name=name,
        lines=[fmt.line(line, _LINE_LENGTH) for line in kept],
        whole=whole,
        comments=tuple(fmt.line(line, _LINE_LENGTH) for line in left_out),
        files=len(read),
        counts=[len(text) for _, text in read] if max(sizes.values()) <= _TEXT_BYTES else [],
        fields=_forms([line for _, text in read for line in text if not _is_comment(line)]),
    )


def _read_text(path: Path) -> list[str] | OSError:
    """Return the non-blank lines at the start of a text file, none of a binary one; or the error."""
    try:
        with path.open("rb") as file:
            data = file.read(_TEXT_BYTES)
    except OSError as error:
        return error
    text = "" if b"\0" in data else data.decode("utf-8-sig", errors="replace")
    return [line for line in text.splitlines() if line.strip()]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENT_MARKS)


def _forms(lines: Sequence[str]) -> list[str]:
    """Return the numbers of fields of lines that have few forms, the most frequent first."""
    separator = next((each for each in (",", ";", "\t") if all(each in line for line in lines)), None)
    counts = Counter(len(line.split(separator)) for line in lines)
    if len(lines) <= 1 or len(counts) > _FORMS:
        return []
    return [
        f"{count} field{'s' if count != 1 else ''} in {fmt.share(number, len(lines))} of lines"
        for count, number in counts.most_common()
    ]


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
