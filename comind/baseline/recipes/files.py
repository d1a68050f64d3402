"""Match side files to table rows by the column that names most of them, usually the id."""

from pathlib import Path

import pandas as pd

from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

__all__ = ["files_below", "files_by_folder", "side_files"]


def files_below(folder: str, endings: tuple[str, ...]) -> list[Path]:
    """Return the files with one of `endings`, sorted by path."""
    return [path for path in sorted(Path(folder).rglob("*")) if path.suffix.lower() in endings]


def files_by_folder(folder: str, endings: tuple[str, ...]) -> dict[Path, dict[str, Path]]:
    """Return the folders that hold such files, each with its files by name with and without suffix."""
    folders: dict[Path, dict[str, Path]] = {}
    for path in files_below(folder, endings):
        folders.setdefault(path.parent, {}).update({path.stem: path, path.name: path})
    return folders


def side_files(task: Task, tables: Tables, endings: tuple[str, ...]) -> list[list[Path | None]]:
    """Return a path (or None) for each row of train, validation and test."""
    train, validation, test = tables
    found = files_below(task.folder, endings)
    by_name = {key: path for path in found for key in (path.stem, path.name)}
    by_name |= {path.relative_to(task.folder).as_posix(): path for path in found}

    def paths(rows: pd.DataFrame, column: str) -> list[Path | None]:
        return [by_name.get(cell) for cell in rows[column].astype(str)]

    shared = [column for column in test.columns if column in validation.columns]
    column = max(shared, key=lambda name: sum(path is not None for path in paths(test, name)))
    own = column if column in train.columns else task.train_id_columns[task.id_columns.index(column)]
    return [paths(train, own), paths(validation, column), paths(test, column)]
