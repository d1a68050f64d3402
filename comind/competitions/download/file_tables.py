"""Write the tables of competitions whose rows are files, and the column that names each row's file."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

from comind.competitions.download.file_labels import (
    FileRow,
    FileRows,
    files_of_all_rows,
    find_file_rows,
)
from comind.competitions.download.findings import Finding
from comind.competitions.row_files import file_kind
from comind.metrics.parsing import are_number_lists
from comind.system.plurals import quantity
from comind.tables.table_files import cells, header, is_sample, tables_of, write_rows

FILE_COLUMN = "file"
"""Column of paths relative to public/."""


def add_file_tables(public: Path) -> list[Finding]:
    """Write train.csv and test.csv where labels are folders or names of files; train files are renamed.

    An existing sample submission has to ask for the test files; without one, one is made.
    """
    tables = tables_of(public)
    samples = [path for path in tables if is_sample(path)]
    if len(tables) > len(samples) or len(samples) > 1:
        return []
    rows = find_file_rows(_media(public))
    if rows is None or not rows.test:
        return []
    names, test = ["id", "label"], list(rows.test)
    if samples:
        names = tables[samples[0]]
        test = _asked_for(rows, [cell for (cell,) in cells(samples[0], names[:1])])
        if len(test) != len(rows.test):
            return []
    label = names[1] if len(names) == 2 else "label"  # noqa: PLR2004 - an id and a target
    _rename(public, rows)
    train = ((row.id, row.name, row.label) for row in rows.train)
    write_rows(public / "train.csv", [names[0], FILE_COLUMN, label], train)
    write_rows(public / "test.csv", [names[0], FILE_COLUMN], ((row.id, row.name) for row in test))
    if not samples:
        usual = rows.train[0].label
        write_rows(public / "sample_submission.csv", names, ((row.id, usual) for row in test))
    return [Finding(topic="train", text=f"{rows.reason}; files are numbered here, as names show labels")]


def add_file_column(public: Path, ids: dict[str, str]) -> list[Finding]:
    """Add the path of each row's file to train.csv and test.csv, where ids are names of files.

    `ids` is the id column of train.csv and of test.csv. Nothing is done where a cell is a path already.
    """
    media = _media(public)
    if not media:
        return []
    paths = {public / table: name for table, name in ids.items()}
    if any(FILE_COLUMN in header(path) or _name_files(path, media) for path in paths):
        return []
    values = [[cell for (cell,) in cells(path, [name])] for path, name in paths.items()]
    found = files_of_all_rows(media, *values)
    if found is None:
        return []
    for path, own, files in zip(paths, values, (found.train, found.test), strict=True):
        names = header(path)
        rows = ((*row, files[cell]) for row, cell in zip(cells(path, names), own, strict=True))
        write_rows(path, [*names, FILE_COLUMN], rows)
    return [Finding(topic="files", text=f"ids name files: their paths are the column {FILE_COLUMN!r}")]


def add_files_without_rows(
    public: Path, ids: Sequence[str], labels: Sequence[str], targets: Sequence[str]
) -> list[Finding]:
    """Add a row without labels for each train file that has none, where labels list boxes or masks.

    Such a file has no object. `ids` are the id columns of train.csv. Where other columns describe the
    files, and where labels are of another kind, the files are only reported.
    """
    train = public / "train.csv"
    names, tested = header(train), header(public / "test.csv")
    if FILE_COLUMN not in names or FILE_COLUMN not in tested or len(ids) > 1:
        return []
    own, asked = (
        {cell for (cell,) in cells(path, [FILE_COLUMN])} for path in (train, public / "test.csv")
    )
    places = {PurePosixPath(file).parent for file in own} - {
        PurePosixPath(file).parent for file in asked
    }
    suffixes = {PurePosixPath(file).suffix for file in own}
    media = [file for file in _media(public) if file.parent in places and file.suffix in suffixes]
    other = [file for file in media if file.as_posix() not in own]
    if not other:
        return []
    text = f"{quantity(len(other), 'file')} have no row in train.csv, such as {other[0]}"
    known = {cell for name in labels if name in targets for (cell,) in cells(train, [name])}
    described = set(tested) - {*ids, FILE_COLUMN}
    if described or not are_number_lists(known):
        return [Finding(topic="files", text=text)]
    first = next(cells(train, [ids[0], FILE_COLUMN]))
    whole = first[0].endswith(PurePosixPath(first[1]).suffix)
    added = ({ids[0]: file.name if whole else file.stem, FILE_COLUMN: file.as_posix()} for file in other)
    rows = chain(cells(train, names), ([row.get(name, "") for name in names] for row in added))
    write_rows(train, names, rows)
    return [Finding(topic="files", text=f"{text}: they have one without labels now")]


def _name_files(table: Path, media: Iterable[PurePosixPath]) -> bool:
    """Return whether a cell of the first row is the path of a file."""
    paths = {path.as_posix() for path in media}
    return bool(paths & set(next(cells(table, header(table)), ())))


def _media(public: Path) -> list[PurePosixPath]:
    paths = (PurePosixPath(path.relative_to(public)) for path in public.rglob("*") if path.is_file())
    return sorted(path for path in paths if file_kind(str(path)))


def _asked_for(rows: FileRows, ids: Sequence[str]) -> list[FileRow]:
    """Return the test rows in the order of the sample's ids, under these ids."""
    by_path = {row.path.as_posix(): row for row in rows.test}
    found = files_of_all_rows([row.path for row in rows.test], (), ids)
    named = {name: by_path[file] for name, file in found.test.items()} if found else {}
    return [FileRow(name, row.path, row.name) for name, row in named.items()]


def _rename(public: Path, rows: FileRows) -> None:
    """Give the train files their new names; folders that are empty then are removed."""
    staged = public / ".numbered"
    for row in rows.train:
        target = staged / row.name
        target.parent.mkdir(parents=True, exist_ok=True)
        (public / row.path).rename(target)
    for folder in sorted((path for path in public.rglob("*") if path.is_dir()), reverse=True):
        if staged not in (folder, *folder.parents) and not any(folder.iterdir()):
            folder.rmdir()
    for row in rows.train:
        target = public / row.name
        target.parent.mkdir(parents=True, exist_ok=True)
        (staged / row.name).rename(target)
    for folder in (*(path for path in staged.iterdir()), staged):
        folder.rmdir()
