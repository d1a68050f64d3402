"""List the file of each row of train, validation and test: `row_files.csv`.

part,id,image,audio,text,other    a line for each row, in the order of the tables
train,7,train/7.png,,,

Only kinds of files that rows have are columns; files are relative to the public folder. Ids of several
columns are joined by `_`. Without any file of a row, there is the header `part,id` alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from comind.competitions.row_files import (
    FILE_KINDS,
    FileColumn,
    FileIndex,
    RowFiles,
    file_kind,
    find_file_column,
    list_files,
)
from comind.domain.problem import ROW_PARTS
from comind.errors import CompetitionError
from comind.tables.csv_tables import read_header, read_table, write_table

ROW_FILES = "row_files.csv"
TABLES_OR_PAGES = (".csv", ".tsv", ".md", ".json", ".yaml")
_FRACTION = r"-?\d*\.\d+(e-?\d+)?"
_SAMPLE = 1_000  # rows, of which one has to name a file
_MOST_ROWS = 2_000_000  # whose cells are cut
_LEAST = 0.1  # of the labelled or of the test rows; fewer name a file by accident


def find_files_of_rows(
    files: Iterable[str], labelled: pd.DataFrame, test: pd.DataFrame, *, beginnings: bool = False
) -> dict[str, FileColumn]:
    """Return the column that names rows' files, and these, for each kind of files that one names.

    `files` are relative to the public folder, the tables have text cells and the same columns. A column
    of measurements, such as 0.7, names none. With `beginnings`, cells may begin with a name, as those of
    masks (`<image>_<class>`) and of pixels (`<image>_<row>_<column>`), where none is one.
    """
    by_kind: dict[str, list[str]] = {}
    for file in files:
        if _may_be_of_a_row(file):
            by_kind.setdefault(file_kind(file) or "other", []).append(file)
    heads = pd.concat([labelled.head(_SAMPLE), test.head(_SAMPLE)]) if by_kind else test.head(0)
    names = [str(name) for name in heads if not heads[name].str.fullmatch(_FRACTION).any()]
    deepest = 2 if beginnings and len(labelled) + len(test) <= _MOST_ROWS else 0
    found: dict[str, FileColumn] = {}
    for kind in sorted(by_kind, key=[*FILE_KINDS, "other"].index):
        index = FileIndex(by_kind[kind])
        for parts_left_out in range(deepest + 1):
            column = _find(index, names, heads, labelled, test, parts_left_out)
            if column is not None and max(_shares(column, labelled, test)) >= _LEAST:
                found[kind] = column
                break
    return found


def _find(
    index: FileIndex,
    names: Sequence[str],
    heads: pd.DataFrame,
    labelled: pd.DataFrame,
    test: pd.DataFrame,
    left_out: int,
) -> FileColumn | None:
    """Return the column whose cells, without so many parts at their end, name files."""

    def cut(cells: "pd.Series[str]") -> list[str]:
        return [cell.rsplit("_", left_out)[0] for cell in cells] if left_out else cells.tolist()

    if left_out:
        names = [name for name in names if heads[name].str.contains("_", regex=False).any()]
    naming = [name for name in names if index.candidates(cut(heads[name]))]
    cells = [{name: cut(rows[name]) for name in naming} for rows in (labelled, test)]
    column = find_file_column(index, *cells)
    if column is None or not left_out:
        return column
    named = column.files
    of_train, of_test = (
        {
            cell: of[name]
            for cell, name in zip(rows[column.name], own[column.name], strict=True)
            if name in of
        }
        for rows, own, of in zip((labelled, test), cells, (named.train, named.test), strict=True)
    )
    return FileColumn(column.name, RowFiles(of_train, of_test, named.ambiguous))


def _shares(column: FileColumn, labelled: pd.DataFrame, test: pd.DataFrame) -> tuple[float, float]:
    """Return the shares of the labelled and of the test rows that have a file."""
    of_train, of_test = column.files.train, column.files.test
    return labelled[column.name].isin(of_train).mean(), test[column.name].isin(of_test).mean()


def _may_be_of_a_row(file: str) -> bool:
    """Return whether a file may be one of a row: a document at the top is one of all rows."""
    return "/" in file or not file.lower().endswith(TABLES_OR_PAGES)


def write_row_files(
    public: Path, ids: Sequence[str], train_ids: Sequence[str], target: Path, *, empty: bool = True
) -> None:
    """Write the list of the files in `public` that rows of its tables have; no others are named.

    `train_ids` are the id columns by their names in train.csv. Where no row has a file, the list has a
    header alone or, without `empty`, is removed.

    Raises:
        CompetitionError: a table cannot be read.
    """
    files = list_files(public)
    listed = pd.DataFrame(columns=["part", "id"])
    if any(map(_may_be_of_a_row, files)):
        parts = _read_parts(public, dict(zip(train_ids, ids, strict=True)))
        labelled = pd.concat([rows for part, rows in parts.items() if part != "test"])
        if found := find_files_of_rows(files, labelled, parts["test"], beginnings=True):
            listed = pd.concat([_lines(part, parts[part], ids, found) for part in parts])
    if listed.empty and not empty:
        target.unlink(missing_ok=True)
    else:
        write_table(listed, target)


RowFileCounts = Mapping[str, Mapping[str, tuple[int, int]]]
"""Of each kind of files and each part the rows that have such a file, and all rows."""


def count_row_files(listed: Path) -> RowFileCounts:
    """Return how many rows have files by a list."""
    rows = pd.read_csv(listed, dtype=str, keep_default_na=False)
    return {
        str(kind): {
            str(part): (int((files != "").sum()), len(files))
            for part, files in rows.groupby("part", sort=False)[kind]
        }
        for kind in rows.columns[2:]
    }


def _read_parts(public: Path, names: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    """Return the tables of the parts with the names that test.csv has, as far as it has them."""
    asked = read_header(public / "test.csv")
    parts = {}
    for part in (name for name in ROW_PARTS if (public / f"{name}.csv").is_file()):
        rows = read_table(public / f"{part}.csv", CompetitionError)
        if part == "train":
            rows = rows.rename(columns={name: new for name, new in names.items() if new not in rows})
        parts[part] = rows
    shared = [name for name in asked if all(name in rows.columns for rows in parts.values())]
    return {part: rows[shared] for part, rows in parts.items()}


def _lines(
    part: str, rows: pd.DataFrame, ids: Sequence[str], found: Mapping[str, FileColumn]
) -> pd.DataFrame:
    own = [rows[name] for name in ids if name in rows.columns]
    joined = pd.concat(own, axis="columns").agg("_".join, axis="columns") if own else ""
    named = {
        kind: (each.files.test if part == "test" else each.files.train) for kind, each in found.items()
    }
    files = {
        kind: [named[kind].get(cell, "") for cell in rows[each.name]] for kind, each in found.items()
    }
    return pd.DataFrame({"part": part, "id": joined, **files})
