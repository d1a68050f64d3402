"""Find how the ids of a sample submission are composed of the columns of test.csv, and add them.

`Oslo_7` joins two columns, `im0007.jpg` and `Oslo_7_validation` have a constant part, and `im0007_tall`
asks for one of several targets, so that each row is asked for once a target.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from pathlib import Path

import pandas as pd

from comind.competitions.download.findings import Finding
from comind.competitions.download.missing_tables import Roles
from comind.system.plurals import quantity
from comind.tables.csv_tables import write_table
from comind.tables.table_files import (
    cells,
    forget_tables,
    is_sample,
    stem,
    tables_of,
    text_table,
    write_rows,
)

_MOST_TRIED = 20  # combinations of columns with the cells of one row
_ROWS_TRIED = 20  # rows of test.csv that may be the first id's
_MOST_TARGETS = 50
_TARGET = "variable"  # the name that pandas.melt gives
_ID_AND_VALUE = 2
_SEPARATORS = ("_", "-", ":", "|", "/", " ", ".")
_LOOKED_AT = 1_000
_NAMED = 0.9  # share of parts of ids that another table has


@dataclass(frozen=True)
class _Part:
    """A part of an id: the cell of a column, perhaps its letters and digits alone, or a text."""

    text: str = ""
    column: str = ""
    bare: bool = False

    def spelled(self, cell: str) -> str:
        """Return a cell as it is in ids: `7` for `7.0`, without spaces around it."""
        plain = re.sub(r"^(-?\d+)\.0+$", r"\1", cell.strip())
        return re.sub(r"[^0-9A-Za-z]", "", plain) if self.bare else plain


@dataclass(frozen=True)
class _Template:
    """The parts of which ids are composed, in order."""

    parts: tuple[_Part, ...]

    @property
    def names_targets(self) -> bool:
        """Whether ids have a part that is the name of a target."""
        return any(part.column == _TARGET for part in self.parts)

    def ids(self, table: pd.DataFrame) -> list[str]:
        """Return the id of each row."""
        texts = (
            map(part.spelled, table[part.column]) if part.column else [part.text] * len(table)
            for part in self.parts
        )
        return ["".join(row) for row in zip(*texts, strict=True)]

    def __str__(self) -> str:
        """Return the parts as a report names them, such as `<shop>_<item>`."""
        return "".join(f"<{part.column}>" if part.column else part.text for part in self.parts)


def add_composed_ids(public: Path) -> list[Finding]:
    """Add the sample's ids to test.csv and train.csv where they are composed of other columns.

    Where ids name targets, both tables get a row for each row and target. Rows of train.csv are numbered
    if their ids are not unique.
    """
    roles = Roles.of(public)
    if roles is None or len(roles.samples) != 1:
        return []
    asked = roles.names(roles.samples[0])
    name = asked[0]
    ids = [cell for (cell,) in cells(roles.samples[0], [name])]
    if not ids or set(asked[1:]) & set(roles.names(roles.test)):
        return []
    wanted = set(ids)
    if name in roles.names(roles.test):
        if not wanted.isdisjoint(cell for (cell,) in cells(roles.test, [name])):
            return []
    elif name in roles.names(roles.train):
        return []
    own = [each for each in roles.names(roles.train) if each not in roles.shared]
    if len(asked) != _ID_AND_VALUE or {_TARGET, asked[1]} & set(roles.names(roles.train)):
        own = []  # ids do not name targets
    test = text_table(roles.test, roles.shared)
    for template in _templates(ids[0], test, own):
        first = test.head(1).merge(pd.DataFrame({_TARGET: own}), how="cross")
        named = zip(own, template.ids(first), strict=True)
        targets = [each for each, composed in named if composed in wanted]
        rows = _row_per_target(test, targets) if template.names_targets else test
        composed = template.ids(rows)
        if len(composed) == len(wanted) and set(composed) == wanted:
            return [_add(roles, template, targets if template.names_targets else [])]
    return []


def add_targets_of_ids(public: Path) -> list[Finding]:
    """Write test.csv for ids that name a row and a target, where train.csv has such ids, too.

    The row and the target become columns of both tables.
    """
    if (found := _sample_and_train(public)) is None:
        return []
    sample, train, name, names = found
    added = [f"{name}_base", _TARGET]
    if set(added) & set(names):
        return []
    tested, trained = (_rows_and_targets(text_table(path, [name])[name]) for path in (sample, train))
    if tested is None or trained is None or {*tested[1]} != {*trained[1]}:
        return []
    rows = text_table(train, names)
    for place, column in enumerate(added):
        rows.insert(names.index(name) + 1 + place, column, trained[place])
    write_table(rows, train)
    ids = (cell for (cell,) in cells(sample, [name]))
    write_rows(public / "test.csv", [name, *added], zip(ids, *tested, strict=True))
    text = f"{name} names a row and a target: they are the columns {added[0]!r} and {_TARGET!r}"
    return [Finding(topic="ids", text=text)]


def add_parts_of_ids(public: Path) -> list[Finding]:
    """Add the parts of ids such as `i3_i7` to the tables, where each names a row of another table."""
    if (found := _sample_and_train(public)) is None:
        return []
    sample, train, name, names = found
    keys = {
        path: {cell for (cell,) in cells(path, columns[:1])}
        for path, columns in tables_of(public).items()
        if path not in (sample, train, public / "test.csv")
    }
    ids = [text_table(path, [name])[name] for path in (sample, train)]
    for separator in _SEPARATORS if keys else ():
        widths = {len(each.split(separator)) for column in ids for each in column.head(_LOOKED_AT)}
        if len(widths) > 1 or widths == {1}:
            continue
        parts = [column.str.split(separator, expand=True, regex=False) for column in ids]
        named = [
            path
            for path, known in keys.items()
            if all(each.isin(known).mean().min() >= _NAMED for each in parts)
        ]
        added = [f"{name}_{place + 1}" for place in range(parts[0].shape[1])]
        if not named or parts[0].shape[1] != parts[1].shape[1] or set(added) & set(names):
            continue
        tested, trained = (each.set_axis(added, axis="columns") for each in parts)
        write_table(pd.concat([text_table(train, names), trained], axis="columns"), train)
        write_table(pd.concat([ids[0], tested], axis="columns"), public / "test.csv")
        forget_tables()
        text = (
            f"{name} joins {quantity(len(added), 'id')} of {named[0].name}: they are {', '.join(added)}"
        )
        return [Finding(topic="ids", text=text)]
    return []


def _sample_and_train(public: Path) -> tuple[Path, Path, str, list[str]] | None:
    """Return sample, train table, the id of both and the columns of train, if no test row has more."""
    tables = tables_of(public)
    samples = [path for path in tables if is_sample(path)]
    trains = [path for path in tables if stem(path) in ("train", "training") and path not in samples]
    if len(samples) != 1 or len(trains) != 1:
        return None
    name, names = tables[samples[0]][0], tables[trains[0]]
    for path in (each for each in tables if "test" in stem(each)):
        if path.name != "test.csv" or tables[path] != [name]:
            return None
        if sorted(cells(path, [name])) != sorted(cells(samples[0], [name])):
            return None
    return (samples[0], trains[0], name, names) if name in names else None


def _rows_and_targets(ids: "pd.Series[str]") -> tuple[list[str], list[str]] | None:
    """Return row and target of each id, where each row has an id for each target; otherwise None.

    Targets are words: a number may be that of a further row.
    """
    found = [re.fullmatch(r"(.+)[_\-:|/ .](.*[A-Za-z].*)", each) for each in ids]
    pairs = [(each[1], each[2]) for each in found if each is not None]
    rows, targets = {row for row, _ in pairs}, {target for _, target in pairs}
    complete = len(pairs) == len(ids) == len(set(pairs)) == len(rows) * len(targets)
    if not complete or not 1 < len(targets) <= min(_MOST_TARGETS, len(rows)):
        return None
    return [row for row, _ in pairs], [target for _, target in pairs]


def _templates(first: str, test: pd.DataFrame, targets: Sequence[str]) -> Iterator[_Template]:
    """Yield the templates that give the first id for a row of test.csv, the likeliest rows first."""
    likely = pd.Series(0, index=test.index)
    for column in test.columns:
        parts = _Part(column=column), _Part(column=column, bare=True)
        known = test[column].unique()
        held = [cell for cell in known if any(part.spelled(cell) in first for part in parts)]
        likely += test[column].isin(held) * test[column].str.len()
    rows = likely.sort_values(ascending=False, kind="stable").index[:_ROWS_TRIED]
    found = (_of_row(first, test.loc[row], targets) for row in rows)
    yield from dict.fromkeys(chain.from_iterable(found))


def _of_row(text: str, row: "pd.Series[str]", targets: Sequence[str]) -> Iterator[_Template]:
    """Yield the templates that give the id `text` for a row, of the longest cells from left to right."""
    known: dict[str, list[_Part]] = {target: [_Part(column=_TARGET)] for target in targets}
    for column, cell in row.items():
        for part in (_Part(column=str(column)), _Part(column=str(column), bare=True)):
            same = known.setdefault(part.spelled(cell), [])
            if all(other.column != column for other in same):
                same.append(part)
    longest_first = sorted(filter(None, known), key=len, reverse=True)
    parts, place = [[_Part()]], 0
    while place < len(text):
        here = next((each for each in longest_first if _is_part(text, place, each)), "")
        if here:
            parts += [known[here], [_Part()]]
        else:
            parts[-1] = [_Part(text=parts[-1][0].text + text[place])]
        place += len(here) or 1
    for chosen in islice(product(*parts), _MOST_TRIED):
        yield _Template(tuple(part for part in chosen if part != _Part()))


def _is_part(text: str, start: int, part: str) -> bool:
    """Return whether a part of an id starts at a place, and cuts no word and no number."""
    end = start + len(part)
    if not text.startswith(part, start):
        return False
    cuts = (text[place - 1 : place + 1] for place in (start, end) if 0 < place < len(text))
    return not any(pair.isdigit() or pair.isalpha() for pair in cuts)


def _row_per_target(table: pd.DataFrame, targets: Sequence[str]) -> pd.DataFrame:
    return table.merge(pd.DataFrame({_TARGET: list(targets)}, dtype=str), how="cross")


def _add(roles: Roles, template: _Template, targets: Sequence[str]) -> Finding:
    """Write the ids into both tables, and a row of them for each of several targets."""
    name, value = roles.names(roles.samples[0])[:2]
    test, train = (text_table(path, roles.names(path)) for path in (roles.test, roles.train))
    text = f"{name} is {template} of {roles.test.name}"
    if targets:
        test = _row_per_target(test, targets)
        inputs = [each for each in train.columns if each not in targets]
        train = train.melt(inputs, list(targets), _TARGET, value)
        text += f", with a row for each of the targets {', '.join(targets)}"
    ids, known = template.ids(test), template.ids(train)
    if numbered := len(set(known)) < len(known):
        known = [str(row) for row in range(len(known))]
        text += "; train rows are numbered"
    for path, table, column in ((roles.test, test, ids), (roles.train, train, known)):
        if targets or numbered or name not in table.columns:
            table = table.rename(columns={name: f"{name}_base"})  # noqa: PLW2901
            table.insert(0, name, column)
        write_table(table.assign(**{name: column}), path)
    forget_tables()
    return Finding(topic="ids", text=text)
