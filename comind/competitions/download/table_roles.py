"""Detect a competition's train, test and sample submission tables, and the roles of their columns."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import pandas as pd

from comind.competitions.download.findings import OpenQuestionError, Question
from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.system.plurals import quantity
from comind.tables.table_files import cells, header, is_sample, like_an_id, stem, tables_of, write_rows
from comind.tables.unified_cells import unify

_TRAIN, _TEST, _SAMPLE = "train.csv", "test.csv", "sample_submission.csv"
_RENAME = "rename the one that is meant {}, and move the other away"


class TableColumns(Value):
    """Columns by role, once the files have their usual names."""

    id_columns: tuple[str, ...]
    train_id_columns: tuple[str, ...] = ()
    label_columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    renamed: dict[str, str] = {}
    """Former file name by usual name; empty for a file that was created."""


def arrange_tables(public: Path, train_ids: Sequence[str] = ()) -> TableColumns:
    """Rename the train, test and sample submission tables to their usual names; return their columns.

    A competition without a test table gets one with the ids of the sample submission. `train_ids` are
    the id columns of the train table, where the user has named them.

    Raises:
        OpenQuestionError: it is open which column of the train table has the ids.
        CompetitionError: the files are ambiguous, or one is missing.
    """
    tables = tables_of(public)
    sample, test, ids = _sample_and_test(public, tables)
    left = [path for path in tables if path not in (sample, test)]
    train = _train_table(public, left)
    if train is None:
        alike = [path.name for path in left if "train" in stem(path)]
        what = "no table of labelled rows (train.csv) is among the files"
        hint = "rename the table that has labels train.csv"
        if len(alike) > 1:
            what = f"{alike[0]} or {alike[1]} may be the table of labelled rows"
            hint = f"{_RENAME.format(_TRAIN)}; parts with the same columns are joined"
        raise CompetitionError(f"{public}: {what}", hint=hint)
    targets = tuple(name for name in tables[sample] if name not in ids)
    tested = tables[test] if test else ids
    columns = _columns(train, tables[train], tested, ids, targets, tuple(train_ids))
    renamed = {}
    moves = [
        (path, usual)
        for path, usual in ((train, _TRAIN), (test, _TEST), (sample, _SAMPLE))
        if path is not None and path != public / usual
    ]
    for path, usual in moves:
        if (public / usual).exists():
            what = f"{usual} or {path.name} may be the one that is meant"
            raise CompetitionError(f"{public}: {what}", hint=_RENAME.format(usual))
    for path, usual in moves:
        renamed[usual] = path.relative_to(public).as_posix()
        path.rename(public / usual)
    if test is None:
        write_rows(public / _TEST, ids, cells(public / _SAMPLE, ids))
        renamed[_TEST] = ""
    return columns.model_copy(update={"renamed": renamed})


def infer_columns(public: Path) -> TableColumns:
    """Return the roles of the columns of train.csv, test.csv and sample_submission.csv.

    Raises:
        CompetitionError: a role is ambiguous.
    """
    usual = [public / name for name in (_SAMPLE, _TEST, _TRAIN)]
    sample, test, ids = _sample_and_test(public, {path: header(path) for path in usual[:2]})
    targets = tuple(name for name in header(sample) if name not in ids)
    return _columns(usual[2], header(usual[2]), header(test) if test else ids, ids, targets)


def _columns(
    path: Path,
    train: Sequence[str],
    test: Sequence[str],
    ids: tuple[str, ...],
    targets: tuple[str, ...],
    train_ids: tuple[str, ...] = (),
) -> TableColumns:
    own = [name for name in train if name not in test]
    missing = [name for name in ids if name not in train]
    if missing and not (train_ids and {*train_ids} <= {*train}):
        other = tuple(name for name in own if name not in targets)
        alike = tuple(filter(like_an_id, other))
        if len(ids) != 1 or len(alike) != 1:
            shown = ", ".join(map(repr, (alike or other)[:6])) or "no column"
            raise OpenQuestionError(
                f"{path.parent}: {_TRAIN} has no column {missing[0]!r}; {shown} may have its ids",
                Question(
                    key="train_id_columns",
                    text="ids of train rows",
                    choices=alike or other,
                    several=True,
                ),
                hint="name its column of ids in a competition.yaml beside the files: "
                "train_id_columns: [NAME]",
            )
        train_ids = alike
    train_ids = train_ids if missing else ()
    labels = [name for name in own if name not in train_ids]
    first = [name for name in targets if name in labels]
    if not labels or (first and len(first) != len(targets)):
        shown = ", ".join(targets[:6])
        raise CompetitionError(
            f"{path.parent}: {_TRAIN} does not hold what {_SAMPLE} asks for ({shown})",
            hint=f"{_TRAIN} needs a column of labels that {_TEST} lacks, called as in the sample",
        )
    # Any other column that only train.csv has is withheld with the labels (leakage).
    labels = first or _classes(path, labels, targets)
    return TableColumns(
        id_columns=ids,
        train_id_columns=train_ids,
        label_columns=tuple(labels),
        target_columns=targets,
    )


def _classes(train: Path, labels: list[str], targets: Sequence[str]) -> list[str]:
    """Return the label column whose values are the target columns, if there is one, else all."""
    if len(labels) == 1:
        return labels
    values = {name: {cell for (cell,) in cells(train, [name])} for name in labels}
    spread = [name for name in labels if values[name] == set(targets)]
    return spread if len(spread) == 1 else labels


def _sample_and_test(
    public: Path, tables: dict[Path, list[str]]
) -> tuple[Path, Path | None, tuple[str, ...]]:
    """Return the sample submission and the test table that has the same ids, and the id columns."""
    samples = [path for path in tables if is_sample(path)]
    samples.sort(key=lambda path: "sample" not in stem(path))
    tests = [path for path in tables if path not in samples and "test" in stem(path)]
    tests.sort(key=lambda path: (stem(path) != "test", len(path.parts)))
    for sample in samples:
        for test in tests:
            ids = tuple(name for name in tables[sample] if name in tables[test])
            ids = ids if len(ids) < len(tables[sample]) else ids[:1]
            if ids and _same_rows(sample, test, ids):
                return sample, test, ids
    if not samples:
        raise _without_sample(public, tables, tests)
    if tests:
        raise _of_other_rows(public, samples[0], tests[0])
    if len(samples) > 1:
        what = f"{samples[0].name} or {samples[1].name} may be the sample submission"
        raise CompetitionError(f"{public}: {what}", hint=_RENAME.format(_SAMPLE))
    return samples[0], None, (tables[samples[0]][0],)


def _without_sample(public: Path, tables: dict[Path, list[str]], tests: list[Path]) -> CompetitionError:
    """Return the error for a missing sample submission; it names the columns that may be predicted."""
    what = "no sample submission is among the files"
    trains = [path for path in tables if "train" in stem(path)]
    own = []
    if len(trains) == len(tests) == 1:
        own = [name for name in tables[trains[0]] if name not in tables[tests[0]]]
    if len(own) < 2:  # noqa: PLR2004 - nothing to choose from
        hint = f"add {_SAMPLE}: the ids of the rows to predict, and a column for each prediction"
        return CompetitionError(f"{public}: {what}", hint=hint)
    columns = f"{len(own)} columns that {tests[0].name} lacks ({', '.join(own[:6])})"
    return OpenQuestionError(
        f"{public}: {what}, and {trains[0].name} has {columns}",
        Question(key="target_columns", text="columns to predict", choices=tuple(own), several=True),
        hint="name what to predict in a competition.yaml beside the files: target_columns: [NAME]",
    )


def _train_table(public: Path, left: Sequence[Path]) -> Path | None:
    """Return the table of labelled rows: the only one with the likeliest kind of name, or None."""
    exact = [path for path in left if re.fullmatch(r"train(ing)?", stem(path))]
    longer = r"(\w*_)?train(ing)?(_?(data|labels?|set))?"
    for found in (
        [path for path in exact if path.parent == public],
        exact,
        [path for path in left if re.fullmatch(longer, path.stem.lower())],
        [path for path in left if "train" in stem(path)],
        [path for path in left if re.fullmatch(r"labels?", stem(path))],
    ):
        if len(found) == 1:
            return found[0]
    return None


def _same_rows(sample: Path, test: Path, ids: tuple[str, ...]) -> bool:
    """Return whether two files have the same ids; compared in order first, which needs no memory."""
    pairs = zip_longest(cells(sample, ids), cells(test, ids))
    if all(one == other for one, other in pairs):
        return True
    one, other = list(cells(sample, ids)), list(cells(test, ids))
    return len(one) == len(other) == len(set(one)) and set(one) == set(other)


def _of_other_rows(public: Path, sample: Path, test: Path) -> CompetitionError:
    """Return the error for a sample submission and a test table of different rows."""
    what = f"{sample.name} does not ask for the rows of {test.name}"
    shared = [name for name in header(sample) if name in header(test)]
    hint = "call the column of ids alike in both, or move the one away that is of other rows"
    if not shared:
        return CompetitionError(f"{public}: {what}: they have no column in common", hint=hint)
    asked, there = ([cell for (cell,) in cells(path, shared[:1])] for path in (sample, test))
    unknown = sorted({*asked} - {*there}) or sorted({*there} - {*asked})
    if not unknown:
        return CompetitionError(
            f"{public}: {what}: several rows have the same {shared[0]!r}",
            hint=f"give each row of both its own {shared[0]!r}",
        )
    where = test if unknown[0] in {*asked} else sample
    what += f": {where.name} lacks {quantity(len(unknown), 'id')}, such as {unknown[0]!r}"
    twice = (pd.Series([*dict.fromkeys(ids)] * 2, dtype=str) for ids in (asked, there))
    same = unify(*twice)  # it leaves columns alone whose cells are all different
    if same.note:
        hint = f"they agree as {same.note}: write the ids of both alike"
    elif {*there} < {*asked}:
        hint = f"add these rows to {test.name}, or leave them out of {sample.name}"
    elif not {*there} & {*asked} and len(there) == len(asked):
        hint = f"give {sample.name} the ids of {test.name}, whose number of rows is the same"
    return CompetitionError(f"{public}: {what}", hint=hint)
