"""Read the three tables, and write both submissions, with the probabilities behind labels."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.baseline.recipes.task import Task

MOST_CELLS = 20_000_000  # of probabilities; more are not written


class Tables(NamedTuple):
    """Labelled rows, and the rows to predict."""

    train: pd.DataFrame
    validation: pd.DataFrame
    test: pd.DataFrame


def read_tables(task: Task) -> Tables:
    """Read the tables with the same types in each; ids with leading zeros, such as `007`, stay text.

    Where the positive class is named, the labels of `train` are converted to 1 and 0. A label such as
    `None` or `NA` is a class, unless all other labels are numbers.
    """
    paths = [f"{task.folder}/{part}.csv" for part in Tables._fields]
    heads = [pd.read_csv(path, dtype=str, nrows=1000) for path in paths]
    ids = {*task.id_columns, *task.train_id_columns}
    padded = {
        name: str
        for head in heads
        for name in ids.intersection(head.columns)
        if head[name].str.match(r"-?0\d", na=False).any()
    }
    words = {name: str for name in task.target_columns if name in heads[0].columns}
    tables = Tables(
        *(pd.read_csv(path, dtype=padded | (words if task.positive_class else {})) for path in paths)
    )
    for path, part in zip(paths, tables, strict=True):
        restore_words(path, part, ids)
    restore_words(paths[0], tables.train, [*task.label_columns, *task.target_columns])
    for name in words if task.positive_class else ():
        label = tables.train[name].str.strip()
        tables.train[name] = (label == task.positive_class).astype(int).where(label.notna())
    return tables


def restore_words(path: str, table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Replace cells that were read as missing by their text, in columns of words: `NA` may be one.

    Where several columns are given, a blank cell stays missing.
    """
    several = len(names := {*columns}.intersection(table.columns)) > 1
    for name in names:
        if table[name].isna().any():
            text = pd.read_csv(path, usecols=[name], dtype=str, keep_default_na=False)[name]
            filled = text[table[name].notna().to_numpy()]
            if pd.to_numeric(filled, errors="coerce").isna().any() or not len(filled):
                table[name] = text.where((text.str.strip() != "") | (not several)).to_numpy()


def write_submissions(task: Task, tables: Tables, predicted: list[pd.DataFrame]) -> None:
    """Write both submissions, and the probabilities beside them, if there are any."""
    names = ("validation_submission.csv", "submission.csv")
    beside = ("validation_probabilities.csv", "test_probabilities.csv")
    for rows, found, *files in zip(tables[1:], predicted, names, beside, strict=True):
        write_predictions(task, rows[task.id_columns], found, *files)
    print(f"wrote {' and '.join(str(len(found)) for found in predicted)} rows")


def write_predictions(
    task: Task, ids: pd.DataFrame, found: pd.DataFrame, name: str, beside: str
) -> None:
    """Write ids as read and target columns to `name`; of probabilities, which go to `beside`, labels."""
    found = found.set_index(ids.index)
    if task.probabilities == "number" or (task.probabilities and [*found] != task.target_columns):
        if found.size <= MOST_CELLS:
            pd.concat([ids, found], axis=1).to_csv(beside, index=False)
        found = to_labels(task, found)
    pd.concat([ids, found[task.target_columns]], axis=1).to_csv(name, index=False)


def to_labels(task: Task, found: pd.DataFrame) -> pd.DataFrame:
    """Return the most probable classes, or the numbers rounded."""
    if task.probabilities == "number":
        return found.round().astype(int)
    best = found.to_numpy().argmax(axis=1)
    return pd.DataFrame({task.target_columns[0]: np.array(found.columns)[best]}, index=found.index)
