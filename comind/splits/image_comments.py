"""Find labels in the texts and metadata of images, and write images without these."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

import pandas as pd

from comind.competitions.row_files import file_kind
from comind.splits.label_search import LabelSearch
from comind.splits.named_labels import held_out_files, own_and_test, table_of_names

_SAMPLED = 500  # images
_LONGEST = 200  # characters
_DROPPED_CHUNKS = (b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME")
_DROPPED_SEGMENTS = {0xFE, *range(0xE0, 0xF0)} - {0xE0, 0xE2, 0xEE}
"""Comments and applications', but for JFIF, colour profiles and Adobe's colour transform."""
_SCAN = 0xDA


def images_with_labels(
    search: LabelSearch, public: Path, files: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return held-out rows' images whose comments show labels, and a line that says where."""
    by_suffix: dict[str, list[str]] = {}
    for name in sorted(files):
        if file_kind(name) == "image":
            by_suffix.setdefault(PurePosixPath(name).suffix.lower(), []).append(name)
    gone: list[str] = []
    lines: list[str] = []
    for suffix, names in by_suffix.items():
        own, test = own_and_test(names)
        comments = partial(_comments, public)
        shown = held_out_files(search, own, comments, _SAMPLED, test[:_SAMPLED])
        if shown is None or not shown[0].column.startswith("comment"):
            continue
        found, held_out = shown
        gone += held_out
        column = found.column.split("\0")[0].removeprefix("comment ")
        lines.append(
            f"{column!r} in pictures *{suffix} shows {found.label!r}: held-out ones lose comments"
        )
    return gone, lines


def _comments(public: Path, names: Sequence[str]) -> pd.DataFrame:
    found = [_comment(public / name) for name in names]
    return table_of_names(names).join(pd.DataFrame(found, dtype=object).fillna(""))


def _comment(path: Path) -> dict[str, str]:
    """Return the texts and numbers in an image's header."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            found = [*image.info.items(), *image.getexif().items()]
    except Exception:  # noqa: BLE001 - a decoder fails on strange bytes in any way
        return {}
    texts = {}
    for key, value in found:
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        if isinstance(text, str | int | float):
            texts[f"comment {key}"] = str(text)[:_LONGEST]
    return texts


def without_comments(data: bytes) -> bytes | None:
    """Return a PNG or JPEG without texts and metadata, with the same pixels; None for another file."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _plain_png(data)
    return _plain_jpeg(data) if data.startswith(b"\xff\xd8") else None


def _plain_png(data: bytes) -> bytes:
    kept, place = [data[:8]], 8
    while place + 8 <= len(data):
        end = place + 12 + int.from_bytes(data[place : place + 4], "big")
        kind = data[place + 4 : place + 8]
        if kind not in _DROPPED_CHUNKS:
            kept.append(data[place:end])
        place = end if kind != b"IEND" else len(data)  # nothing after the end
    return b"".join(kept)


def _plain_jpeg(data: bytes) -> bytes:
    kept, place = [data[:2]], 2
    while data[place : place + 1] == b"\xff" and data[place + 1] != _SCAN:
        marker = data[place + 1]
        end = place + 2 + int.from_bytes(data[place + 2 : place + 4], "big")
        if marker not in _DROPPED_SEGMENTS:
            kept.append(data[place:end])
        place = end
    last = data.rfind(b"\xff\xd9")
    return b"".join(kept) + data[place : last + 2 if last > place else len(data)]
