"""Random small competitions in which every withheld value is a marker that can be searched for."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder

__all__ = ["World", "read", "worlds"]

_CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
"""Cells may have any text: quotation marks, commas, line breaks."""

_DERIVED = ("hint", "casual")


@dataclass(frozen=True)
class World:
    """A competition whose labels, and the columns derived from them, are markers."""

    kind: str
    rows: int
    zones: tuple[int, ...]
    """Class, group or day of each row."""
    texts: tuple[str, ...]
    numbered: bool
    """Whether ids are numbers, which a side table writes as floats."""
    renamed: bool
    """Whether train.csv has another name for the id."""
    derived: tuple[str, ...]
    """Columns that test.csv lacks; the first is listed as a label, too."""
    same_ids: bool = False
    """Whether test rows have ids of train rows."""

    @property
    def train_id(self) -> str:
        """The id column of train.csv."""
        return "row" if self.renamed else "id"

    def id(self, row: int) -> str:
        """The id of a row."""
        return str(row) if self.numbered else f"r{row}"

    def zone(self, row: int) -> str:
        """The value of the column that the rule splits by."""
        zone = self.zones[row]
        return f"2024-01-{zone + 1:02d}" if self.kind == "time" else f"zone {zone}"

    def markers(self, row: int) -> dict[str, str]:
        """The withheld values of a row."""
        return {name: f"{row:04d}withheld-{name}" for name in ("label", *self.derived)}

    def train_row(self, row: int) -> list[str]:
        """The cells of a row of train.csv."""
        return [self.id(row), self.zone(row), self.texts[row], *self.markers(row).values()]

    def build(self, root: Path) -> Path:
        """Write the competition folder, and a side table with the same markers."""
        public = root / "competition" / "public"
        (public / "more").mkdir(parents=True)
        rule = {"kind": self.kind} | ({} if self.kind == "random" else {"column": "zone"})
        described: dict[str, Any] = {
            "id": "world",
            "title": "World",
            "metric": "exact-match",
            "id_columns": ["id"],
            "train_id_columns": [self.train_id],
            "label_columns": ["label", *self.derived[:1]],
            "target_columns": ["label"],
            "split": rule,
        }
        (public.parent / "competition.yaml").write_text(yaml.safe_dump(described))
        (public / "description.md").write_text("# World\n")
        train = range(self.rows)
        first = 0 if self.same_ids else self.rows
        test = range(first, first + 3)
        header = [self.train_id, "zone", "text", "label", *self.derived]
        _write(public / "train.csv", header, [self.train_row(row) for row in train])
        asked = [[self.id(row), "zone 0" if self.kind != "time" else "2024-03-01", ""] for row in test]
        _write(public / "test.csv", ["id", "zone", "text"], asked)
        sample = [[self.id(row), "?"] for row in test]
        _write(public / "sample_submission.csv", ["id", "label"], sample)
        spelt = [f"{self.id(row)}.0" if self.numbered else f" {self.id(row)}" for row in train]
        side = [[name, *self.markers(row).values()] for row, name in zip(train, spelt, strict=True)]
        _write(public / "more" / "again.csv", [self.train_id, "label", *self.derived], side)
        if self.derived:
            only = [[name, self.markers(row)[self.derived[-1]]] for row, name in enumerate(spelt)]
            _write(public / "derived.csv", [self.train_id, self.derived[-1]], only)
        return public.parent

    def split(self, root: Path, seed: int) -> SplitFolder:
        """Split the competition that was built below `root`."""
        competition = load_competition(root / "competition")
        return make_split(competition, root / "splits", seed=seed)


@st.composite
def worlds(draw: st.DrawFn, kind: str) -> World:
    """Return competitions of one kind of split."""
    rows = draw(st.integers(12, 40))
    zones = draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    zones[:4] = [0, 0, 1, 1]  # at least two classes, groups, days
    return World(
        kind=kind,
        rows=rows,
        zones=tuple(zones),
        texts=tuple(draw(st.lists(_CELLS, min_size=rows, max_size=rows))),
        numbered=draw(st.booleans()),
        renamed=draw(st.booleans()),
        derived=_DERIVED[: draw(st.integers(0, 2))],
        same_ids=draw(st.booleans()),
    )


def read(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, the header first."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([header, *rows])
