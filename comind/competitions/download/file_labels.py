"""Find labelled rows that are files: pictures, sounds or texts with labels in folders or names.

The label must not stay in the path of a file that agents see for a validation row, so every train file
gets a new name, a number. Nothing is read or written here; all functions take lists of relative paths.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from comind.competitions.row_files import (
    PLURALS,
    FileIndex,
    RowFiles,
    file_kind,
    files_of_rows,
    part_of,
)

_NUMBERED = re.compile(r"(?P<label>[^\W\d]+(?:[ _-][^\W\d]+)*)[ ._-]+\(?\d+\)?")
_NOT_CLASSES = re.compile(
    r"(images?|imgs?|pictures?|masks?|labels?|annotations?|targets?|truth|audios?|wavs?|sounds?|texts?"
    r"|data|files?|train(ing)?|test(ing)?|val(id|idation)?)",
    re.IGNORECASE,
)
_LEAST_CLASSES, _LEAST_FILES = 2, 2
_MOST_CLASSES = 0.1  # of the files, unless each class has two
_SAME_KIND = 0.95
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file that is a row."""

    id: str
    path: PurePosixPath
    """Where it is in the download."""
    name: str
    """Its new path, relative to `public/`, without the label."""
    label: str = ""
    """Empty for a test row."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a competition whose rows are files."""

    kind: str
    reason: str
    """Where the labels were found, in one line."""
    train: tuple[FileRow, ...]
    """In the order of their ids."""
    test: tuple[FileRow, ...]
    """In the order of their paths."""


def find_file_rows(paths: Sequence[PurePosixPath]) -> FileRows | None:
    """Find train files with labels in folders (`train/cat/1.jpg`) or names (`cat.1.jpg`), and test ones.

    There is an answer if all train files are of one kind and labelled in one way, there are at least two
    classes, at most a tenth of the files or with two files each, and no test file has a class in its
    path. Folders `val` and `validation` count as `train`; without any, all files outside of `test` do.
    """
    media = [path for path in sorted(set(paths)) if file_kind(str(path))]
    parts = {path: part_of(path.parent.as_posix()) for path in media}
    tests = [path for path in media if parts[path] == "test"]
    others = [path for path in media if parts[path] != "test"]
    trains = [path for path in others if parts[path] == "train"] or others
    kind = _main_kind(trains)
    if not kind:
        return None
    trains, tests = ([path for path in part if file_kind(str(path)) == kind] for part in (trains, tests))
    found = _labels(trains)
    if found is None or _shown(tests, set(found.values())):
        return None
    classes = sorted(set(found.values()))
    counts = Counter(found.values())
    if len(classes) < _LEAST_CLASSES or any(map(_NOT_CLASSES.fullmatch, classes)):
        return None
    if len(classes) > _MOST_CLASSES * len(trains) and min(counts.values()) < _LEAST_FILES:
        return None
    test = _test_rows(tests)
    return FileRows(kind, _reason(PLURALS[kind], trains, classes), _train_rows(found, test), test)


def files_of_all_rows(
    paths: Iterable[PurePosixPath], train: Collection[str], test: Collection[str]
) -> RowFiles | None:
    """Return the file of each cell of a column; None unless every cell has one, and no other.

    Only a whole path names a file that is no image, sound or text.
    """
    cells = {*train, *test}
    files = [file for file in map(str, paths) if file_kind(file) or file in cells]
    found = files_of_rows(FileIndex(files), train, test)
    if found.ambiguous or not cells or found.train.keys() < {*train} or found.test.keys() < {*test}:
        return None
    return found


def _place(path: PurePosixPath, part: str) -> int:
    """Return how many folders of a path end with the first that is named by `part`; 0 for none."""
    return next((n for n, name in enumerate(path.parts[:-1], 1) if part_of(name) == part), 0)


def _main_kind(trains: Sequence[PurePosixPath]) -> str:
    """Return the kind of nearly all files; empty for none."""
    counts = Counter(file_kind(str(path)) for path in trains)
    kind, count = counts.most_common(1)[0] if counts else ("", 0)
    return kind if count >= _SAME_KIND * len(trains) else ""


def _below(paths: Sequence[PurePosixPath], part: str) -> list[tuple[str, ...]]:
    """Return the paths below their folders of this part, without a folder that all are in."""
    rests = [path.parts[_place(path, part) :] for path in paths]
    while rests and all(len(rest) > 1 and rest[0] == rests[0][0] for rest in rests):
        rests = [rest[1:] for rest in rests]
    return rests


def _labels(trains: Sequence[PurePosixPath]) -> dict[PurePosixPath, str] | None:
    """Return the label of each train file; None if they are labelled in no way or in two."""
    rests = _below(trains, "train")
    if all(len(rest) > 1 for rest in rests):
        return {path: rest[0] for path, rest in zip(trains, rests, strict=True)}
    names = [_label_in_name(rest[-1]) for rest in rests]
    if any(len(rest) > 1 for rest in rests) or not all(names):
        return None
    return dict(zip(trains, names, strict=True))


def _label_in_name(name: str) -> str:
    """Return the part before the number in a file's name; empty for another form."""
    found = _NUMBERED.fullmatch(PurePosixPath(name).stem)
    return found["label"] if found else ""


def _shown(tests: Sequence[PurePosixPath], classes: set[str]) -> bool:
    """Return whether a test file has a class in its path."""
    return any(
        classes & {*path.parts[_place(path, "test") : -1], _label_in_name(path.name)} for path in tests
    )


def _train_rows(labels: Mapping[PurePosixPath, str], test: Iterable[FileRow]) -> tuple[FileRow, ...]:
    """Return rows numbered in the order of a hash of the path, after the numbers of test rows."""
    taken = [int(row.id) for row in test if row.id.isdecimal()]
    first = max(taken) + 1 if taken and min(taken) <= len(labels) else 1
    ordered = sorted(labels, key=lambda path: hashlib.sha256(str(path).encode()).digest())
    return tuple(
        FileRow(str(number), path, f"train/{number}{path.suffix.lower()}", labels[path])
        for number, path in enumerate(ordered, first)
    )


def _test_rows(tests: Sequence[PurePosixPath]) -> tuple[FileRow, ...]:
    """Return rows whose id is the file's stem, or its path without suffix where stems repeat."""
    for ids in (
        [path.stem for path in tests],
        [str(PurePosixPath(*rest).with_suffix("")) for rest in _below(tests, "test")],
        [str(path) for path in tests],
    ):
        if len(set(ids)) == len(tests):
            break
    return tuple(FileRow(name, path, str(path)) for name, path in zip(ids, tests, strict=True))


def _reason(files: str, trains: Sequence[PurePosixPath], classes: Sequence[str]) -> str:
    """Return where the labels of these images, sounds or texts were found, in one line."""
    rests = _below(trains, "train")
    parts = trains[0].parts[: len(trains[0].parts) - len(rests[0])]
    place = "/".join(parts) + "/" if parts else "the download"
    shown = ", ".join(classes[:_SHOWN]) + ", ..." * (len(classes) > _SHOWN)
    if len(rests[0]) > 1:
        return (
            f"{len(trains)} {files} in {len(classes)} folders of {place}, one for each label ({shown})"
        )
    example = rests[0][-1]
    return f"{len(trains)} {files} in {place}, named by their labels ({shown}), as in {example}"
