"""Profile a public folder as text for a prompt, in sections; all rows of all tables are counted."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from comind.competitions.row_file_list import ROW_FILES, RowFileCounts, count_row_files
from comind.domain.problem import ROW_FILES_AT
from comind.errors import CompetitionError
from comind.profile.column_statistics import (
    VALUES_AT_ONCE,
    ColumnStats,
    compute_statistics,
    similar,
)
from comind.profile.duckdb_tables import TABLE_ENDINGS, Database, Table
from comind.profile.formatting import lines, title
from comind.profile.media import first_lines, sample_media, sample_text
from comind.profile.overlaps import Partition, find_links, find_overlaps
from comind.profile.side_files import FileGroup, group_files, match_rows_to_files
from comind.profile.text_budget import Section, TokenCounter, fit_sections
from comind.splits.rule import Rule
from comind.splits.split_folder import Split
from comind.system.temporary_folders import scratch_folder
from comind.tables.csv_tables import read_header

_LEGEND = "numbers: least | 1 25 50 75 99 % quantiles | greatest"
_SAMPLES = ("sample_submission.csv", "sample_validation_submission.csv")
_EXCLUDED = ("description.md",)
_PARTS = ("train", "validation", "test")
_SIDE_TABLES = 12
_MOST_TABLES = 3
"""Groups with more tables are described as files, not table by table."""
_LINES_OF_MANY, _LINES_OF_ONE = 3, 6
_TOKENS = 4_000
"""Default budget of a profile within a prompt."""


def profile_data(
    public: Path,
    split: Split | None = None,
    *,
    row_files: Path | None = None,
    count_tokens: TokenCounter,
    tokens: int = _TOKENS,
) -> str:
    """Profile the files in a public folder as text for a prompt.

    Deterministic for the same files and version of DuckDB. Unreadable files are listed with the reason.

    Args:
        public: the folder; no other file is read.
        split: how the folder was made; None if there is no split yet.
        row_files: the list of the files of its rows, which is named where rows have some.
        count_tokens: estimates the number of tokens of a text.
        tokens: maximum length of the text; beyond it, columns are abbreviated, then lines omitted.
    """
    with scratch_folder("f") as scratch, closing(Database(scratch)) as database:
        listed = count_row_files(row_files) if row_files and row_files.is_file() else {}
        found = _DataProfile(database, public, split, listed).sections()
        return fit_sections(found, tokens, count_tokens)


@dataclass(frozen=True, slots=True)
class _LoadedTable:
    """A loaded table with its statistics, or the reason why it could not be loaded."""

    name: str
    bytes: int
    table: Table | None
    stats: tuple[ColumnStats, ...] = ()
    failure: str = ""

    @property
    def sampled(self) -> int:
        """The number of rows that quantiles are of; 0 if they are of all."""
        return VALUES_AT_ONCE if self.table and self.table.rows > VALUES_AT_ONCE else 0

    @property
    def groups(self) -> list[tuple[ColumnStats, ...]]:
        """Statistics of its columns, grouped by similarity."""
        return similar(self.stats)


class _DataProfile:
    def __init__(
        self, database: Database, public: Path, split: Split | None, listed: RowFileCounts
    ) -> None:
        self._listed = listed
        self._database = database
        self._public = public
        self._split = split
        self._labels = split.label_columns if split else ()
        self._ids = split.train_id_columns if split else ()
        self._read = {
            name: self._load(f"{name}.csv") for name in _PARTS if (public / f"{name}.csv").is_file()
        }
        parts = [self._part(name, read) for name, read in self._read.items()]
        self._parts = [part for part in parts if part]
        self._others = [part for part in self._parts if part.name != "train"]
        self._train = next((part for part in self._parts if part.name == "train"), None)
        kinds = group_files(public, {*_EXCLUDED, *_SAMPLES, *(f"{name}.csv" for name in _PARTS)})
        self._side = [kind for kind in kinds if _is_tables(kind)][:_SIDE_TABLES]
        self._kinds = [kind for kind in kinds if kind not in self._side]

    def sections(self) -> list[Section]:
        side = [self._side_table(path) for kind in self._side for path in kind.paths]
        return [
            Section("", self._overview(), 0.2),
            Section("", self._held_out(), 0.08),
            Section("Labels in train.csv", self._label_lines(), 0.12),
            Section("Train beside validation and test", self._overlaps(), 0.15),
            self._columns(),
            Section("Folders and other files", self._files(), 0.12),
            *(Section("", found, 0.08 / len(side)) for found in side),
        ]

    def _load(self, name: str) -> _LoadedTable:
        """Load a table and compute its statistics; failures are recorded, not raised."""
        path = self._public / name
        size = path.stat().st_size
        try:
            table = self._database.load(path)
            counted = compute_statistics(self._database, table, (*self._labels, *self._ids))
            return _LoadedTable(name, size, table, counted)
        except CompetitionError as error:
            return _LoadedTable(name, size, None, failure=str(error))

    def _part(self, name: str, read: _LoadedTable) -> Partition | None:
        """Return a partition, its ids renamed as in train.csv."""
        if read.table is None:
            return None
        called = {}
        if self._split and name != "train":
            called = dict(zip(self._split.id_columns, self._split.train_id_columns, strict=True))
        stats = {called.get(each.name, each.name): each for each in read.stats}
        return Partition(name, read.table, stats)

    def _overview(self) -> list[str]:
        """Summarise each file or group of files, and list the columns of train.csv."""
        samples = [name for name in _SAMPLES if (self._public / name).is_file()]
        columns: dict[str, list[str]] = {}
        for group in self._read["train"].groups if self._train else []:
            columns.setdefault(str(group[0].type), []).append(title(group))
        return lines(
            "overview",
            parts=self._read.values(),
            split=self._split,
            samples=samples,
            sample_columns=read_header(self._public / samples[0]) if samples else (),
            sample_rows=first_lines(self._public / samples[0], 2)[1:] if samples else (),
            groups=[*self._side, *self._kinds],
            columns=columns,
        )

    def _held_out(self) -> list[str]:
        split = self._split
        return lines("split", split=split, rule=Rule.of(split.rule)) if split else []

    def _label_lines(self) -> list[str]:
        stats = self._train.stats if self._train else {}
        found = [stats[name] for name in self._labels if name in stats]
        return lines("column_lines", form="label", groups=[(group, {}) for group in similar(found)])

    def _overlaps(self) -> list[str]:
        if self._train is None or not self._others:
            return []
        try:
            found = find_overlaps(self._database, self._train, self._others, self._ids, self._labels)
        except CompetitionError as error:
            return [f"could not be counted ({error})"]
        return lines("overlaps", found=found)

    def _columns(self) -> Section:
        """Describe the feature columns of train.csv, with differences in the other partitions."""
        found = self._read["train"].groups if self._train else []
        groups = []
        for group in found:
            name = group[0].name
            if name not in self._labels:
                own = name in self._ids and not group[0].type.is_time
                others = {p.name: p.stats[name] for p in self._others if not own and name in p.stats}
                groups.append((group, others))
        full, brief = (lines("column_lines", form=form, groups=groups) for form in ("full", "brief"))
        return Section(f"Columns of train.csv ({_LEGEND})", full, 0.25, brief)

    def _files(self) -> list[str]:
        try:
            matches = match_rows_to_files(self._database, self._kinds, self._parts, self._ids)
        except CompetitionError as error:
            return [f"could not be counted ({error})"]
        found = []
        for at, group in enumerate(self._kinds):
            paths = [self._public / path for path in group.paths]
            most = _LINES_OF_MANY if len(paths) > 1 else _LINES_OF_ONE
            text = sample_text(self._public, group.paths, most)
            found.append((group, sample_media(paths), matches.get(at), text))
        listed_at = f"{ROW_FILES_AT}/{ROW_FILES}"
        return lines("side_files", groups=found, listed=self._listed, listed_at=listed_at)

    def _side_table(self, path: str) -> list[str]:
        """Describe a side table, and which columns join it to the partitions."""
        read = self._load(path)
        if read.table is None:
            begins = first_lines(self._public / path, _LINES_OF_MANY)
            return lines("side_table", read=read, begins=begins, links=(), split=None)
        side = Partition("side", read.table, {stats.name: stats for stats in read.stats})
        try:
            links = find_links(self._database, self._parts, side)
        except CompetitionError:
            links = []
        self._database.drop(read.table)
        return lines("side_table", read=read, begins=(), links=links, split=None)


def _is_tables(group: FileGroup) -> bool:
    """Return whether files are tables to be described one by one."""
    return group.ending.lower() in TABLE_ENDINGS and len(group.paths) <= _MOST_TABLES
