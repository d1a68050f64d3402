"""Find files that are answers: target images, masks, transcripts, which test rows lack.

Files of train and test rows are in one folder, or in two that differ by `train` and `test`. A kind of
file that only train rows have, beside another that both have, is not an input.
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
_SAMPLE = 100
_SEPARATOR = re.compile(r"[_\-. ]")


class _Kind(NamedTuple):
    """The folder of files of one kind, and the rest of their names beside the row's."""

    folder: str
    rest: str


def answer_files(
    files: Iterable[str], train: pd.DataFrame, test: pd.DataFrame, held_back: pd.DataFrame
) -> set[str]:
    """Return the `files`, relative to the public folder, that are answers to held-out rows.

    `train` are all labelled rows, in the columns of `test`; text cells.
    """
    files = [file for file in files if not file.endswith((".csv", ".md"))]
    if not files:
        return set()
    names = {part: _names(table) for part, table in (("train", train), ("test", test))}
    names["test"] -= names["train"]
    kinds: dict[_Kind, dict[str, dict[str, str]]] = defaultdict(lambda: {"train": {}, "test": {}})
    for file in files:
        path = PurePosixPath(file)
        for name, rest in _prefixes(path.stem):
            part = next((part for part in names if name in names[part]), None)
            if part is not None:
                kinds[_Kind(path.parent.as_posix(), rest + path.suffix)][part][name] = file
                break
    of_test = {kind for kind, found in kinds.items() if found["test"]}
    inputs = {kind for kind in kinds if kind in of_test or _test_kind(kind) in of_test}
    if not any(kinds[kind]["train"] for kind in inputs):
        return set()
    removed = _names(held_back)
    answers = (found["train"] for kind, found in kinds.items() if kind not in inputs)
    return {file for found in answers for name, file in found.items() if name in removed}


def image_of_pixel(ids: "pd.Series[str]") -> "pd.Series[str]":
    """Return the image of each pixel id; other ids are unchanged."""
    return ids.str.replace(r"_\d+_\d+$", "", regex=True)


def _names(table: pd.DataFrame) -> set[str]:
    """Return the stems that files of these rows may have: of their cells, and of pixels' images."""
    names = set()
    for column in table.columns:
        cells = table[column].drop_duplicates()
        if cells.head(_SAMPLE).str.fullmatch(_FRACTION).any():
            continue  # a measurement, not a name
        names |= {PurePosixPath(cell).stem for cell in {*cells, *image_of_pixel(cells)} if cell}
    return names


def _prefixes(stem: str) -> Iterable[tuple[str, str]]:
    """Yield the ways to cut a name into a row's name and a rest, the longest first."""
    yield stem, ""
    for found in reversed(list(_SEPARATOR.finditer(stem))):
        yield stem[: found.start()], stem[found.start() :]


def _test_kind(kind: _Kind) -> _Kind:
    return _Kind(_TRAIN.sub("test", kind.folder), _TRAIN.sub("test", kind.rest))
