"""Match side files to table rows by the column that names most of them, usually the id."""

from pathlib import Path

import pandas as pd

from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.competitions.row_files import FileIndex, find_file_column


def files_below(folder: str, endings: tuple[str, ...]) -> list[str]:
    """Return the files with one of `endings`, sorted, relative to the folder."""
    paths = (path for path in Path(folder).rglob("*") if path.suffix.lower() in endings)
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def files_by_folder(files: list[str]) -> list[list[str]]:
    """Return files in lists, one for each folder."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folders.setdefault(file.rpartition("/")[0], []).append(file)
    return [*folders.values()]


def id_tables(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return the ids of train, validation and test as text, under their names in test."""
    named = dict(zip(task.train_id_columns, task.id_columns, strict=True))
    train = tables.train[task.train_id_columns].rename(columns=named)
    return [rows[task.id_columns].astype(str) for rows in (train, *tables[1:])]


def side_files(task: Task, tables: Tables, endings: tuple[str, ...]) -> list[list[Path | None]]:
    """Return a path (or None) for each row of train, validation and test."""
    ids = dict(zip(task.train_id_columns, task.id_columns, strict=True))
    train, validation, test = tables
    own = train.rename(columns={name: ids[name] for name in ids if ids[name] not in train})
    shared = [str(name) for name in test.select_dtypes(exclude="float") if name in validation]
    parts = [
        {name: rows[name].astype(str).tolist() for name in shared} for rows in (own, validation, test)
    ]
    labelled = {name: parts[0][name] + parts[1][name] for name in shared}
    found = find_file_column(FileIndex(files_below(task.folder, endings)), labelled, parts[2])
    if found is None:
        return [[None] * len(rows) for rows in tables]
    column, files, folder = found.name, found.files, Path(task.folder)
    return [
        [folder / named[cell] if cell in named else None for cell in part[column]]
        for part, named in zip(parts, (files.train, files.train, files.test), strict=True)
    ]
