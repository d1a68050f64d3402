"""Files that are answers: target pictures, masks, transcripts, of which test rows have none.

In public data the files of training rows lie as those of test rows do, in one folder with them or in
one that says `train` where the other says `test`. A kind of file that only training rows have, beside
another that both have, is no input but an answer.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

import pandas as pd

__all__ = ["PIXEL", "answer_files", "image_of_pixel"]

PIXEL = re.compile(r"(.+)_\d+_\d+")
"""The id of a pixel, `<picture>_<row>_<column>`."""

_TRAIN = re.compile(r"train(ing)?", re.IGNORECASE)
_FRACTION = re.compile(r"-?\d*\.\d+(e-?\d+)?")
_LOOKED_AT = 100
_SEPARATOR = re.compile(r"[_\-. ]")


class _Kind(NamedTuple):
    """Where files of one kind lie, and what their names have beside the row's."""

    folder: str
    rest: str


def answer_files(
    files: Iterable[str], train: pd.DataFrame, test: pd.DataFrame, held_back: pd.DataFrame
) -> set[str]:
    """Return those of a public folder's `files` that answer held-back rows; all relative to it.

    `train` are all labelled rows, with the columns that test rows have, too; cells are text.
    """
    files = [file for file in files if not file.endswith((".csv", ".md"))]
    if not files:
        return set()
    names = {part: _names(table) for part, table in (("train", train), ("test", test))}
    names["test"] -= names["train"]
    kinds: dict[_Kind, dict[str, dict[str, str]]] = defaultdict(lambda: {"train": {}, "test": {}})
    for file in files:
        path = PurePosixPath(file)
        for name, rest in _readings(path.stem):
            part = next((part for part in names if name in names[part]), None)
            if part is not None:
                kinds[_Kind(path.parent.as_posix(), rest + path.suffix)][part][name] = file
                break
    asked = {kind for kind, found in kinds.items() if found["test"]}
    inputs = {kind for kind in kinds if kind in asked or _counterpart(kind) in asked}
    if not any(kinds[kind]["train"] for kind in inputs):
        return set()
    gone = _names(held_back)
    answers = (found["train"] for kind, found in kinds.items() if kind not in inputs)
    return {file for found in answers for name, file in found.items() if name in gone}


def image_of_pixel(ids: "pd.Series[str]") -> "pd.Series[str]":
    """Return the picture that each pixel belongs to; other ids stay as they are."""
    return ids.str.replace(r"_\d+_\d+$", "", regex=True)


def _names(table: pd.DataFrame) -> set[str]:
    """Return what a row's files may be called: its cells, without folder and ending; its picture."""
    names = set()
    for column in table.columns:
        cells = table[column].drop_duplicates()
        if cells.head(_LOOKED_AT).str.fullmatch(_FRACTION).any():
            continue  # a measurement; no file is called 0.25
        names |= {PurePosixPath(cell).stem for cell in {*cells, *image_of_pixel(cells)} if cell}
    return names


def _readings(stem: str) -> Iterable[tuple[str, str]]:
    """Yield the ways to read a name as a row's and something more, the longest first."""
    yield stem, ""
    for found in reversed(list(_SEPARATOR.finditer(stem))):
        yield stem[: found.start()], stem[found.start() :]


def _counterpart(kind: _Kind) -> _Kind:
    return _Kind(_TRAIN.sub("test", kind.folder), _TRAIN.sub("test", kind.rest))
