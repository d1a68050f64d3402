"""Files beside the tables: kinds of them, what is in one of each, whose rows they belong to."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from comind.evaluation.data_profile.column_statistics import ColumnStatistics, alike
from comind.evaluation.data_profile.duckdb_tables import Database, Kind
from comind.evaluation.data_profile.formatting import count, plain, share, size
from comind.evaluation.data_profile.media import first_lines, look_at
from comind.evaluation.data_profile.overlaps import Partition

__all__ = ["FileKind", "file_kinds", "file_lines", "names_of_rows"]

_MOST_FOLDERS = 4
"""Of more folders beside each other none is told by its name."""
_COLUMNS_TRIED = 12
_LINES_OF_MANY, _LINES_OF_ONE = 3, 6
_LEAST_FILES = 0.01
"""A column names files where it names more than this share of a kind."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """Files in one folder, or in folders beside each other, with one ending."""

    folder: str
    """Relative to the public folder, empty for that itself; a star stands for any of many names."""
    ending: str
    paths: tuple[str, ...]
    """Relative to the public folder, in order."""
    bytes: int

    @property
    def name(self) -> str:
        """A file's path, or a pattern for several."""
        if len(self.paths) == 1:
            return plain(self.paths[0])
        return plain(f"{self.folder}/*{self.ending}")

    @property
    def line(self) -> str:
        """How many there are, and how large."""
        files = f"{count(len(self.paths))} files, " if len(self.paths) > 1 else ""
        return f"{self.name}: {files}{size(self.bytes)}"


def file_kinds(public: Path, leave_out: Iterable[str]) -> list[FileKind]:
    """Return the files below a public folder by kind, but for some at its top."""
    sizes = dict(_walk(public))
    folders: dict[PurePosixPath, set[str]] = defaultdict(set)
    for path in sizes:
        parents = PurePosixPath(path).parents
        for folder in parents:
            folders[folder.parent].add(folder.name)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(set(sizes) - set(leave_out)):
        pure = PurePosixPath(path)
        at_top = "" if len(pure.parts) > 1 else pure.name  # each file at the top stands for itself
        starred = [
            "*" if len(folders[PurePosixPath(*pure.parts[:depth])]) > _MOST_FOLDERS else part
            for depth, part in enumerate(pure.parts[:-1])
        ]
        found["/".join(starred) or at_top, pure.suffix].append(path)
    return [
        FileKind(
            "" if folder == paths[0] else folder, ending, tuple(paths), sum(sizes[p] for p in paths)
        )
        for (folder, ending), paths in found.items()
    ]


def _walk(public: Path) -> Iterator[tuple[str, int]]:
    for folder, names, files in os.walk(public):
        names.sort()
        for name in files:
            path = Path(folder, name)
            if path.is_file():
                yield path.relative_to(public).as_posix(), path.stat().st_size


def file_lines(public: Path, kind: FileKind, rows: str) -> list[str]:
    """Return what files of a kind are, what is in them, and how one begins.

    Args:
        public: the folder that they lie below.
        kind: the files.
        rows: whose rows they belong to, in words; may be empty.
    """
    paths = [public / path for path in kind.paths]
    many = len(paths) > 1
    lines = [", ".join(filter(None, (kind.line, look_at(paths))))]
    if rows:
        lines.append(f"  {rows}")
    elif many:
        lines.append(f"  such as {plain(kind.paths[0])}")
    if begins := first_lines(paths[0], _LINES_OF_MANY if many else _LINES_OF_ONE):
        lines.append(f"  {plain(kind.paths[0]) if many else 'it'} begins:")
        lines += [f"    {line}" for line in begins]
    return lines


def names_of_rows(
    database: Database, kinds: Sequence[FileKind], parts: Sequence[Partition], ids: Sequence[str]
) -> dict[int, str]:
    """Return how rows name their files, by the kinds' numbers; no kind that no column names.

    A file may bear a cell as its path, its name, its name without ending, a part of that, or the name of
    a folder around it.

    Raises:
        CompetitionError: there is no room for what that takes.
    """
    pairs = [
        (number, path.encode("utf-8", "replace").decode())  # a name may be any bytes
        for number, kind in enumerate(kinds)
        for path in kind.paths
    ]
    if not pairs:
        return {}
    database.put("files", pd.DataFrame(pairs, columns=["kind", "path"]))
    database.ask(_READINGS)
    found: dict[tuple[int, str, str], dict[str, int]] = defaultdict(dict)
    named: dict[tuple[int, str, str], int] = defaultdict(int)
    for part in parts:
        for name in _candidates(part, ids):
            key = part.facts[name].column.key
            for kind, how, rows, words in database.ask(
                "SELECT kind, how, count(*), count(DISTINCT word) FROM "
                f"{part.table.key} JOIN words ON {key}::VARCHAR = word GROUP BY kind, how"
            ):
                found[kind, name, how][part.name] = rows
                named[kind, name, how] += words
    best: dict[int, str] = {}
    order = list(_HOW)
    ranked = sorted(named, key=lambda k: (-named[k], order.index(k[2]), k[1] not in ids, k[1]))
    for kind, name, how in ranked:
        if kind not in best and named[kind, name, how] > _LEAST_FILES * len(kinds[kind].paths):
            told = _HOW[how].format(column=plain(name), ending=kinds[kind].ending)
            shares = ", ".join(
                f"{share(found[kind, name, how].get(part.name, 0), part.table.rows)} of {part.name} rows"
                for part in parts
            )
            best[kind] = f"{told}: {shares}"
    return best


def _candidates(part: Partition, ids: Sequence[str]) -> list[str]:
    """Return the columns of a part whose cells may name files, ids first."""
    columns = {facts.column.key: name for name, facts in part.facts.items()}
    single = [
        group[0].key for group in alike([f.column for f in part.facts.values()]) if len(group) == 1
    ]
    names = [columns[key] for key in single]
    names = [name for name in names if name in ids or _may_name(part.facts[name])]
    return sorted(names, key=lambda name: name not in ids)[:_COLUMNS_TRIED]


def _may_name(facts: ColumnStatistics) -> bool:
    return facts.column.kind in (Kind.TEXT, Kind.WHOLE) and facts.distinct > 1


_HOW = {
    "path": "column {column} holds their paths",
    "name": "column {column} holds their names",
    "stem": "named <{column}>{ending}",
    "number": "named <{column}>{ending}, with zeros in front",
    "first": "named <{column}>_...{ending}",
    "before": "named <{column}>_...{ending}, up to the last mark",
    "after": "named ..._<{column}>{ending}",
    "folder": "in folders named <{column}>/",
}
_READINGS = r"""
CREATE TABLE words AS
WITH named AS (SELECT kind, path, split_part(path, '/', -1) AS name FROM files),
stems AS (SELECT *, regexp_replace(name, '\.[^.]*$', '') AS stem FROM named)
SELECT DISTINCT * FROM (
    SELECT kind, 'path' AS how, path AS word FROM stems
    UNION ALL SELECT kind, 'name', name FROM stems
    UNION ALL SELECT kind, 'stem', stem FROM stems
    UNION ALL SELECT kind, 'number', ltrim(stem, '0') FROM stems WHERE regexp_matches(stem, '^0\d+$')
    UNION ALL SELECT kind, 'first', regexp_extract(stem, '^(.*?)[-_. ]', 1) FROM stems
    UNION ALL SELECT kind, 'before', regexp_extract(stem, '^(.*)[-_. ]', 1) FROM stems
    UNION ALL SELECT kind, 'after', regexp_extract(stem, '.*[-_. ](.*)$', 1) FROM stems
    UNION ALL SELECT kind, 'folder', unnest(string_split(path, '/')[:-2]) FROM stems
) WHERE word <> ''
"""
