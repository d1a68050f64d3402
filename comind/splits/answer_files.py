"""Find the files that are answers to held-out rows: masks, target images, transcripts and the like.

Files of train and test rows are in one folder, in two that differ by `train` and `test`, or in a folder
for each row. A kind of file that only train rows have, beside another that both have, is not an input.
Train and test rows may have the same numbers, so a file's folder decides whose it is, not its number.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import pandas as pd

from comind.competitions.row_files import (
    ANSWER_WORDS,
    SHORT_ANSWER_WORDS,
    files_by_cell,
    neutral_path,
    part_of,
    plain_number,
)
from comind.splits.groupings.pixel_ids import image_of_pixel

_ANSWER = re.compile(rf"{ANSWER_WORDS}|(?<![a-z])(?:{SHORT_ANSWER_WORDS})(?![a-z])", re.IGNORECASE)
_WORD = re.compile(rf"{_ANSWER.pattern}|image|^[*.]$", re.IGNORECASE)
_PART_NUMBER = re.compile(r"(?<=\?)\d+")
_DIGITS = re.compile(r"\d+")
_FRACTION = re.compile(r"-?\d*\.\d+(e-?\d+)?")
_SAMPLE = 100
_SAME_IDS = 0.5  # of the test rows have ids of train rows: numbers that say nothing
_AS_OFTEN = 0.5
_SEPARATOR = re.compile(r"[_\-. ]")
_LEAST_NAMED = 0.5  # of the train or test rows, for files like `mask_7.png`


class AnswerFiles(NamedTuple):
    """Files that are answers to held-out rows, and what could not be decided."""

    files: set[str]
    unclear: str = ""
    """The kinds of files of which any may be the answers, in words; empty for none."""


class _Kind(NamedTuple):
    """The folder of files of one kind, `*` for the row's own, and the rest of their names."""

    folder: str
    rest: str


class _Place(NamedTuple):
    """The row that a file belongs to, and the kind of the file."""

    row: str
    kind: _Kind


_Kinds = Mapping[_Kind, Mapping[str, list[str]]]
"""The files of each kind by the name of their row."""


def answer_files(
    files: Iterable[str], train: pd.DataFrame, test: pd.DataFrame, held_out: pd.DataFrame
) -> AnswerFiles:
    """Return the `files`, relative to the public folder, that are answers to held-out rows.

    A file belongs to the row that its name or one of its folders names. `train` are all labelled rows,
    in the columns of `test`; text cells.
    """
    files = [file for file in files if "/" in file or not file.endswith((".csv", ".md"))]
    if not files:
        return AnswerFiles(set())
    (train_ids, of_train), (test_ids, of_test) = map(_ids_and_names, (train, test))
    parts = [(of_train, len(train)), (of_test, len(test))]
    kinds = _kinds(files, of_train | of_test, train_ids | test_ids, parts)
    numbered_alike = len(train_ids & test_ids) >= _SAME_IDS * len(test_ids)
    called, tested = _kinds_of_test(kinds, of_train, of_test, numbered_alike=numbered_alike)
    alike = {_without_part(kind) for kind in tested}
    inputs = {kind for kind in kinds if kind in tested or _without_part(kind) in alike}
    inputs |= _named_kinds(kinds, set(files), train)
    of_rows = {kind for kind in kinds if kind not in called and not of_train.isdisjoint(kinds[kind])}
    answers, unclear = of_rows - inputs, set[_Kind]()
    if answers == of_rows:  # no input of train is known: what is called a mask is none
        answers = {kind for kind in of_rows if _ANSWER.search("/".join(kind))}
        unclear = of_rows - answers
    distinct = [name for name in train.columns if train[name].is_unique]
    others = _names(held_out.drop(columns=distinct)) - train_ids - test_ids
    removed = (_names(held_out[distinct]) | others) & of_train
    found = {
        file for kind in answers for name in removed & kinds[kind].keys() for file in kinds[kind][name]
    }
    if len(unclear) < 2:  # noqa: PLR2004 - a single one is the inputs
        return AnswerFiles(found)
    return AnswerFiles(found, ", ".join(sorted(f"{kind.folder}/*{kind.rest}" for kind in unclear)))


def _kinds(
    files: Iterable[str], names: set[str], ids: set[str], parts: Sequence[tuple[set[str], int]]
) -> _Kinds:
    """Return the files of rows by kind and row.

    Where both a file's name and a folder name rows, it is the one of the two that names more rows.
    """
    kinds: dict[_Kind, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    prefixed: dict[_Kind, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    paths = [PurePosixPath(file) for file in files]
    by_name = [_by_name(path, ids) for path in paths]
    by_folder = _named_alike([_by_folder(path, ids) for path in paths], paths)
    rows = [len({place.row for place in each if place}) for each in (by_name, by_folder)]
    for path, name, folder in zip(paths, by_name, by_folder, strict=True):
        place = (folder or name) if rows[1] > rows[0] else (name or folder)
        if place is None and path.suffix not in (".csv", ".md"):
            place = _by_name(path, names)
        if place is not None:
            kinds[place.kind][place.row].append(str(path))
        elif (place := _by_ending(path, ids)) is not None:
            prefixed[place.kind][place.row].append(str(path))
    return _merged(
        kinds
        | {
            kind: found
            for kind, found in prefixed.items()
            if any(len(names & found.keys()) >= _LEAST_NAMED * count for names, count in parts)
        }
    )


def _named_alike(places: Sequence[_Place | None], paths: Sequence[PurePosixPath]) -> list[_Place | None]:
    """Return places with the name of the file, as `mask.png`, where most rows have one of that name."""
    rows: dict[str, set[str]] = defaultdict(set)
    named: dict[tuple[str, str], set[str]] = defaultdict(set)
    names = [_DIGITS.sub("0", path.name) for path in paths]
    for place, name in zip(places, names, strict=True):
        if place is not None:
            part = part_of(place.kind.folder)
            rows[part].add(place.row)
            named[part, name].add(place.row)
    common = {
        name for (part, name), own in named.items() if len(own) > max(1, _AS_OFTEN * len(rows[part]))
    }
    return [
        place._replace(kind=place.kind._replace(rest=f"/{name}")) if place and name in common else place
        for place, name in zip(places, names, strict=True)
    ]


def _merged(kinds: dict[_Kind, dict[str, list[str]]]) -> _Kinds:
    """Return kinds without folders that only divide the rows, such as those of classes or patients."""
    deepest = max((kind.folder.count("/") + 1 for kind in kinds), default=0)
    for level in range(deepest):
        groups: dict[_Kind, list[_Kind]] = defaultdict(list)
        for kind in kinds:
            folders = kind.folder.split("/")
            if level >= len(folders) or _WORD.search(folders[level]) or part_of(folders[level]):
                continue
            folders[level] = "**"
            groups[kind._replace(folder="/".join(folders))].append(kind)
        for whole, own in groups.items():
            rows = [row for kind in own for row in kinds[kind]]
            if len(own) > 1 and len(rows) == len(set(rows)):
                kinds[whole] = {row: files for kind in own for row, files in kinds.pop(kind).items()}
    return kinds


def _kinds_of_test(
    kinds: _Kinds, of_train: set[str], of_test: set[str], *, numbered_alike: bool
) -> tuple[set[_Kind], set[_Kind]]:
    """Return the kinds of files that test rows alone have, by their names, and all that test rows have.

    Where folders are called `test`, none that is called `train` is among them, whatever its numbers are,
    and none of another name if train and test rows have the same numbers.
    """
    called = {
        kind
        for kind, found in kinds.items()
        if part_of("/".join(kind)) == "test" and found.keys() <= of_test
    }
    only = of_test - of_train
    if not called and not only:  # the files of both are the same ones
        return called, {kind for kind, found in kinds.items() if of_test <= found.keys()}
    if called and numbered_alike:
        return called, called

    def has_both(kind: _Kind) -> bool:
        """Return whether test rows have such files nearly as often as train rows."""
        found = kinds[kind].keys()
        shares = (len(found & names) / max(1, len(names)) for names in (only, of_train))
        return next(shares) > _AS_OFTEN * next(shares)

    return called, called | {
        kind for kind in kinds if has_both(kind) and not (called and part_of("/".join(kind)) == "train")
    }


def _named_kinds(kinds: _Kinds, files: set[str], train: pd.DataFrame) -> set[_Kind]:
    """Return the kinds of the files whose paths are in a column that test rows have, too."""
    paths = {path for name in train.columns for path in files_by_cell(files, train[name]).values()}
    return {
        kind
        for kind, found in kinds.items()
        if any(not paths.isdisjoint(each) for each in found.values())
    }


def _by_name(path: PurePosixPath, names: set[str]) -> _Place | None:
    """Return where a file belongs whose name is a row's, or begins with it."""
    found = ((plain_number(start), rest) for start, rest in _prefixes(path.stem))
    return next((_placed(path, row, rest) for row, rest in found if row in names), None)


def _by_folder(path: PurePosixPath, ids: set[str]) -> _Place | None:
    """Return where a file belongs that is in a row's folder."""
    rows = map(plain_number, reversed(path.parts[:-1]))
    return next((_placed(path, row, "") for row in rows if row in ids), None)


def _by_ending(path: PurePosixPath, ids: set[str]) -> _Place | None:
    """Return where a file belongs whose name ends with an id, as `mask_7.png`."""
    ends = [found.end() for found in _SEPARATOR.finditer(path.stem)]
    found = ((plain_number(path.stem[end:]), f"{path.stem[:end]}*") for end in ends)
    return next((_placed(path, row, rest) for row, rest in found if row in ids), None)


def _placed(path: PurePosixPath, row: str, rest: str) -> _Place:
    folders = ("*" if plain_number(folder) == row else folder for folder in path.parts[:-1])
    return _Place(row, _Kind("/".join(folders) or ".", rest + path.suffix))


def _ids_and_names(table: pd.DataFrame) -> tuple[set[str], set[str]]:
    """Return the names of columns whose cells differ in all rows, and those of all columns."""
    distinct = [name for name in table.columns if table[name].is_unique]
    ids = _names(table[distinct])
    return ids, ids | _names(table.drop(columns=distinct))


def _names(table: pd.DataFrame) -> set[str]:
    """Return the stems that files of these rows may have: of their cells, and of pixels' images."""
    names = set()
    for column in table.columns:
        cells = table[column].drop_duplicates()
        if cells.head(_SAMPLE).str.fullmatch(_FRACTION).any():
            continue  # a measurement, not a name
        names |= {
            plain_number(PurePosixPath(cell).stem) for cell in {*cells, *image_of_pixel(cells)} if cell
        }
    return names


def _prefixes(stem: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to cut a name into a row's name and a rest, the longest first."""
    yield stem, ""
    for found in reversed(list(_SEPARATOR.finditer(stem))):
        yield stem[: found.start()], stem[found.start() :]


def _without_part(kind: _Kind) -> str:
    """Return the kind with one mark in place of `train` and `test`, also of `test1`."""
    return _PART_NUMBER.sub("", neutral_path("/".join(kind)))
