"""Group side files by folder and suffix, describe each group, and match files to table rows."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pandas as pd

from comind.competitions.row_files import part_of
from comind.domain.value import replace_surrogates
from comind.profile import formatting as fmt
from comind.profile.column_statistics import ColumnStats, similar
from comind.profile.duckdb_tables import ColumnType, Database
from comind.profile.overlaps import Partition

_MOST_FOLDERS = 4
"""More sibling folders than this are shown as `*`."""
_COLUMNS_TRIED = 12
_LEAST_FILES = 0.01
"""Minimum share of a group's files that a column must name."""


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files with one suffix in one folder, or in sibling folders."""

    folder: str
    """Relative to the public folder, empty for that folder itself; `*` matches any name."""
    ending: str
    paths: tuple[str, ...]
    """Relative to the public folder, sorted."""
    bytes: int

    @property
    def name(self) -> str:
        """The path of a single file, or a glob pattern."""
        if len(self.paths) == 1:
            return fmt.line(self.paths[0])
        return fmt.line(f"{self.folder}/*{self.ending}")


@dataclass(frozen=True, slots=True)
class RowMatch:
    """The column that names the files of a group."""

    column: str
    how: str
    """What of a file's path it names: one of `_HOW`."""
    parts: dict[str, tuple[int, int]]
    """Of each table the rows that name a file, and all rows."""


def group_files(public: Path, leave_out: Iterable[str]) -> list[FileGroup]:
    """Return the files below a public folder in groups, except those in `leave_out`."""
    sizes = dict(_walk(public))
    folders: dict[PurePosixPath, set[str]] = defaultdict(set)
    for path in sizes:
        for folder in PurePosixPath(path).parents[:-1]:
            folders[folder.parent].add(folder.name)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(set(sizes) - set(leave_out)):
        pure = PurePosixPath(path)
        at_top = "" if len(pure.parts) > 1 else pure.name  # files at the top form no groups
        starred = [
            "*" if len(folders[PurePosixPath(*pure.parts[:depth])]) > _MOST_FOLDERS else part
            for depth, part in enumerate(pure.parts[:-1])
        ]
        found["/".join(starred) or at_top, pure.suffix].append(path)
    return [
        FileGroup(
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


def match_rows_to_files(
    database: Database, groups: Sequence[FileGroup], parts: Sequence[Partition], ids: Sequence[str]
) -> dict[int, RowMatch]:
    """Find the column that names the files of each group, keyed by the group's index.

    A cell matches a file's path, its name, its stem, a prefix or suffix of the stem, or the name of a
    parent folder. Files below a folder of train or test are not counted for rows of the other part that
    have files of their own. Groups that no column names are left out.

    Raises:
        CompetitionError: memory or disk space ran out.
    """
    pairs = [
        (number, replace_surrogates(path))  # a name may be any bytes
        for number, group in enumerate(groups)
        for path in group.paths
    ]
    if not pairs:
        return {}
    database.create_table("files", pd.DataFrame(pairs, columns=["number", "path"]))
    database.query(_NAME_PARTS_QUERY)
    matches: list[_Match] = []
    for part in parts:
        for name in _candidates(part, ids):
            key = part.stats[name].key
            for number, how, rows, words in database.query(
                "SELECT number, how, count(*), count(DISTINCT word) FROM "
                f"{part.table.key} JOIN words ON {key}::VARCHAR = word GROUP BY number, how"
            ):
                matches.append(_Match(number, name, how, part.name, rows, words))
    found: dict[tuple[int, str, str], dict[str, int]] = defaultdict(dict)
    named: dict[tuple[int, str, str], int] = defaultdict(int)
    for match in _of_own_part(matches, [part_of(group.folder) for group in groups]):
        found[match[:3]][match.part] = match.rows
        named[match[:3]] += match.words
    best: dict[int, RowMatch] = {}
    ranked = sorted(named, key=lambda k: (-named[k], _HOW.index(k[2]), k[1] not in ids, k[1]))
    for number, name, how in ranked:
        if number not in best and named[number, name, how] > _LEAST_FILES * len(groups[number].paths):
            counts = found[number, name, how]
            shares = {part.name: (counts.get(part.name, 0), part.table.rows) for part in parts}
            best[number] = RowMatch(name, how, shares)
    return best


class _Match(NamedTuple):
    """A column of one table that names files of a group."""

    group: int
    column: str
    how: str
    part: str
    """The name of the table."""
    rows: int
    words: int
    """The different cells that name a file."""


def _of_own_part(matches: Sequence[_Match], parts: Sequence[str]) -> list[_Match]:
    """Leave out groups of the other part where rows have files of their own; `parts` are by group."""

    def side(match: _Match) -> str:
        return "test" if match.part == "test" else "train"

    own = {match[1:4] for match in matches if parts[match.group] == side(match)}
    return [
        match for match in matches if parts[match.group] in ("", side(match)) or match[1:4] not in own
    ]


def _candidates(part: Partition, ids: Sequence[str]) -> list[str]:
    """Return the columns whose cells may name files, ids first, at most `_COLUMNS_TRIED`."""
    by_key = {stats.key: name for name, stats in part.stats.items()}
    single = (by_key[group[0].key] for group in similar(part.stats.values()) if len(group) == 1)
    names = [name for name in single if name in ids or _may_name(part.stats[name])]
    return sorted(names, key=lambda name: name not in ids)[:_COLUMNS_TRIED]


def _may_name(stats: ColumnStats) -> bool:
    return stats.type in (ColumnType.TEXT, ColumnType.INTEGER) and stats.distinct > 1


_HOW = ("path", "name", "stem", "number", "first", "before", "after", "folder")
_NAME_PARTS_QUERY = r"""
CREATE TABLE words AS
WITH named AS (SELECT number, path, split_part(path, '/', -1) AS name FROM files),
stems AS (SELECT *, regexp_replace(name, '\.[^.]*$', '') AS stem FROM named)
SELECT DISTINCT * FROM (
    SELECT number, 'path' AS how, path AS word FROM stems
    UNION ALL SELECT number, 'name', name FROM stems
    UNION ALL SELECT number, 'stem', stem FROM stems
    UNION ALL SELECT number, 'number', ltrim(stem, '0') FROM stems WHERE regexp_matches(stem, '^0\d+$')
    UNION ALL SELECT number, 'first', regexp_extract(stem, '^(.*?)[-_. ]', 1) FROM stems
    UNION ALL SELECT number, 'before', regexp_extract(stem, '^(.*)[-_. ]', 1) FROM stems
    UNION ALL SELECT number, 'after', regexp_extract(stem, '.*[-_. ](.*)$', 1) FROM stems
    UNION ALL SELECT number, 'folder', unnest(string_split(path, '/')[:-2]) FROM stems
) WHERE word <> ''
"""
