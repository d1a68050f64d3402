"""Read the files of rows from their list; where it is not there, match them by the same rules."""

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


ROW_FILES = "input/row_files/row_files.csv"  # the files of each row of the tables, by kind


def listed_files(task: Task, tables: Tables, endings: tuple[str, ...]) -> list[list[str]] | None:
    """Return the file of each row of train, validation and test, empty for none, by the list.

    None where there is no list, or one of other rows. Rows may be a sample, if ids differ.
    """
    if not Path(ROW_FILES).is_file():
        return None
    listed, found = pd.read_csv(ROW_FILES, dtype=str, keep_default_na=False), []
    names = [name for name in listed.columns[2:] if listed[name].str.lower().str.endswith(endings).any()]
    for part, ids in zip(Tables._fields, id_tables(task, tables), strict=True):
        own = listed[listed["part"] == part].set_index("id")
        files = own[names[0]] if names else pd.Series("", index=own.index)
        cells = ids.agg("_".join, axis=1) if ids.shape[1] > 1 else ids.iloc[:, 0]
        if len(files) != len(cells):
            if not files.index.is_unique or not cells.isin(files.index).all():
                return None
            files = files.loc[cells]
        found.append(files.tolist())
    return found


def listed_or_all_files(task: Task, tables: Tables, endings: tuple[str, ...]) -> list[str]:
    """Return the files of the rows by the list, sorted; all with these endings where a row has none.

    Where two folders may be a row's, the list names none, and a recipe looks which have answers.
    """
    listed = listed_files(task, tables, endings) or [[""]]
    found = {file for part in listed for file in part}
    return files_below(task.folder, endings) if "" in found else sorted(found)


def side_files(task: Task, tables: Tables, endings: tuple[str, ...]) -> list[list[Path | None]]:
    """Return a path (or None) for each row of train, validation and test."""
    if (listed := listed_files(task, tables, endings)) is not None:
        return [[Path(task.folder, file) if file else None for file in part] for part in listed]
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
