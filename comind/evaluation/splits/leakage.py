"""Remove held-out rows, and files that are answers to them, from the public files.

Answers are target images, masks, transcripts and the like, which test rows lack. Files of train and test
rows are in one folder, in two that differ by `train` and `test`, or in a folder for each row. A kind of
file that only train rows have, beside another that both have, is not an input.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.domain.competition import TABLES
from comind.errors import CompetitionError
from comind.evaluation.csv_tables import Mask, read_header, read_table, row_keys, write_table
from comind.evaluation.mapped_table import take_rows
from comind.evaluation.splits.groups import image_of_pixel
from comind.evaluation.splits.split_folder import SplitFolder
from comind.evaluation.splits.split_plan import SplitPlan
from comind.layout.archives import link_or_copy

__all__ = [
    "answer_files",
    "files_by_cell",
    "leaking_tables",
    "list_files",
    "normalized_path",
    "remove_held_out",
]

_TRAIN = re.compile(r"train(ing)?", re.IGNORECASE)
_FRACTION = re.compile(r"-?\d*\.\d+(e-?\d+)?")
_SAMPLE = 100
_SEPARATOR = re.compile(r"[_\-. ]")


def remove_held_out(plan: SplitPlan, positions: Sequence[int], folder: SplitFolder) -> None:
    """Remove validation and excluded rows from all public tables, and the files that answer them.

    The originals of changed and removed files are sealed, for refits.
    """
    gone = [*positions, *plan.excluded]
    kept = np.ones(len(plan.train), dtype=np.bool_)
    kept[gone] = False
    removed = take_rows(plan.train, gone)
    _remove_leaking_rows(plan, removed, folder)
    _remove_answer_files(plan, kept, removed, folder)
    _keep_original(folder, Path("train.csv"))
    write_table(plan.train, folder.public / "train.csv", rows=kept)


def leaking_tables(plan: SplitPlan, public: Path) -> Iterator[Path]:
    """Yield the other tables with ids of train rows and values that test rows lack."""
    for path in sorted(public.rglob("*")):
        if path.suffix.lower() != ".csv" or not path.is_file():
            continue
        if path.parent == public and path.name in TABLES:
            continue
        columns = set(read_header(path))
        if set(plan.train_ids) <= columns and columns & set(plan.withheld):
            yield path


def _remove_leaking_rows(plan: SplitPlan, held_out: pd.DataFrame, folder: SplitFolder) -> None:
    """Remove held-out rows from the leaking tables."""
    ids = list(plan.train_ids)
    removed = row_keys(held_out, ids)
    for path in leaking_tables(plan, folder.public):
        table = read_table(path, CompetitionError)
        _keep_original(folder, path.relative_to(folder.public))
        write_table(table[~row_keys(table, ids).isin(removed)], path)


def _remove_answer_files(
    plan: SplitPlan, kept: Mask, held_out: pd.DataFrame, folder: SplitFolder
) -> None:
    """Remove files that withheld cells of held-out rows name, or that are answers to these rows."""
    files = list_files(folder.public) - set(TABLES)
    removed = _named(files, held_out, plan.withheld)
    if removed:
        removed -= _named(files, plan.train, plan.withheld, kept)
        removed -= _named(files, plan.train, plan.inputs)
    test = plan.test.set_axis(plan.inputs, axis="columns")
    removed |= answer_files(files, plan.train[plan.inputs], test, held_out[plan.inputs])
    for name in sorted(removed):
        _keep_original(folder, Path(name))
        (folder.public / name).unlink()


def _named(
    files: set[str], table: pd.DataFrame, columns: list[str], rows: Mask | None = None
) -> set[str]:
    """Return the files named in a cell of these columns, of some rows or of all."""
    cells = (table[column] if rows is None else table[column][rows] for column in columns)
    return set().union(*(files_by_cell(files, each).values() for each in cells))


def files_by_cell(files: set[str], cells: pd.Series) -> dict[str, str]:
    """Return the file that a cell names, by cell, among `files` relative to the public folder."""
    endings = tuple({name[-2:] for name in files})  # few of a million numbers end like a file
    likely = cells[cells.str.endswith(endings)].unique().tolist() if endings else []
    found = {cell: normalized_path(cell) for cell in likely}
    return {cell: name for cell, name in found.items() if name in files}


def list_files(public: Path) -> set[str]:
    """Return the names of all files below `public`, relative to it."""
    return {path.relative_to(public).as_posix() for path in public.rglob("*") if path.is_file()}


def normalized_path(cell: str) -> str:
    """Normalize a cell that may name a file, to compare it with `list_files`."""
    return PurePosixPath(cell).as_posix()


def _keep_original(folder: SplitFolder, name: Path) -> None:
    """Link a public file to the sealed part, before another file takes its name, or none."""
    link_or_copy(folder.public / name, folder.full / name)


class _Kind(NamedTuple):
    """The folder of files of one kind, `*` for the row's own, and the rest of their names."""

    folder: str
    rest: str


class _Place(NamedTuple):
    """The row that a file belongs to, and the kind of the file."""

    row: str
    kind: _Kind


def answer_files(
    files: Iterable[str], train: pd.DataFrame, test: pd.DataFrame, held_out: pd.DataFrame
) -> set[str]:
    """Return the `files`, relative to the public folder, that are answers to held-out rows.

    A file belongs to the row that its name or one of its folders names. `train` are all labelled rows,
    in the columns of `test`; text cells.
    """
    files = [file for file in files if "/" in file or not file.endswith((".csv", ".md"))]
    if not files:
        return set()
    (train_ids, of_train), (test_ids, of_test) = map(_ids_and_names, (train, test))
    names, ids = of_train | of_test, train_ids | test_ids
    kinds: dict[_Kind, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        place = _place(PurePosixPath(file), names, ids)
        if place is not None:
            kinds[place.kind][place.row].append(file)
    of_test -= of_train
    tested = {kind for kind, found in kinds.items() if not of_test.isdisjoint(found)}
    inputs = {kind for kind in kinds if kind in tested or _test_kind(kind) in tested}
    if all(of_train.isdisjoint(kinds[kind]) for kind in inputs):
        return set()
    removed = _names(held_out) & of_train
    answers = (found for kind, found in kinds.items() if kind not in inputs)
    return {file for found in answers for name in found if name in removed for file in found[name]}


def _place(path: PurePosixPath, names: set[str], ids: set[str]) -> _Place | None:
    """Return where a file belongs: by an id in its name, else by its folder, else by any cell's name."""
    stems = list(_prefixes(path.stem))
    folders = path.parts[:-1]
    for known in (ids, names) if path.suffix not in (".csv", ".md") else (ids,):
        for row, rest in stems:
            if row in known:
                return _Place(row, _Kind(_folder_pattern(folders, row), rest + path.suffix))
        for row in reversed(folders if known is ids else ()):
            if row in known:
                return _Place(row, _Kind(_folder_pattern(folders, row), path.suffix))
    return None


def _folder_pattern(folders: Sequence[str], row: str) -> str:
    return "/".join("*" if folder == row else folder for folder in folders) or "."


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
        names |= {PurePosixPath(cell).stem for cell in {*cells, *image_of_pixel(cells)} if cell}
    return names


def _prefixes(stem: str) -> Iterable[tuple[str, str]]:
    """Yield the ways to cut a name into a row's name and a rest, the longest first."""
    yield stem, ""
    for found in reversed(list(_SEPARATOR.finditer(stem))):
        yield stem[: found.start()], stem[found.start() :]


def _test_kind(kind: _Kind) -> _Kind:
    return _Kind(_TRAIN.sub("test", kind.folder), _TRAIN.sub("test", kind.rest))
