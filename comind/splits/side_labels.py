"""Find the public files whose values are labels of held-out rows, and remove these rows or the files."""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pandas as pd

from comind.competitions.row_files import file_kind
from comind.errors import CompetitionError
from comind.splits.label_search import Found, LabelSearch
from comind.splits.named_labels import held_out_files, table_of_names
from comind.splits.tables_in_files import (
    SideTable,
    UnreadableError,
    read_side_tables,
    shown_name,
    without_rows,
)
from comind.system.files import write_atomically
from comind.system.plurals import quantity
from comind.tables.csv_tables import read_table, write_table

_MANY = 50  # files of one suffix in a folder are documents, a row each
_SAMPLED = 2_000  # documents
_LONGEST = 200  # characters of a document's line that may be a label
_TIMES = 3  # that a file is cleaned, as it may show labels in several ways
_NAMED = 3


class FileLabels(NamedTuple):
    """A file that shows labels of held-out rows."""

    file: str
    table: SideTable | None
    """The table that does; None for documents, of which it is the whole file."""
    found: Found

    @property
    def line(self) -> str:
        """The column and the label that it shows, in words."""
        column = self.found.column.partition("\0")[0]
        return f"column {column!r} has the values of {self.found.label!r}"


def find_labels(
    search: LabelSearch, public: Path, files: Iterable[str]
) -> tuple[list[FileLabels], list[str]]:
    """Return the files that show held-out labels, and a line for those that cannot be searched."""
    found: list[FileLabels] = []
    closed: dict[str, list[str]] = defaultdict(list)
    for names in _by_folder(files).values():
        if len(names) > _MANY:
            found += _of_documents(search, public, names)
            continue
        tables: dict[str, list[SideTable]] = {}
        for name in names:
            try:
                tables[name] = read_side_tables(public / name)
            except UnreadableError as error:
                closed[str(error)].append(name)
        own = [each for name, some in tables.items() if (each := _of_tables(search, name, some))]
        found += own or _of_names(search, tables)
    lines = [
        f"not searched for held-out labels, {why}: {_listed(names)}" for why, names in closed.items()
    ]
    return found, lines


def remove_labels(public: Path, labels: FileLabels, search: LabelSearch) -> str:
    """Remove the held-out rows of a file, or the file; return what was done, as a line."""
    path, name = public / labels.file, shown_name(labels.file)
    if labels.found.of_test:
        return f"{name} stays public, as test rows have such values, too: {labels.line}"
    with contextlib.suppress(
        CompetitionError, UnreadableError, ValueError, OSError
    ):  # what cannot be cleaned goes
        for _ in range(_TIMES):
            if not _clean(path, labels):
                break
            left = _of_tables(search, labels.file, read_side_tables(path))
            if left is None or left.found.of_test:
                return f"{name}: held-out rows are removed, as its {labels.line}"
            labels = left
    path.unlink()
    return f"{name} is left out, as its {labels.line}"


def _clean(path: Path, labels: FileLabels) -> bool:
    """Write a file without held-out rows; return False if it cannot be."""
    table, found = labels.table, labels.found
    if table is None or not table.form:
        return False
    if table.whole:
        write_atomically(path, without_rows(path, table.form, found.held_out))
        return True
    if path.suffix.lower() != ".csv":
        return False
    whole = read_table(path, CompetitionError)
    write_table(whole, path, rows=~found.held_out(whole))
    return True


def _by_folder(files: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Return the files that may have tables by folder and suffix."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in sorted(files):
        path = PurePosixPath(name)
        if file_kind(name) not in ("image", "audio"):
            groups[path.parent.as_posix(), path.suffix.lower()].append(name)
    return groups


def _of_tables(search: LabelSearch, name: str, tables: Sequence[SideTable]) -> FileLabels | None:
    shown = None
    for table in tables:
        found = search.find(table.table, ordered=table.whole)
        if found is not None:
            shown = shown if shown and found.of_test else FileLabels(name, table, found)
            if not found.of_test:
                return shown
    return shown


def _of_names(search: LabelSearch, tables: dict[str, list[SideTable]]) -> Iterator[FileLabels]:
    """Yield files whose names are the labels of what they list, such as `cats.txt`."""
    alike: dict[tuple[str, ...] | int, list[tuple[str, pd.DataFrame]]] = defaultdict(list)
    for name, some in tables.items():
        for table in some[:1]:
            width = len(table.table.columns)
            columns = tuple(table.table.columns) if table.form != "delimited" or width > 1 else width
            alike[columns].append((name, table.table))
    for group in alike.values():
        if len(group) < 2:  # noqa: PLR2004 - nothing to compare
            continue
        named = [
            frame.set_axis([str(place) for place in range(len(frame.columns))], axis="columns").assign(
                **{"file name": PurePosixPath(shown_name(name)).stem}
            )
            for name, frame in group
        ]
        found = search.find(pd.concat(named, ignore_index=True), ordered=False)
        if found is not None and found.column.startswith("file name") and not found.of_test:
            yield from (FileLabels(name, None, found) for name, _ in group)


def _of_documents(search: LabelSearch, public: Path, names: Sequence[str]) -> Iterator[FileLabels]:
    """Yield the files of held-out rows, if what their like hold shows labels."""

    def table_of(some: Sequence[str]) -> pd.DataFrame:
        names = table_of_names(some)
        texts = pd.DataFrame([_document(public / name) for name in some], dtype=object).fillna("")
        return names.join(texts.rename(columns={name: f"{name} " for name in names}))

    shown = held_out_files(search, names, table_of, _SAMPLED)
    if shown is not None and shown[0].column.partition("\0")[0] != "name":
        yield from (FileLabels(name, None, shown[0]) for name in shown[1])


def _document(path: Path) -> dict[str, str]:
    """Return what a small document says: the values of a record, or its first and last line."""
    tables: list[SideTable] = []
    with contextlib.suppress(UnreadableError):
        tables = read_side_tables(path)
    if not tables:
        return {}
    first = tables[0].table
    if tables[0].form == "delimited":
        lines = [" ".join(row)[:_LONGEST] for row in (first.iloc[0], first.iloc[-1])]
        return {"first line": lines[0], "last line": lines[1]}
    if len(first) == 1:
        return {str(key): str(cell)[:_LONGEST] for key, cell in first.iloc[0].items()}
    return {}


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(map(shown_name, names[:_NAMED])) + (
        f" and {quantity(more, 'other file')}" if more > 0 else ""
    )
