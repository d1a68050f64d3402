"""All there is to tell of one public folder, in sections; every row of every table is counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from comind.errors import CompetitionError
from comind.evaluation.facts.budget import Section
from comind.evaluation.facts.columns import VALUES_AT_ONCE, ColumnFacts, alike, count_columns
from comind.evaluation.facts.database import TABLE_ENDINGS, Column, Database, Table
from comind.evaluation.facts.files import FileKind, file_kinds, file_lines, names_of_rows
from comind.evaluation.facts.lines import LEGEND, brief_line, full_line, label_lines, names_by_kind
from comind.evaluation.facts.media import first_lines
from comind.evaluation.facts.overlaps import Part, link_lines, overlap_lines
from comind.evaluation.facts.words import count, listed, plain, share, size
from comind.evaluation.splits.split_folder import Split
from comind.evaluation.tables import read_header

__all__ = ["Facts"]

_SAMPLES = ("sample_submission.csv", "sample_validation_submission.csv")
_NO_FACTS = ("description.md",)
_PARTS = ("train", "validation", "test")
_SIDE_TABLES = 12
_FILES_TOLD = 3
"""Of a kind with more files only one is told, be they tables."""
_NAMES_LENGTH, _ROW_LENGTH, _SAMPLE_NAMES, _LINES_SHOWN = 1_500, 80, 8, 3


@dataclass(frozen=True, slots=True)
class _Read:
    """A file of a table that was read and counted, or one that could not be."""

    name: str
    bytes: int
    table: Table | None
    facts: tuple[ColumnFacts, ...] = ()
    failure: str = ""

    @property
    def line(self) -> str:
        """What the file is, in a line."""
        if self.table is None:
            return f"{self.name}: {size(self.bytes)}, cannot be read as a table ({self.failure})"
        rows, columns = self.table.rows, len(self.table.columns)
        about = f"quantiles about, from {count(VALUES_AT_ONCE)} rows" if rows > VALUES_AT_ONCE else ""
        odd = "".join(f"; {note}" for note in (self.table.note, about) if note)
        return f"{self.name}: {count(rows)} rows, {columns} columns, {size(self.bytes)}{odd}"

    @property
    def groups(self) -> list[list[ColumnFacts]]:
        """What was counted of its columns, those together that are alike."""
        found = {facts.column.key: facts for facts in self.facts}
        return [[found[column.key] for column in group] for group in alike([*_columns(self.facts)])]


class Facts:
    """One reading of a public folder."""

    def __init__(self, database: Database, public: Path, split: Split | None) -> None:
        self._database = database
        self._public = public
        self._split = split
        self._labels = split.label_columns if split else ()
        self._ids = split.train_id_columns if split else ()
        self._read = {
            name: self._count(f"{name}.csv") for name in _PARTS if (public / f"{name}.csv").is_file()
        }
        self._parts = {name: self._part(name, read) for name, read in self._read.items() if read.table}
        kinds = file_kinds(public, {*_NO_FACTS, *_SAMPLES, *(f"{name}.csv" for name in _PARTS)})
        self._side = [kind for kind in kinds if _is_tables(kind)][:_SIDE_TABLES]
        self._kinds = [kind for kind in kinds if kind not in self._side]

    def sections(self) -> list[Section]:
        """Return all there is to tell, what matters most first."""
        side = [self._side_table(path) for kind in self._side for path in kind.paths]
        return [
            Section("", self._overview(), 0.2),
            Section("", self._held_back(), 0.08),
            Section("Labels in train.csv", self._targets(), 0.12),
            Section("Train beside validation and test", self._overlaps(), 0.15),
            self._columns(),
            Section("Folders and other files", self._folders(), 0.12),
            *(Section("", lines, 0.08 / len(side)) for lines in side),
        ]

    def _count(self, name: str) -> _Read:
        """Read and count a table of any kind; nothing that it holds raises."""
        path = self._public / name
        size_of_file = path.stat().st_size
        try:
            table = self._database.load(path)
            counted = count_columns(self._database, table, (*self._labels, *self._ids))
            return _Read(plain(name), size_of_file, table, counted)
        except CompetitionError as error:
            return _Read(plain(name), size_of_file, None, failure=str(error))

    def _part(self, name: str, read: _Read) -> Part:
        """Return a part of the split, its ids called as in train.csv."""
        assert read.table is not None
        called = {}
        if self._split and name != "train":
            called = dict(zip(self._split.id_columns, self._split.train_id_columns, strict=True))
        facts = {called.get(each.column.name, each.column.name): each for each in read.facts}
        return Part(name, read.table, facts)

    def _overview(self) -> list[str]:
        """Return a line a file or kind of files, and the names of the columns."""
        lines = [self._part_line(name, read) for name, read in self._read.items()]
        samples = [name for name in _SAMPLES if (self._public / name).is_file()]
        if samples:
            header = [plain(column) for column in read_header(self._public / samples[0])]
            begins = first_lines(self._public / samples[0], 2)
            row = "".join(f"; first row {plain(line, _ROW_LENGTH)}" for line in begins[1:])
            lines.append(f"{' and '.join(samples)}: columns {listed(header, _SAMPLE_NAMES)}{row}")
        lines += [kind.line for kind in (*self._side, *self._kinds)]
        if (read := self._read.get("train")) and read.facts:
            lines.append(f"Columns of train.csv: {names_by_kind(read.groups, _NAMES_LENGTH)}")
        return lines

    def _part_line(self, name: str, read: _Read) -> str:
        """Return the line of a part of the split; says so where not all of its rows could be read."""
        if self._split is None or read.table is None:
            return read.line
        split = self._split
        rows = dict(zip(_PARTS, (split.train_rows, split.validation_rows, split.test_rows), strict=True))
        wrong = read.table.rows != rows[name]
        return f"{read.line}; only a part of {count(rows[name])} rows" if wrong else read.line

    def _held_back(self) -> list[str]:
        """Say how validation was split."""
        if self._split is None:
            return []
        split, rule = self._split, self._split.rule
        match rule.kind:
            case "random":
                how = "rows at random"
            case "stratified":
                how = f"rows at random, each value of {rule.column} in proportion"
            case "group":
                how = f"whole {rule.groups}, chosen at random"
            case "time":
                days = f"the last {rule.horizon_days} days" if rule.horizon_days else "the last rows"
                each = f" of each {rule.within}" if rule.within else ""
                how = f"{days}{each} by {rule.column}"
        rows = split.train_rows + split.validation_rows
        held_back = f"{share(split.validation_rows, rows)} of the {count(rows)} labelled rows"
        why = f"seed {split.seed}; {split.rule_reason}"
        return [f"validation.csv holds {held_back}: {how} ({why}). No labels of it or of test are here."]

    def _targets(self) -> list[str]:
        train = self._parts.get("train")
        if train is None:
            return []
        found = [train.facts[name] for name in self._labels if name in train.facts]
        lines = []
        for group in alike([facts.column for facts in found]):
            facts = [train.facts[column.name] for column in group]
            lines += label_lines(facts)
        return lines

    def _others(self) -> list[Part]:
        return [part for name, part in self._parts.items() if name != "train"]

    def _overlaps(self) -> list[str]:
        train, others = self._parts.get("train"), self._others()
        if train is None or not others:
            return []
        try:
            return overlap_lines(self._database, train, others, self._ids, self._labels)
        except CompetitionError as error:
            return [f"could not be counted ({error})"]

    def _columns(self) -> Section:
        """Tell the columns of train.csv that are no labels, and how they differ in the other parts."""
        read = self._read.get("train")
        groups = (
            [group for group in read.groups if group[0].column.name not in self._labels] if read else []
        )
        lines = []
        for group in groups:
            names = [facts.column.name for facts in group]
            own = group[0].column.name in self._ids and not group[0].column.kind.is_moment
            others = {
                part.name: [part.facts[name] for name in names]
                for part in self._others()
                if not own and all(name in part.facts for name in names)
            }
            lines.append(full_line(group, others))
        brief = [brief_line(group) for group in groups]
        return Section(f"Columns of train.csv ({LEGEND})", lines, 0.25, brief)

    def _folders(self) -> list[str]:
        try:
            rows = names_of_rows(self._database, self._kinds, [*self._parts.values()], self._ids)
        except CompetitionError as error:
            return [f"could not be counted ({error})"]
        told = (file_lines(self._public, kind, rows.get(at, "")) for at, kind in enumerate(self._kinds))
        return [line for lines in told for line in lines]

    def _side_table(self, path: str) -> list[str]:
        """Tell a table beside the three, and how its rows belong to theirs."""
        read = self._count(path)
        if read.table is None:
            return [read.line, *(f"  {line}" for line in first_lines(self._public / path, _LINES_SHOWN))]
        side = Part("side", read.table, {facts.column.name: facts for facts in read.facts})
        try:
            links = link_lines(self._database, [*self._parts.values()], side)
        except CompetitionError:
            links = []
        self._database.drop(read.table)
        return [read.line, *(f"  {line}" for line in (*links, *(full_line(g, {}) for g in read.groups)))]


def _columns(facts: Sequence[ColumnFacts]) -> list[Column]:
    return [each.column for each in facts]


def _is_tables(kind: FileKind) -> bool:
    """Whether files are tables, each to be told for itself."""
    return kind.ending.lower() in TABLE_ENDINGS and len(kind.paths) <= _FILES_TOLD
