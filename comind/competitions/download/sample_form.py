"""Bring the tables of a download and its sample submission to one form: ids, targets and rows.

Each function changes files only where there is one way to read them, and returns what it did as
findings. What a submission is called outside is kept as `UploadForm`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from comind.competitions.download.findings import Finding, OpenQuestionError, Question
from comind.competitions.download.label_lists import LabelLists
from comind.competitions.download.missing_tables import Roles, usual_value
from comind.competitions.download.table_roles import TableColumns
from comind.domain.value import Value
from comind.system.plurals import quantity
from comind.tables.table_files import (
    cells,
    header,
    is_sample,
    rename_columns,
    tables_of,
    write_rows,
)

_SAMPLE, _TEST, _TRAIN = "sample_submission.csv", "test.csv", "train.csv"
_UNLABELLED = "unlabelled.csv"
_LISTED = 6


class UploadForm(Value):
    """The form of a submission outside, where it is not that of the arranged sample submission."""

    columns: tuple[str, ...] = ()
    """The header; empty where the form is the same."""
    names: dict[str, str] = {}
    """The name outside of each column that is called otherwise here."""
    constants: dict[str, str] = {}
    """Columns that are not predicted, and the value that the sample has in all rows."""
    lists: LabelLists = LabelLists()

    @property
    def known_names(self) -> dict[str, str]:
        """The name here of each column that is called otherwise outside."""
        return {outside: name for name, outside in self.names.items()}

    def here(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a submission or answers, perhaps in the form outside, with the columns of ours."""
        other = [name for name in table.columns if name in self.constants]
        return self.lists.here(table.rename(columns=self.known_names).drop(columns=other))

    def outside(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a submission of ours in the form outside."""
        table = self.lists.outside(table)
        if not self.columns:
            return table
        return table.rename(columns=self.names).assign(**self.constants)[list(self.columns)]


def rename_repeated_columns(public: Path) -> list[Finding]:
    """Number columns that have the name of an earlier one: `a`, `a.1`."""
    findings = []
    for path in tables_of(public):
        names = header(path)
        if len(set(names)) == len(names):
            continue
        taken, renamed = Counter[str](), []
        for name in names:
            count = taken[name]
            renamed.append(f"{name}.{count}" if count else name)
            taken[name] += 1
        if len(set(renamed)) < len(names):
            continue
        rename_columns(path, renamed)
        twice = sorted(name for name, count in taken.items() if count > 1)
        text = f"{path.name} has several columns {_listed(twice)}; the later ones are {twice[0]}.1 ..."
        findings.append(Finding(topic="columns", text=text))
    return findings


def split_one_table(public: Path) -> list[Finding]:
    """Make train.csv and test.csv of one table, whose rows of the sample have no target of their own."""
    tables = tables_of(public)
    samples = [path for path in tables if is_sample(path)]
    if len(samples) != 1:
        return []
    sample, asked = samples[0], tables[samples[0]]
    whole = [path for path, names in tables.items() if path != sample and set(asked) <= set(names)]
    if len(whole) != 1 or len(asked) < 2 or any(_called(path, "test") for path in tables):  # noqa: PLR2004
        return []
    [table], ids, targets = whole, asked[0], asked[1:]
    names = tables[table]
    wanted = {cell.strip() for (cell,) in cells(sample, [ids])}
    values = {row[0].strip(): row[1:] for row in cells(table, [ids, *targets])}
    shown = {values.get(each) for each in wanted}
    if len(wanted) < 2 or len(shown) > 1 or None in shown or len(wanted) == len(values):  # noqa: PLR2004
        return []
    inputs = [name for name in names if name not in targets]
    place = names.index(ids)
    rows = list(cells(table, names))
    write_rows(
        public / _TEST,
        inputs,
        (
            row
            for key, row in ((each[0], each[1:]) for each in cells(table, [ids, *inputs]))
            if key.strip() in wanted
        ),
    )
    table.unlink()
    write_rows(public / _TRAIN, names, (row for row in rows if row[place].strip() not in wanted))
    value = next(iter(shown)) or ("",)
    what = f"is {value[0]!r}" if any(map(str.strip, value)) else "is blank"
    text = f"the rows of {table.name} that the sample asks for, whose {_listed(targets)} {what}"
    return [Finding(topic="test", text=text)]


def match_id_names(public: Path) -> tuple[list[Finding], dict[str, str]]:
    """Call the sample's columns as test.csv and train.csv do, where only case and blanks differ.

    The second value has the name outside of each column renamed here.
    """
    roles = Roles.of(public)
    if roles is None or len(roles.samples) != 1:
        return [], {}
    sample = roles.samples[0]
    asked = roles.names(sample)
    there = [*roles.names(roles.test), *roles.names(roles.train)]
    renamed = {name: _alike(name, there) for name in asked if name not in there}
    names = {mine: name for name, mine in renamed.items() if mine and mine not in asked}
    findings = []
    if names:
        outside = {name: mine for mine, name in names.items()}
        rename_columns(sample, [outside.get(name, name) for name in asked])
        findings += [
            Finding(topic="sample", text=f"its {name!r} is the column {mine!r} of the other tables")
            for mine, name in names.items()
        ]
    trained = roles.names(roles.train)
    own = {name: _alike(name, trained) for name in roles.names(roles.test) if name not in trained}
    tested = roles.names(roles.test)
    if pairs := {name: mine for name, mine in own.items() if mine and mine not in tested}:
        rename_columns(roles.test, [pairs.get(name, name) for name in tested])
        if any(name in asked for name in pairs):
            rename_columns(sample, [pairs.get(name, name) for name in header(sample)])
            names |= {mine: name for name, mine in pairs.items() if name in asked}
        text = "; ".join(
            f"{name!r} of test.csv is {mine!r} of train.csv" for name, mine in pairs.items()
        )
        findings.append(Finding(topic="columns", text=text))
    return findings, names


def drop_labels_of_test(public: Path) -> list[Finding]:
    """Drop a column to predict from test.csv where it has one value in all rows, or some blank cells."""
    roles = Roles.of(public)
    if roles is None or len(roles.samples) != 1:
        return []
    test, train, asked = roles.test, roles.train, roles.names(roles.samples[0])
    dropped, findings = [], []
    for name in (each for each in asked[1:] if each in roles.shared):
        counts = Counter(cell.strip() for (cell,) in cells(test, [name]))
        filled = sum(counts.values()) - counts[""]
        if len(counts) == 1 and not _is_constant(train, name):
            text = "is to be predicted and has one value in all rows: left out"
        elif counts[""] and filled:
            text = f"is to be predicted and is blank but for {quantity(filled, 'row')}: left out"
        else:
            continue
        dropped.append(name)
        findings.append(Finding(topic="test", text=f"its column {name!r} {text}"))
    if dropped:
        kept = [name for name in roles.names(test) if name not in dropped]
        write_rows(test, kept, cells(test, kept))
    return findings


def drop_unknown_columns(public: Path, columns: TableColumns) -> list[Finding]:
    """Drop columns from test.csv that no row of train.csv has: nothing can be learned of them."""
    names, known = header(public / _TEST), set(header(public / _TRAIN))
    kept = [name for name in names if name in known or name in columns.id_columns]
    if len(kept) == len(names):
        return []
    unknown = [name for name in names if name not in kept]
    write_rows(public / _TEST, kept, cells(public / _TEST, kept))
    return [Finding(topic="test", text=f"train.csv has no column {_listed(unknown)}: left out")]


def complete_sample(public: Path) -> list[Finding]:
    """Give the sample submission a row for each row of test.csv, where it has only some of them."""
    roles = Roles.of(public)
    if roles is None or len(roles.samples) != 1:
        return []
    sample, test = roles.samples[0], roles.test
    asked = roles.names(sample)
    ids = [name for name in asked if name in roles.names(test)]
    if not ids or len(ids) == len(asked):
        return []
    there = list(cells(sample, ids))
    wanted = list(cells(test, ids))
    known = set(there)
    if not (len(there) == len(known) < len(wanted) == len(set(wanted)) and known < set(wanted)):
        return []
    targets = [name for name in asked if name not in ids]
    given = dict(zip(there, cells(sample, targets), strict=True))
    values = [
        usual_value(Counter(row[place] for row in given.values())) for place in range(len(targets))
    ]
    rows = [(*key, *given.get(key, tuple(values))) for key in wanted]
    write_rows(sample, [*ids, *targets], iter(rows))
    text = f"{len(there):,} rows of {len(wanted):,} in test.csv, an example: all of them are predicted"
    return [Finding(topic="sample", text=text)]


def drop_other_columns(public: Path, given: Sequence[str]) -> tuple[list[Finding], dict[str, str]]:
    """Drop columns of the sample that are not predicted, such as `Usage`; return their constants.

    `given` are the columns to predict that the user has named.

    Raises:
        OpenQuestionError: it is open whether a column is predicted.
    """
    roles = Roles.of(public)
    if roles is None or len(roles.samples) != 1:
        return [], {}
    sample = roles.samples[0]
    asked = roles.names(sample)
    ids = [name for name in asked if name in roles.names(roles.test)] or asked[:1]
    targets = [name for name in asked if name not in ids]
    known = [name for name in targets if name in roles.names(roles.train)]
    other = [name for name in targets if name not in known and name not in given]
    if not known or not other:
        return [], {}
    unsure = [name for name in other if not _is_usage(sample, name)]
    if unsure and not set(given) & set(targets):
        raise OpenQuestionError(
            f"{public}: {sample.name} asks for {_listed(targets)}, and train.csv has no column "
            f"{_listed(unsure)}",
            Question(
                key="target_columns", text="columns to predict", choices=tuple(known), several=True
            ),
            hint="name what to predict in a competition.yaml beside the files: target_columns: [NAME]",
        )
    constants = {
        name: next(cells(sample, [name]), ("",))[0] for name in other if _is_constant(sample, name)
    }
    kept = [name for name in asked if name not in other]
    write_rows(sample, kept, cells(sample, kept))
    text = f"its column {_listed(other)} is not predicted"
    return [Finding(topic="sample", text=text)], constants


def name_targets(
    public: Path, columns: TableColumns, given: Sequence[str]
) -> tuple[list[Finding], TableColumns, dict[str, str]]:
    """Call the sample's columns by what they predict: a column of train.csv, or a class of its label.

    `given` are columns of train.csv or classes, in the order of the sample's columns. The last value has
    the name outside of each column renamed here.

    Raises:
        OpenQuestionError: one column of several in train.csv may be the one to predict.
    """
    train = header(public / _TRAIN)
    targets, labels = columns.target_columns, columns.label_columns
    if set(targets) <= set(train):
        return [], columns, {}
    meant: Sequence[str] | None = None
    if given and len(given) == len(targets) and set(given) != set(targets):
        meant = given
    elif len(targets) == 1 and len(labels) == 1:
        meant = labels
    elif len(targets) == len(labels):
        meant = _classes_of(targets, labels)
    elif len(targets) == 1:
        raise OpenQuestionError(
            f"{public}: the sample submission asks for {targets[0]!r}, and train.csv has "
            f"{len(labels)} columns that test.csv lacks ({_listed(labels)})",
            Question(key="target_columns", text="column to predict", choices=labels, several=True),
            hint="name it in a competition.yaml beside the files: target_columns: [NAME]",
        )
    elif len(labels) == 1:
        classes = {cell.strip() for (cell,) in cells(public / _TRAIN, labels)} - {""}
        meant = _classes_of(targets, classes)
    if meant is None or len(set(meant)) < len(meant) or list(meant) == list(targets):
        return [], columns, {}
    names = dict(zip(meant, targets, strict=True))
    outside = {name: mine for mine, name in names.items()}
    sample = public / _SAMPLE
    rename_columns(sample, [outside.get(name, name) for name in header(sample)])
    changed: dict[str, Any] = {"target_columns": tuple(meant)}
    if set(meant) <= set(train):
        changed["label_columns"] = tuple(meant)
    pairs = ", ".join(f"{name} from {mine}" for mine, name in list(names.items())[:_LISTED])
    text = f"its columns are called by what they predict: {pairs}"
    kept = {mine: name for mine, name in names.items() if mine != name}
    return [Finding(topic="sample", text=text)], columns.model_copy(update=changed), kept


def set_aside_unlabelled(public: Path, columns: TableColumns) -> list[Finding]:
    """Move the rows of train.csv without any label to unlabelled.csv, which has no label columns."""
    train, labels = public / _TRAIN, columns.label_columns
    blank = [not any(map(str.strip, row)) for row in cells(train, labels)]
    if not any(blank) or all(blank):
        return []
    target = public / _UNLABELLED
    if target.exists():  # a table of the download
        target = public / f"train_{_UNLABELLED}"
    names = header(train)
    inputs = [name for name in names if name not in labels]
    pairs = zip(blank, cells(train, inputs), strict=True)
    write_rows(target, inputs, (row for empty, row in pairs if empty))
    labelled = zip(blank, cells(train, names), strict=True)
    write_rows(train, names, (row for empty, row in labelled if not empty))
    text = f"{sum(blank):,} rows of train.csv have no {_listed(labels)}: they are in {target.name}"
    return [Finding(topic="unlabelled", text=text)]


def upload_form(
    asked: Sequence[str], columns: TableColumns, names: Mapping[str, str], constants: Mapping[str, str]
) -> UploadForm:
    """Return the form outside of a submission with these columns; empty if it is the same."""
    here = [*columns.id_columns, *columns.target_columns]
    if not names and not constants and set(here) <= set(asked):
        return UploadForm()
    return UploadForm(columns=tuple(asked), names=dict(names), constants=dict(constants))


def _classes_of(targets: Sequence[str], classes: Iterable[str]) -> list[str] | None:
    """Return the class that each column is called after, without a common prefix or suffix, or None."""
    known: dict[str, list[str]] = {}
    for each in classes:
        known.setdefault(_canonical(each), []).append(each)
    if any(len(spelled) > 1 for spelled in known.values()):
        return None
    start = _common(targets)
    end = _common([name[::-1] for name in targets])
    cuts = chain(
        ((first, 0) for first in range(start, -1, -1)), ((0, last) for last in range(end, 0, -1))
    )
    for first, last in cuts:
        middle = [name[first : len(name) - last] for name in targets]
        keys = [_canonical(each) for each in middle]
        if "" not in keys and len(set(keys)) == len(keys) and set(known) <= set(keys):
            return [
                known[key][0] if key in known else each for key, each in zip(keys, middle, strict=True)
            ]
    return None


def _common(names: Sequence[str]) -> int:
    """Return the number of first characters that all names have in common."""
    return next(
        (place for place, chars in enumerate(zip(*names, strict=False)) if len(set(chars)) > 1),
        min(map(len, names)),
    )


def _canonical(text: str) -> str:
    """Return a word or number in one spelling."""
    try:
        number = float(text)
    except ValueError:
        return "".join(char for char in text.casefold() if char.isalnum())
    return repr(int(number)) if number.is_integer() else repr(number)


def _alike(name: str, names: Sequence[str]) -> str:
    """Return the only name that differs in case and punctuation alone; empty if there is none."""
    alike = {each for each in names if _plain(each) == _plain(name)}
    return alike.pop() if len(alike) == 1 else ""


def _plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _is_usage(sample: Path, name: str) -> bool:
    """Return whether a column of the sample says for which leaderboard a row is used."""
    values = {cell.strip().casefold() for (cell,) in cells(sample, [name])}
    return values <= {"public", "private", "ignored", ""} or name.casefold() == "usage"


def _is_constant(path: Path, name: str) -> bool:
    rows = cells(path, [name])
    first = next(rows, None)
    return first is not None and all(row == first for row in rows)


def _called(path: Path, role: str) -> bool:
    return role in path.stem.lower() and not is_sample(path)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more
