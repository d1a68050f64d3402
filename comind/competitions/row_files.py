"""Find the file of each row, where a column names files by path, name, stem, or a folder for each row.

Files of train and test rows may have equal names: `train/1.jpg` and `test/1.jpg`. A file below a folder
whose name says train or validation is a labelled row's, one below a folder of test a test row's, and any
other file may be of both. Programs of the baseline contain this module, so it imports nothing of ours.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
AUDIO_SUFFIXES = (".wav", ".flac", ".ogg", ".aif", ".aiff", ".mp3")
TEXT_SUFFIXES = (".txt", ".htm", ".html")
# The suffixes of each kind of file.
FILE_KINDS = {"image": IMAGE_SUFFIXES, "audio": AUDIO_SUFFIXES, "text": TEXT_SUFFIXES}
PLURALS = {"image": "images", "audio": "sounds", "text": "texts"}

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PART = re.compile(
    r"((?P<train>train(ing)?)|(?P<test>test(ing)?)|trainval|val|valid|validation)"
    r"(set|data|dataset|images?|imgs?|pics?|pictures?|masks?|labels?|audios?|wavs?|files?)?",
    re.IGNORECASE,
)
_SHORT = {"Tr": "train", "Ts": "test"}  # imagesTr, labelsTr, imagesTs
# Patterns of words for answers in names of files and folders; the short ones are no part of other words.
ANSWER_WORDS = "mask|label|annot|target|truth|answer|solution|segment"
SHORT_ANSWER_WORDS = "gt(?:_?fine)?|segs?"
_LONGER = rf"(?:ground[ _-]?)?(?:annotation|segmentation|{ANSWER_WORDS})s?"
_ANSWERS = re.compile(rf"(?<![a-z])(?:{_LONGER}|{SHORT_ANSWER_WORDS})(?![a-z])", re.IGNORECASE)
_MOST = 0.5
_MOST_CACHED = 1 << 16


class RowFiles(NamedTuple):
    """The file of each cell that names one, as a path relative to the public folder."""

    train: dict[str, str]
    """Of labelled rows: those of train and of validation."""
    test: dict[str, str]
    ambiguous: bool
    """Whether files in another folder, or with another suffix, have the same names and are as likely."""


class FileColumn(NamedTuple):
    """The column that names the files of most rows."""

    name: str
    files: RowFiles


class _Kind(NamedTuple):
    """Files that a column names in one way, of both parts."""

    by: str
    """What the cell is: the whole `path`, the end of it (`name`), or a `folder` of it."""
    pattern: str
    """The path without suffix, with `*` for the cell and `?` for train or test."""
    suffix: str
    apart: bool
    """Whether its folders say which part it is of."""

    @property
    def of_answers(self) -> bool:
        """True if its folders are named like those of answers."""
        return _ANSWERS.search(self.pattern) is not None


class _Parts(NamedTuple):
    """The files of one kind by cell."""

    train: dict[str, str]
    test: dict[str, str]


def list_files(public: Path) -> set[str]:
    """Return the names of all files below `public`, relative to it."""
    return {path.relative_to(public).as_posix() for path in public.rglob("*") if path.is_file()}


def files_by_cell(files: Collection[str], cells: Any) -> dict[str, str]:
    """Return the file whose whole path a cell of a column is, by cell, among those of the folder."""
    endings = tuple({name[-2:] for name in files})  # few of a million numbers end like a file
    likely = cells[cells.str.endswith(endings)].unique().tolist() if endings else []
    found = {cell: _normalized(cell) for cell in likely}
    return {cell: name for cell, name in found.items() if name in files}


def file_kind(path: str) -> str:
    """Return what a file is by its suffix: image, audio or text; empty for others, and hidden ones."""
    if any(name.startswith((".", "__MACOSX")) for name in path.split("/")):
        return ""
    suffix = "." + path.rpartition(".")[2].lower()
    return next((kind for kind, suffixes in FILE_KINDS.items() if suffix in suffixes), "")


def part_of(path: str) -> str:
    """Return the part that a file is of by its first folder that says so, or else its name.

    It is "train", also for validation, or "test", or "" for any.
    """
    for name in path.split("/"):
        parts = {part for word in _WORD.findall(name) if (part := _part_of_word(word))}
        if len(parts) == 1:
            return parts.pop()
    return ""


def neutral_path(path: str) -> str:
    """Return a path with `?` for train and test: equal for files that differ only in their part."""
    return _WORD.sub(lambda found: _neutral(found[0]), path)


class FileIndex:
    """Files, relative to the public folder, by their names and folders."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(files)
        self.by_name: dict[str, list[str]] = defaultdict(list)
        self.by_folder: dict[str, list[str]] = defaultdict(list)
        for file in self.files:
            *folders, name = file.split("/")
            stem = name.rpartition(".")[0] or name
            for each in {name, stem, plain_number(stem)}:
                self.by_name[each].append(file)
            for folder in {*folders}:
                self.by_folder[folder].append(file)

    def candidates(self, cells: Iterable[str]) -> list[str]:
        """Return the files that cells may name, sorted."""
        found: set[str] = set()
        for cell in cells:
            found.update(self.by_name.get(cell.rpartition("/")[2], ()), self.by_folder.get(cell, ()))
        return sorted(found)


def plain_number(name: str) -> str:
    """Return a number without its leading zeros, which a table of numbers lacks; a name as it is."""
    return name.lstrip("0") or "0" if name.isdecimal() else name


def files_of_rows(files: FileIndex, train: Collection[str], test: Collection[str]) -> RowFiles:
    """Return the file of each cell of a column.

    `train` are the cells of all labelled rows, `test` those of test rows. A whole path names its file
    whatever its folder. Else files of the other part are taken only for a part that has no others, and
    only for names that the other part's rows lack. Of several kinds of files with the same names, such
    as images and masks, the one that most rows of both parts have is taken.
    """
    cells = [{_normalized(cell) for cell in part} for part in (train, test)]
    kinds: dict[_Kind, _Parts] = defaultdict(lambda: _Parts({}, {}))
    strays: dict[_Kind, _Parts] = defaultdict(lambda: _Parts({}, {}))
    known = cells[0] | cells[1]
    for file in files.candidates(known):
        for cell, by, rest, suffix in _namings(file, known, files.files):
            part, pattern = _part_and_pattern(rest)
            kind = _Kind(by, pattern, suffix, part != "")
            for own, name in enumerate(_Parts._fields):
                fits = part in ("", name)
                if cell in cells[own] and (fits or cell not in cells[1 - own]):
                    (kinds if fits else strays)[kind][own].setdefault(cell, file)
    for own in range(2):
        if not any(found[own] for found in kinds.values()):
            for kind, found in strays.items():
                kinds[kind][own].update(found[own])
        _drop_common(kinds, own, cells[0] & cells[1])
    chosen, ambiguous = _choose(kinds, [len(part) or 1 for part in cells])
    of_train, of_test = (
        {cell: found[name] for cell in part if (name := _normalized(cell)) in found}
        for part, found in zip((train, test), chosen, strict=True)
    )
    return RowFiles(of_train, of_test, ambiguous)


def find_file_column(
    files: FileIndex, train: Mapping[str, Sequence[str]], test: Mapping[str, Sequence[str]]
) -> FileColumn | None:
    """Return the column of both parts, given as cells by name, that names the files of most rows.

    A column of whole paths is preferred, then one that names more files, then more rows. None where no
    cell names a file.
    """
    best: tuple[tuple[bool, int, int], FileColumn] | None = None
    for column in (name for name in train if name in test):
        found = files_of_rows(files, train[column], test[column])
        named = {*found.train.values(), *found.test.values()}
        whole = sum(_normalized(cell) in files.files for cell in {*found.train, *found.test})
        rows = sum(cell in found.train for cell in train[column])
        rows += sum(cell in found.test for cell in test[column])
        score = 2 * whole > len(named), len(named), rows
        if named and (best is None or score > best[0]):
            best = score, FileColumn(column, found)
    return best[1] if best else None


def _normalized(cell: str) -> str:
    """Return a cell as it would be in a list of files: `./a//b.jpg` is `a/b.jpg`."""
    return "/".join(name for name in cell.split("/") if name not in ("", ".")) if "/" in cell else cell


def _part_of_word(word: str) -> str:
    found = _PART.fullmatch(word)
    return _SHORT.get(word, "") if found is None else "test" if found["test"] else "train"


def _neutral(word: str) -> str:
    """Return a word with `?` for train or test; those of validation stay."""
    if word in _SHORT:
        return "?"
    found = _PART.fullmatch(word)
    return word.replace(found["train"] or found["test"] or "?", "?") if found else word


@lru_cache(_MOST_CACHED)
def _part_and_pattern(rest: str) -> tuple[str, str]:
    return part_of(rest), neutral_path(rest)


def _namings(
    file: str, cells: Collection[str], files: Collection[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the cells that name a file, how, the path with `*` for the cell, and the suffix.

    The number 7 names 007.png where no cell is 007 and no file of that folder is 7.png.
    """
    *folders, name = file.split("/")
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    suffix = (dot + suffix).lower()
    for depth in range(len(folders) + 1):
        end = "/".join((*folders[depth:], stem))
        for cell in (end, end + name[len(stem) :]):
            if cell in cells:
                whole = bool(folders) and not depth
                rest = "/".join("*" if each == cell else each for each in folders[:depth]) + "/*"
                yield cell, "path" if whole else "name", rest, suffix
                if not suffix:
                    break
    plain = plain_number(stem)
    exact = "/".join((*folders, plain + name[len(stem) :]))
    if plain in cells and stem not in cells and exact not in files:
        yield plain, "name", "/".join((*folders, "*")), suffix
    for cell in {folder for folder in folders if folder in cells}:
        names = ["*" if each == cell else each for each in folders]
        yield cell, "folder", "/".join((*names, stem.replace(cell, "*"))), suffix


def _drop_common(kinds: Mapping[_Kind, _Parts], own: int, common: set[str]) -> None:
    """Leave files of no part to the other one, where folders of a part have most of the common names."""
    inputs = (found[own] for kind, found in kinds.items() if kind.apart and not kind.of_answers)
    named = {cell for found in inputs for cell in found}
    if len(common & named) > _MOST * len(common):
        for kind, found in kinds.items():
            if not kind.apart and kind.by != "path":
                for cell in (common | named) & found[own].keys():
                    del found[own][cell]


def _choose(kinds: Mapping[_Kind, _Parts], rows: Sequence[int]) -> tuple[_Parts, bool]:
    """Return the files of the best kinds, and whether another kind of the same names is as good.

    Kinds whose names are mostly those of better ones are other files of the same rows, and so are kinds
    that are named like answers, beside others. Of two as good that test rows lack, where those have
    others, any may be answers, so none is taken. A folder of several files that test rows have, too (the
    frames of a video, the pictures of a category), names no row's file.
    """
    ranks = _ranks(kinds, rows)
    by = max(((ranks[kind], kind.by) for kind in kinds if kind.by != "path"), default=((), ""))[1]
    chosen, ambiguous, inputs = _Parts({}, {}), False, False
    doubtful: set[str] = set()
    owners: dict[tuple[int, str], _Kind] = {}
    for kind in sorted(kinds, key=lambda each: (*(-value for value in ranks[each]), each)):
        if kind.by not in ("path", by):
            continue
        cells = [(own, cell) for own, part in enumerate(kinds[kind]) for cell in part]
        better = [owners[cell] for cell in cells if cell in owners]
        if len(better) > _MOST * len(cells) or (kind.of_answers and inputs):
            if by == "folder" and kinds[kind].test and not kind.of_answers:
                return _Parts({}, {}), True
            equal = [each for each in better if ranks[each] == ranks[kind]]
            ambiguous |= bool(equal)
            doubtful |= {cell for each in equal if not kinds[each].test for cell in kinds[each].train}
            continue
        inputs |= not kind.of_answers
        for own, cell in cells:
            if owners.setdefault((own, cell), kind) == kind:
                chosen[own][cell] = kinds[kind][own][cell]
    if chosen.test:
        for cell in doubtful:
            chosen.train.pop(cell, None)
    return chosen, ambiguous


def _ranks(kinds: Mapping[_Kind, _Parts], rows: Sequence[int]) -> dict[_Kind, tuple[float, ...]]:
    """Return the rank of each kind: by the rows that have such files, then by the names of folders."""
    own = {
        kind: sum(len(part) / count for part, count in zip(found, rows, strict=True))
        for kind, found in kinds.items()
    }
    shares: dict[tuple[str, str], float] = defaultdict(float)
    for kind, share in own.items():
        shares[kind.by, kind.pattern] += share
    return {
        kind: (
            kind.by == "path",
            shares[kind.by, kind.pattern],
            share,
            kind.apart,
            not kind.of_answers,
        )
        for kind, share in own.items()
    }
