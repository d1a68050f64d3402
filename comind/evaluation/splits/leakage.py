"""Remove held-out rows, and files that are answers to them, from the public files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from comind.domain.competition import TABLES
from comind.errors import CompetitionError
from comind.evaluation.csv_tables import Mask, read_header, read_table, row_keys, write_table
from comind.evaluation.mapped_table import take_rows
from comind.evaluation.splits.answer_files import answer_files, files_by_cell
from comind.evaluation.splits.split_folder import SplitFolder
from comind.evaluation.splits.split_plan import SplitPlan
from comind.layout.archives import link_or_copy

__all__ = ["leaking_tables", "list_files", "remove_held_out"]

_UNCLEAR = (
    "files of held-out rows stay public, as none are known to be the inputs: {}; name the inputs in a "
    "column of paths"
)


def remove_held_out(plan: SplitPlan, positions: Sequence[int], folder: SplitFolder) -> list[str]:
    """Remove validation and excluded rows from all public tables, and the files that answer them.

    The originals of changed and removed files are sealed, for refits. Returns a line for what could not
    be decided.
    """
    gone = [*positions, *plan.excluded]
    kept = np.ones(len(plan.train), dtype=np.bool_)
    kept[gone] = False
    removed = take_rows(plan.train, gone)
    _remove_leaking_rows(plan, removed, folder)
    notes = _remove_answer_files(plan, kept, removed, folder)
    _keep_original(folder, Path("train.csv"))
    write_table(plan.train, folder.public / "train.csv", rows=kept)
    return notes


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
) -> list[str]:
    """Remove files that withheld cells of held-out rows name, or that are answers to these rows.

    Returns a line if it is unclear which files are answers.
    """
    files = list_files(folder.public) - set(TABLES)
    removed = _named(files, held_out, plan.withheld)
    if removed:
        removed -= _named(files, plan.train, plan.withheld, kept)
        removed -= _named(files, plan.train, plan.inputs)
    test = plan.test.set_axis(plan.inputs, axis="columns")
    answers = answer_files(files, plan.train[plan.inputs], test, held_out[plan.inputs])
    for name in sorted(removed | answers.files):
        _keep_original(folder, Path(name))
        (folder.public / name).unlink()
    return [_UNCLEAR.format(answers.unclear)] if answers.unclear else []


def _named(
    files: set[str], table: pd.DataFrame, columns: list[str], rows: Mask | None = None
) -> set[str]:
    """Return the files named in a cell of these columns, of some rows or of all."""
    cells = (table[column] if rows is None else table[column][rows] for column in columns)
    return set().union(*(files_by_cell(files, each).values() for each in cells))


def list_files(public: Path) -> set[str]:
    """Return the names of all files below `public`, relative to it."""
    return {path.relative_to(public).as_posix() for path in public.rglob("*") if path.is_file()}


def _keep_original(folder: SplitFolder, name: Path) -> None:
    """Link a public file to the sealed part, before another file takes its name, or none."""
    link_or_copy(folder.public / name, folder.full / name)
