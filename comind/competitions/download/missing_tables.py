"""Make the tables that a download lacks: joined parts of train.csv, ids, and a sample submission.

Each function changes the files of a folder only where there is one way to read them, and returns what it
did as findings; otherwise the folder stays as it is, and `arrange_tables` names the problem.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from comind.competitions.download.findings import Finding
from comind.tables.table_files import (
    cells,
    count_rows,
    header,
    is_sample,
    like_an_id,
    stem,
    tables_of,
    write_rows,
)

_INPUTS = r"(x|features?|inputs?|data|set|values|measurements)"
_LABELS = r"(y|labels?|targets?|answers?|solutions?|groundtruth|outcomes?|scored)"
_ID = "id"


@dataclass(frozen=True)
class Roles:
    """The tables of a folder by role."""

    tables: dict[Path, list[str]]
    """The names of the columns of each."""
    train: Path
    test: Path

    @classmethod
    def of(cls, public: Path) -> "Roles | None":
        """Find the tables of train and test rows; None where no or several files may be one."""
        tables = tables_of(public)
        found = [_only(tables, role) for role in ("train", "test")]
        return cls(tables, *(path for path in found if path)) if all(found) else None

    @property
    def samples(self) -> list[Path]:
        """The tables called like a sample submission."""
        return [path for path in self.tables if is_sample(path)]

    @property
    def shared(self) -> list[str]:
        """The columns of test rows that train rows have, too."""
        return [name for name in self.names(self.test) if name in self.names(self.train)]

    def names(self, table: Path | None) -> list[str]:
        """Return the names of a table's columns; none for no table."""
        return self.tables[table] if table else []


def _only(tables: dict[Path, list[str]], role: str) -> Path | None:
    """Return the table called `role`, else the only one whose name contains it, or None."""
    exact = [path for path in tables if stem(path) == role]
    alike = [path for path in tables if role in stem(path) and not is_sample(path)]
    return next((found[0] for found in (exact, alike) if len(found) == 1), None)


def join_train_tables(public: Path) -> list[Finding]:
    """Write train.csv from its parts: tables of equal columns, or inputs and labels of the same rows.

    `test_features.csv` and the like are left: their names say enough.
    """
    tables = {path: names for path, names in tables_of(public).items() if not is_sample(path)}
    inputs = [path for path in tables if stem(path) in ("train", "training")]
    if len(inputs) == 1:
        labels = [path for path in tables if re.fullmatch(rf"(train(ing)?)?{_LABELS}", stem(path))]
    else:
        labels = [path for path in tables if _is_part(path, _LABELS)]
        pieces = [path for path in tables if "train" in stem(path) and path not in labels]
        if not labels and len(pieces) > 1 and len({tuple(tables[path]) for path in pieces}) == 1:
            return _concatenate(public, sorted(pieces, key=_natural), tables[pieces[0]])
        inputs = [path for path in tables if _is_part(path, _INPUTS)]
    if len(labels) != 1 or len(inputs) != 1:
        return []
    return _join(public, inputs[0], labels[0], in_order="train" in stem(labels[0]))


def add_sample(public: Path, targets: Sequence[str] = ()) -> list[Finding]:
    """Write sample_submission.csv if there is none: ids of test.csv, and the column that only train has.

    `targets` are the columns to predict where more than one is possible.
    """
    roles = Roles.of(public)
    if roles is None or roles.samples:
        return []
    labels = list(targets) or [name for name in roles.names(roles.train) if name not in roles.shared]
    ids = next((name for name in roles.shared if _is_key(roles.test, name)), None)
    if ids is None or len(labels) != 1 or labels[0] not in roles.names(roles.train):
        return []
    usual = usual_value(Counter(cell for (cell,) in cells(roles.train, labels)))
    rows = ((cell, usual) for (cell,) in cells(roles.test, [ids]))
    write_rows(public / "sample_submission.csv", [ids, labels[0]], rows)
    why = "which competition.yaml names" if targets else "the column that only train has"
    text = f"made, as none is among the files: {ids} and {labels[0]}, {why}"
    return [Finding(topic="sample", text=text)]


def add_ids(public: Path) -> list[Finding]:
    """Add a column of ids where the sample submission has only predictions, in the order of test.csv.

    A column of test.csv that has another value in each row and is called like an id is used; otherwise
    rows are numbered, those of train.csv first.
    """
    roles = Roles.of(public)
    if roles is None or len(roles.samples) > 1:
        return []
    train, test, sample = roles.train, roles.test, next(iter(roles.samples), None)
    asked = set(roles.names(sample))
    if asked & set(roles.names(test)) or not asked <= set(roles.names(train)):
        return []  # the sample has ids, or classes in columns
    own = next((name for name in roles.shared if like_an_id(name) and _is_key(test, name)), None)
    if sample is None and (own is not None or _shared_key(roles)):
        return []
    rows = count_rows(test)
    if sample is not None and rows != count_rows(sample):
        return []
    if own is not None and sample is not None:
        _prefix(sample, own, (cell for (cell,) in cells(test, [own])))
        return [Finding(topic="ids", text=f"{own} of {test.name}, in the order of the rows")]
    name = next(n for n in (_ID, "row_id", "row_number_id") if n not in roles.names(train))
    count = count_rows(train)
    _prefix(train, name, map(str, range(count)))
    for path in filter(None, (test, sample)):
        _prefix(path, name, map(str, range(count, count + rows)))
    return [Finding(topic="ids", text=f"made: {name}, the row's number, as no column is one")]


def number_train_rows(public: Path) -> list[Finding]:
    """Number the rows of train.csv where only test rows have ids, with numbers that these have not."""
    roles = Roles.of(public)
    if roles is None or len(roles.samples) != 1:
        return []
    asked = [name for name in roles.names(roles.samples[0]) if name in roles.names(roles.test)]
    known = roles.names(roles.train)
    labels = [name for name in known if name not in roles.names(roles.test)]
    if len(asked) != 1 or asked[0] in known or len(labels) != 1 or like_an_id(labels[0]):
        return []
    taken = {cell for (cell,) in cells(roles.test, asked)}
    rows = count_rows(roles.train)
    starts = range(0, (len(taken) + 1) * rows, rows)
    first = next(each for each in starts if taken.isdisjoint(map(str, range(each, each + rows))))
    _prefix(roles.train, asked[0], map(str, range(first, first + rows)))
    text = f"{roles.train.name} has no {asked[0]!r}: its rows are numbered"
    return [Finding(topic="ids", text=text)]


def _concatenate(public: Path, parts: Sequence[Path], names: Sequence[str]) -> list[Finding]:
    rows = chain.from_iterable(cells(path, names) for path in parts)
    write_rows(public / "train.csv", names, rows)
    for path in parts:
        path.unlink()
    shown = ", ".join(path.name for path in parts)
    return [Finding(topic="train", text=f"train.csv holds the rows of {shown}")]


def _join(public: Path, inputs: Path, labels: Path, *, in_order: bool) -> list[Finding]:
    """Join inputs and labels by their common columns or, if `in_order`, without any by their order."""
    left, right = header(inputs), header(labels)
    shared = [name for name in left if name in right]
    added = [name for name in right if name not in left]
    if not added or not (shared or in_order):
        return []
    if shared:
        known = {
            tuple(map(_canonical_id, row[: len(shared)])): row[len(shared) :]
            for row in cells(labels, [*shared, *added])
        }
        keys = [tuple(map(_canonical_id, row)) for row in cells(inputs, shared)]
        if len(keys) != len(set(keys)) or not known.keys() <= set(keys):
            return []
        if len(known) < count_rows(labels):  # several rows an id
            return []
        blank = ("",) * len(added)
        rows = (
            (*row, *known.get(key, blank)) for key, row in zip(keys, cells(inputs, left), strict=True)
        )
        how = f"by {', '.join(shared)}"
    else:
        counts = [count_rows(path) for path in (inputs, labels)]
        if counts[0] != counts[1]:
            return []
        pairs = zip(cells(inputs, left), cells(labels, added), strict=True)
        rows = ((*first, *second) for first, second in pairs)
        how = "by the order of their rows"
    write_rows(public / "train.csv", [*left, *added], rows)
    for path in (inputs, labels):
        if path != public / "train.csv":
            path.unlink()
    return [Finding(topic="train", text=f"train.csv joins {inputs.name} and {labels.name} {how}")]


def _canonical_id(cell: str) -> str:
    """Return `7` for `7.0`, other cells without spaces around them."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", cell.strip())


def _prefix(path: Path, name: str, values: Iterator[str]) -> None:
    """Add a first column to a CSV file."""
    names = header(path)
    rows = ((value, *row) for value, row in zip(values, cells(path, names), strict=True))
    write_rows(path, [name, *names], rows)


def _is_part(path: Path, part: str) -> bool:
    return re.fullmatch(rf"train(ing)?{part}|{part}train(ing)?", stem(path)) is not None


def _is_key(path: Path, name: str) -> bool:
    """Return whether no two rows have the same value, and none is empty."""
    seen: set[tuple[str, ...]] = set()
    for cell in cells(path, [name]):
        if cell in seen or not cell[0]:
            return False
        seen.add(cell)
    return True


def _shared_key(roles: Roles) -> bool:
    """Return whether the first column of both tables is a key, though it is not called an id."""
    pair = roles.train, roles.test
    first = roles.names(roles.test)[0]
    return first == roles.names(roles.train)[0] and all(_is_key(path, first) for path in pair)


def usual_value(counts: Counter[str]) -> str:
    """Return the most frequent label; the median where most labels are different numbers."""
    usual, count = counts.most_common(1)[0] if counts else ("0", 1)
    if count > 1:
        return usual
    with suppress(ValueError):
        return f"{sorted(map(float, counts))[len(counts) // 2]:g}"
    return usual


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that orders the numbers in a name by value."""
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", path.stem)]
