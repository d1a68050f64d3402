"""Remove held-out rows from other public files, which would leak their labels."""

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pandas as pd

from comind.domain.competition import TABLES
from comind.errors import CompetitionError
from comind.evaluation.csv_tables import read_header, read_table, row_keys, write_table
from comind.evaluation.splits.answer_files import answer_files
from comind.evaluation.splits.split_folder import SplitFolder
from comind.evaluation.splits.split_plan import SplitPlan

__all__ = ["leaking_tables", "list_files", "normalized_path", "remove_held_out"]


def remove_held_out(
    plan: SplitPlan, kept: pd.DataFrame, removed: pd.DataFrame, folder: SplitFolder
) -> None:
    """Remove rows from all public tables, and the files that are answers to them.

    The originals of changed and removed files are sealed, for refits.
    """
    _remove_leaking_rows(plan, removed, folder)
    _remove_answer_files(plan, kept, removed, folder)
    _keep_original(folder, Path("train.csv"))
    write_table(kept, folder.public / "train.csv")


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


def _remove_leaking_rows(plan: SplitPlan, held_back: pd.DataFrame, folder: SplitFolder) -> None:
    """Remove held-out rows from the leaking tables."""
    ids = list(plan.train_ids)
    removed = row_keys(held_back, ids)
    for path in leaking_tables(plan, folder.public):
        table = read_table(path, CompetitionError)
        _keep_original(folder, path.relative_to(folder.public))
        write_table(table[~row_keys(table, ids).isin(removed)], path)


def _remove_answer_files(
    plan: SplitPlan, kept: pd.DataFrame, held_back: pd.DataFrame, folder: SplitFolder
) -> None:
    """Remove files that withheld cells of held-out rows name, or that are answers to these rows."""
    files = list_files(folder.public) - set(TABLES)
    removed = _named(files, held_back, plan.withheld)
    if removed:
        removed -= _named(files, kept, plan.withheld) | _named(files, plan.train, plan.inputs)
    test = plan.test.set_axis(plan.inputs, axis="columns")
    removed |= answer_files(files, plan.train[plan.inputs], test, held_back[plan.inputs])
    for name in sorted(removed):
        _keep_original(folder, Path(name))
        (folder.public / name).unlink()


def _named(files: set[str], table: pd.DataFrame, columns: list[str]) -> set[str]:
    """Return the files named in a cell of these columns."""
    return files & {normalized_path(cell) for column in columns for cell in table[column].unique()}


def list_files(public: Path) -> set[str]:
    """Return the names of all files below `public`, relative to it."""
    return {path.relative_to(public).as_posix() for path in public.rglob("*") if path.is_file()}


def normalized_path(cell: str) -> str:
    """Normalize a cell that may name a file, to compare it with `list_files`."""
    return PurePosixPath(cell).as_posix()


def _keep_original(folder: SplitFolder, name: Path) -> None:
    """Copy a public file to the sealed part, before held-out rows are removed from it."""
    target = folder.full / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder.public / name, target)
