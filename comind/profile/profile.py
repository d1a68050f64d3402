"""Profile a public folder as text for a prompt, in sections; all rows of all tables are counted."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from comind.errors import CompetitionError
from comind.profile import formatting as fmt
from comind.profile.column_lines import brief_line, full_line, label_lines, names_by_type
from comind.profile.column_statistics import (
    VALUES_AT_ONCE,
    ColumnStats,
    compute_statistics,
    similar,
)
from comind.profile.duckdb_tables import TABLE_ENDINGS, Database, Table
from comind.profile.media import first_lines
from comind.profile.overlaps import Partition, link_lines, overlap_lines
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
_NAMES_LENGTH, _ROW_LENGTH, _SAMPLE_NAMES, _LINES_SHOWN = 1_500, 80, 8, 3
_TOKENS = 4_000
"""Default budget of a profile within a prompt."""


def profile_data(
    public: Path, split: Split | None = None, *, count_tokens: TokenCounter, tokens: int = _TOKENS
) -> str:
    """Profile the files in a public folder as text for a prompt.

    Deterministic for the same files and version of DuckDB. Unreadable files are listed with the reason.

    Args:
        public: the folder; no other file is read.
        split: how the folder was made; None if there is no split yet.
        count_tokens: estimates the number of tokens of a text.
        tokens: maximum length of the text; beyond it, columns are abbreviated, then lines omitted.
    """
    with scratch_folder("f") as scratch, closing(Database(scratch)) as database:
        return fit_sections(_DataProfile(database, public, split).sections(), tokens, count_tokens)


@dataclass(frozen=True, slots=True)
class _LoadedTable:
    """A loaded table with its statistics, or the reason why it could not be loaded."""

    name: str
    bytes: int
    table: Table | None
    stats: tuple[ColumnStats, ...] = ()
    failure: str = ""

    @property
    def line(self) -> str:
        if self.table is None:
            return (
                f"{self.name}: {fmt.file_size(self.bytes)}, cannot be read as a table ({self.failure})"
            )
        rows, columns = self.table.rows, len(self.table.columns)
        about = f"quantiles about, from {VALUES_AT_ONCE:,} rows" if rows > VALUES_AT_ONCE else ""
        odd = "".join(f"; {note}" for note in (self.table.note, about) if note)
        return f"{self.name}: {rows:,} rows, {columns} columns, {fmt.file_size(self.bytes)}{odd}"

    @property
    def groups(self) -> list[tuple[ColumnStats, ...]]:
        """Statistics of its columns, grouped by similarity."""
        return similar(self.stats)


class _DataProfile:
    def __init__(self, database: Database, public: Path, split: Split | None) -> None:
        self._database = database
        self._public = public
        self._split = split
        self._labels = split.label_columns if split else ()
        self._ids = split.train_id_columns if split else ()
        self._read = {
            name: self._load(f"{name}.csv") for name in _PARTS if (public / f"{name}.csv").is_file()
        }
        self._parts = {name: self._part(name, read) for name, read in self._read.items() if read.table}
        kinds = group_files(public, {*_EXCLUDED, *_SAMPLES, *(f"{name}.csv" for name in _PARTS)})
        self._side = [kind for kind in kinds if _is_tables(kind)][:_SIDE_TABLES]
        self._kinds = [kind for kind in kinds if kind not in self._side]

    def sections(self) -> list[Section]:
        side = [self._side_table_lines(path) for kind in self._side for path in kind.paths]
        return [
            Section("", self._overview_lines(), 0.2),
            Section("", self._split_lines(), 0.08),
            Section("Labels in train.csv", self._target_lines(), 0.12),
            Section("Train beside validation and test", self._overlaps(), 0.15),
            self._columns_section(),
            Section("Folders and other files", self._file_lines(), 0.12),
            *(Section("", lines, 0.08 / len(side)) for lines in side),
        ]

    def _load(self, name: str) -> _LoadedTable:
        """Load a table and compute its statistics; failures are recorded, not raised."""
        path = self._public / name
        size_of_file = path.stat().st_size
        try:
            table = self._database.load(path)
            counted = compute_statistics(self._database, table, (*self._labels, *self._ids))
            return _LoadedTable(fmt.line(name), size_of_file, table, counted)
        except CompetitionError as error:
            return _LoadedTable(fmt.line(name), size_of_file, None, failure=str(error))

    def _part(self, name: str, read: _LoadedTable) -> Partition:
        """Return a partition, its ids renamed as in train.csv."""
        assert read.table is not None
        called = {}
        if self._split and name != "train":
            called = dict(zip(self._split.id_columns, self._split.train_id_columns, strict=True))
        stats = {called.get(each.name, each.name): each for each in read.stats}
        return Partition(name, read.table, stats)

    def _overview_lines(self) -> list[str]:
        """Summarise each file or group of files, and list the columns of train.csv."""
        lines = [self._part_line(name, read) for name, read in self._read.items()]
        samples = [name for name in _SAMPLES if (self._public / name).is_file()]
        if samples:
            header = [fmt.line(column) for column in read_header(self._public / samples[0])]
            begins = first_lines(self._public / samples[0], 2)
            row = "".join(f"; first row {fmt.line(line, _ROW_LENGTH)}" for line in begins[1:])
            lines.append(f"{' and '.join(samples)}: columns {fmt.names(header, _SAMPLE_NAMES)}{row}")
        lines += [kind.line for kind in (*self._side, *self._kinds)]
        if (read := self._read.get("train")) and read.stats:
            lines.append(f"Columns of train.csv: {names_by_type(read.groups, _NAMES_LENGTH)}")
        return lines

    def _part_line(self, name: str, read: _LoadedTable) -> str:
        """Summarise a partition, with a note if not all of its rows could be loaded."""
        if self._split is None or read.table is None:
            return read.line
        split = self._split
        rows = dict(zip(_PARTS, (split.train_rows, split.validation_rows, split.test_rows), strict=True))
        wrong = read.table.rows != rows[name]
        return f"{read.line}; only a part of {rows[name]:,} rows" if wrong else read.line

    def _split_lines(self) -> list[str]:
        if self._split is None:
            return []
        split, how = self._split, Rule.of(self._split.rule).description
        rows = split.train_rows + split.validation_rows
        held_back = f"{fmt.share(split.validation_rows, rows)} of the {rows:,} labelled rows"
        why = f"seed {split.seed}; {split.rule_reason}"
        return [f"validation.csv holds {held_back}: {how} ({why}). No labels of it or of test are here."]

    def _target_lines(self) -> list[str]:
        train = self._parts.get("train")
        if train is None:
            return []
        found = [train.stats[name] for name in self._labels if name in train.stats]
        return [line for group in similar(found) for line in label_lines(group)]

    def _others(self) -> list[Partition]:
        return [part for name, part in self._parts.items() if name != "train"]

    def _overlaps(self) -> list[str]:
        train, others = self._parts.get("train"), self._others()
        if train is None or not others:
            return []
        try:
            return overlap_lines(self._database, train, others, self._ids, self._labels)
        except CompetitionError as error:
            return [f"could not be counted ({error})"]

    def _columns_section(self) -> Section:
        """Describe the feature columns of train.csv, with differences in the other partitions."""
        read = self._read.get("train")
        groups = [group for group in read.groups if group[0].name not in self._labels] if read else []
        lines = []
        for group in groups:
            names = [stats.name for stats in group]
            own = group[0].name in self._ids and not group[0].kind.is_time
            others = {
                part.name: [part.stats[name] for name in names]
                for part in self._others()
                if not own and all(name in part.stats for name in names)
            }
            lines.append(full_line(group, others))
        brief = [brief_line(group) for group in groups]
        return Section(f"Columns of train.csv ({_LEGEND})", lines, 0.25, brief)

    def _file_lines(self) -> list[str]:
        try:
            rows = match_rows_to_files(self._database, self._kinds, [*self._parts.values()], self._ids)
        except CompetitionError as error:
            return [f"could not be counted ({error})"]
        texts = (kind.describe(self._public, rows.get(at, "")) for at, kind in enumerate(self._kinds))
        return [line for lines in texts for line in lines]

    def _side_table_lines(self, path: str) -> list[str]:
        """Describe a side table, and which columns join it to the partitions."""
        read = self._load(path)
        if read.table is None:
            return [read.line, *(f"  {line}" for line in first_lines(self._public / path, _LINES_SHOWN))]
        side = Partition("side", read.table, {stats.name: stats for stats in read.stats})
        try:
            links = link_lines(self._database, [*self._parts.values()], side)
        except CompetitionError:
            links = []
        self._database.drop(read.table)
        return [read.line, *(f"  {line}" for line in (*links, *(full_line(g, {}) for g in read.groups)))]


def _is_tables(kind: FileGroup) -> bool:
    """Return whether files are tables to be described one by one."""
    return kind.ending.lower() in TABLE_ENDINGS and len(kind.paths) <= _MOST_TABLES
