"""Remove held-out rows, and files that are answers to them, from the public files."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.competitions.data import CompetitionData
from comind.competitions.download.archives import link_or_copy
from comind.competitions.row_files import files_by_cell, list_files
from comind.domain.competition import TABLES
from comind.errors import CompetitionError
from comind.splits.answer_files import answer_files
from comind.splits.image_comments import images_with_labels, without_comments
from comind.splits.label_search import LabelSearch
from comind.splits.named_labels import names_without_labels, without_part
from comind.splits.side_labels import find_labels, remove_labels
from comind.splits.split_folder import SplitFolder
from comind.splits.split_plan import SplitPlan
from comind.splits.tables_in_files import ARCHIVE_SUFFIXES, members_of, shown_name
from comind.system.files import write_atomically
from comind.tables.csv_tables import Mask, read_header, read_table, row_keys, write_table
from comind.tables.mapped_table import take_rows

_SHOWN = "validation.csv shows labels: they are in the ids of column {!r}, and not in those of test.csv"
_UNCLEAR = (
    "files of held-out rows stay public, as none are known to be the inputs: {}; name the inputs in a "
    "column of paths"
)


class Sealed(NamedTuple):
    """Changes beside the removal of held-out rows."""

    lines: list[str]
    """A line for each file that showed labels, and for what could not be searched or decided."""
    renamed: dict[str, str]
    """The new names of held-out rows' files that showed labels."""
    parts: dict[str, str]
    """Input columns of which a part shows the label, and that part, see `without_part`."""

    def inputs(self, held_out: pd.DataFrame) -> pd.DataFrame:
        """Return the inputs of held-out rows, in the columns of train, without labels in their cells."""
        shown = held_out.copy()
        for name in shown.columns if self.renamed else ():
            known = files_by_cell(set(self.renamed), shown[name])
            new = {cell: self.renamed[file] for cell, file in known.items()}
            shown[name] = shown[name].map(lambda cell, new=new: new.get(cell, cell))
        for name, part in self.parts.items():
            same = shown[name] == held_out[name]
            shown.loc[same, name] = without_part(shown.loc[same, name], part)
        return shown


def remove_held_out(plan: SplitPlan, folder: SplitFolder) -> Sealed:
    """Remove validation and excluded rows from all public tables, and the files that answer them.

    The originals of changed and removed files are sealed, for refits.
    """
    data, kept = plan.data, ~_gone(plan)
    removed = take_rows(data.train, [*plan.rows, *plan.excluded])
    search = _labels_of(data, ~kept)
    _remove_leaking_rows(data, removed, folder)
    renamed, lines = _rename_files(search, folder)
    lines += _remove_answer_files(data, kept, removed, folder)
    lines += _remove_labels(search, folder)
    lines += _remove_comments(search, folder)
    parts = dict(search.shown_parts())
    lines += [_SHOWN.format(name) for name in parts if name in data.train_ids]
    _keep_original(folder, Path("train.csv"))
    write_table(data.train, folder.public / "train.csv", rows=kept)
    return Sealed(lines, renamed, {name: parts[name] for name in parts if name not in data.train_ids})


def leaking_tables(data: CompetitionData, public: Path | None = None) -> Iterator[Path]:
    """Yield the other tables with ids of train rows and values that test rows lack."""
    public = data.competition.public if public is None else public
    for path in sorted(public.rglob("*")):
        if path.suffix.lower() != ".csv" or not path.is_file():
            continue
        if path.parent == public and path.name in TABLES:
            continue
        columns = set(read_header(path))
        if set(data.train_ids) <= columns and columns & set(data.withheld):
            yield path


def _remove_leaking_rows(data: CompetitionData, held_out: pd.DataFrame, folder: SplitFolder) -> None:
    """Remove held-out rows from the leaking tables."""
    ids = list(data.train_ids)
    removed = row_keys(held_out, ids)
    for path in leaking_tables(data, folder.public):
        table = read_table(path, CompetitionError)
        _keep_original(folder, path.relative_to(folder.public))
        write_table(table[~row_keys(table, ids).isin(removed)], path)


def _remove_answer_files(
    data: CompetitionData, kept: Mask, held_out: pd.DataFrame, folder: SplitFolder
) -> list[str]:
    """Remove files that withheld cells of held-out rows name, or that are answers to these rows.

    Returns a line if it is unclear which files are answers.
    """
    files = list_files(folder.public) - set(TABLES)
    removed = _named(files, held_out, data.withheld)
    if removed:
        removed -= _named(files, data.train, data.withheld, kept)
        removed -= _named(files, data.train, data.inputs)
    test = data.renamed_test
    packed = _packed(folder.public, files)
    tables = data.train[data.inputs], test, held_out[data.inputs]
    answers = answer_files(files | packed.keys(), *tables)
    archives = {packed[name] for name in answers.files if name in packed}
    for name in sorted(archives | removed | (answers.files & files)):
        _leave_out(folder, name)
    lines = [
        f"{shown_name(name)} is left out, as it has answers to held-out rows"
        for name in sorted(archives)
    ]
    return lines + ([_UNCLEAR.format(shown_name(answers.unclear))] if answers.unclear else [])


def _gone(plan: SplitPlan) -> Mask:
    """Return which rows leave train.csv."""
    gone = np.zeros(len(plan.data.train), dtype=np.bool_)
    gone[[*plan.rows, *plan.excluded]] = True
    return gone


def _labels_of(data: CompetitionData, gone: Mask) -> LabelSearch:
    """Return the search for the labels of the rows that are `gone` from train."""
    others = [name for name in data.withheld if name not in (*data.labels, *data.train_ids)]
    return LabelSearch(
        data.train,
        data.renamed_test,
        ids=data.train_ids,
        labels=[*data.labels, *others],
        gone=gone,
    )


def side_files(public: Path) -> set[str]:
    """Return the names of all files that may show labels: neither tables nor description."""
    return list_files(public) - {*TABLES, "description.md"}


def seal_warnings(plan: SplitPlan) -> list[str]:
    """Return the lines that a split by this plan has on files that show labels."""
    data, public = plan.data, plan.data.competition.public
    tables = {path.relative_to(public).as_posix() for path in leaking_tables(data)}
    found, notes = find_labels(_labels_of(data, _gone(plan)), public, side_files(public) - tables)
    return [f"{shown_name(each.file)}: {each.line}" for each in found] + notes


def _rename_files(search: LabelSearch, folder: SplitFolder) -> tuple[dict[str, str], list[str]]:
    """Rename files of held-out rows whose names show labels; an archive of such files is left out."""
    public = folder.public
    files = side_files(public)
    packed = _packed(public, files)
    renamed, lines = names_without_labels(search, files | packed.keys())
    for name in sorted({packed[name] for name in renamed if name in packed}):
        _leave_out(folder, name)
        lines.append(f"{shown_name(name)} is left out, as names of files in it show labels")
    renamed = {name: new for name, new in renamed.items() if name not in packed}
    for name, new in renamed.items():
        _keep_original(folder, Path(name))
        (public / new).parent.mkdir(parents=True, exist_ok=True)
        (public / name).rename(public / new)
    return renamed, lines


def _packed(public: Path, files: set[str]) -> dict[str, str]:
    """Return the archive of each file in one, by its name below that of the archive."""
    archives = [name for name in files if name.lower().endswith(ARCHIVE_SUFFIXES)]
    return {f"{name}/{member}": name for name in archives for member in members_of(public / name)}


def _leave_out(folder: SplitFolder, name: str) -> None:
    _keep_original(folder, Path(name))
    (folder.public / name).unlink()


def _remove_labels(search: LabelSearch, folder: SplitFolder) -> list[str]:
    """Remove held-out rows, whatever the files and columns that have their labels are called."""
    found, lines = find_labels(search, folder.public, side_files(folder.public))
    for each in found:
        if not each.found.of_test:
            _keep_original(folder, Path(each.file))
        lines.append(remove_labels(folder.public, each, search))
    return lines


def _remove_comments(search: LabelSearch, folder: SplitFolder) -> list[str]:
    """Remove texts in held-out rows' images, where they show labels; else the images."""
    gone, lines = images_with_labels(search, folder.public, side_files(folder.public))
    for name in gone:
        path = folder.public / name
        plain = without_comments(path.read_bytes())
        _leave_out(folder, name)
        if plain is not None:
            write_atomically(path, plain)
    return lines


def _named(
    files: set[str], table: pd.DataFrame, columns: list[str], rows: Mask | None = None
) -> set[str]:
    """Return the files named in a cell of these columns, of some rows or of all."""
    cells = (table[column] if rows is None else table[column][rows] for column in columns)
    return set().union(*(files_by_cell(files, each).values() for each in cells))


def _keep_original(folder: SplitFolder, name: Path) -> None:
    """Link a public file to the sealed part, before another file takes its name, or none."""
    link_or_copy(folder.public / name, folder.full / name)
