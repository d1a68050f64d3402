"""Check and plan the split of a generated `split_dataset.py` (design, promise 2).

Only its choice of rows and the answers are used; comind writes the files for attempts itself. A program
that leaks labels is rejected all the same: its choice cannot be trusted either.
"""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from comind.competitions.data import CompetitionData
from comind.errors import ReplyError, SubmissionError
from comind.metrics import MetricInfo
from comind.splits.grouping import row_groups
from comind.splits.rule import ByTime
from comind.splits.split_plan import (
    SplitPlan,
    assess_rows,
    compare_tables,
    hashed_key,
    key_parts,
    plain_rule,
)
from comind.system.files import read_untrusted
from comind.tables.csv_tables import read_table, row_keys

TRAIN, VALIDATION = "train.csv", "validation.csv"
SAMPLE, ANSWERS = "sample_validation_submission.csv", "validation_answers.csv"

_RULE_VERSION = 2  # part of the key: before, splits did not store the rule
_TABLE_BYTES = 4 << 30
_LEAST_SHARE, _MOST_SHARE = 0.02, 0.4
_CLASS_SLACK, _STANDARD_ERRORS = 0.02, 3.0
_TAIL = 0.6  # quantile of the training times that the median validation time must reach


class ScriptCheckError(ReplyError):
    """A generated program fails a check; the message names the check and goes into the repair prompt."""

    error_code: ClassVar[str] = "script-check"


@dataclass(frozen=True, slots=True)
class HeldOutRows:
    """The rows that a program holds out, and their answers in the shape of a submission."""

    rows: list[int]
    """Positions in train.csv, ascending."""
    truth: pd.DataFrame
    """Id and target columns, text cells, in the order of `rows`."""


def plan_by_program(
    data: CompetitionData, metric: MetricInfo, held_out: HeldOutRows, programs: Mapping[str, str]
) -> SplitPlan:
    """Plan a split by the rows that a checked program holds out, with the programs to seal.

    Its rule is the one that the program was asked for and checked against: groups and folds go by it.
    """
    data = replace(data, metric=metric)
    rule, reason = plain_rule(data)
    parts = [*key_parts(data, 0, programs), _RULE_VERSION]
    return SplitPlan(
        data=data,
        seed=0,
        key=hashed_key(data.competition, parts),
        rule=rule,
        reason=f"{reason}; a program that the model wrote chose the rows",
        rows=held_out.rows,
        quality=assess_rows(data, compare_tables(data), rule, held_out.rows, ()),
        truth=held_out.truth[list(data.targets)],
        programs=programs,
    )


def check_split(data: CompetitionData, public: Path, private: Path) -> HeldOutRows:
    """Check the untrusted output folders of a split program, and return the rows that it holds out.

    Raises:
        ScriptCheckError: a check fails; the message names it.
    """
    tables = {name: _read_table(public, name) for name in (TRAIN, VALIDATION, SAMPLE)}
    truth = _read_table(private, ANSWERS)
    _check_columns(data, tables, truth)
    rows = _check_ids(data, tables, truth)
    held_back = data.train.iloc[rows]
    validation_keys = row_keys(held_back[list(data.train_ids)], list(data.train_ids))
    truth = _in_order(truth, validation_keys, list(data.ids))
    _check_inputs(data, held_back, _in_order(tables[VALIDATION], validation_keys, list(data.ids)))
    _check_sample(data, tables[SAMPLE])
    _check_truth(data, held_back, truth)
    _check_side_files(data, public, set(validation_keys))
    _check_classes(data, held_back)
    _check_rule(data, rows)
    return HeldOutRows(rows, truth)


def _read_table(folder: Path, name: str) -> pd.DataFrame:
    """Read an untrusted table, at most 4 GiB."""
    try:
        content = read_untrusted(folder, name, limit=_TABLE_BYTES)
        with tempfile.NamedTemporaryFile(suffix=f"-{name}") as file:
            file.write(content)
            file.flush()
            return read_table(Path(file.name), SubmissionError)
    except (SubmissionError, OSError) as error:
        reason = str(error).rpartition(": ")[2]
        raise ScriptCheckError(f"check `files`: {folder.name}/{name}: {reason}") from None


def _check_columns(data: CompetitionData, tables: dict[str, pd.DataFrame], truth: pd.DataFrame) -> None:
    submission = [*data.ids, *data.targets]
    expected = {
        TRAIN: (tables[TRAIN], list(data.train.columns)),
        VALIDATION: (tables[VALIDATION], list(data.test.columns)),
        SAMPLE: (tables[SAMPLE], submission),
        ANSWERS: (truth, submission),
    }
    for name, (table, columns) in expected.items():
        found = list(table.columns)
        if name == VALIDATION and set(found) & set(data.labels):
            label = min(set(found) & set(data.labels))
            raise ScriptCheckError(f"check `withheld columns`: {name} has the label column {label!r}")
        if set(found) != set(columns):
            odd = min(set(found) ^ set(columns))
            state = "is missing in" if odd in columns else "does not belong in"
            raise ScriptCheckError(
                f"check `columns`: the column {odd!r} {state} {name}; it has exactly "
                f"{', '.join(columns[:30])}"
            )


def _check_ids(data: CompetitionData, tables: dict[str, pd.DataFrame], truth: pd.DataFrame) -> list[int]:
    """Check that each labelled row is in one part; return the positions of the held-out rows."""
    everything = row_keys(data.train, list(data.train_ids))
    kept = row_keys(tables[TRAIN], list(data.train_ids))
    held_back = row_keys(tables[VALIDATION], list(data.ids))
    for name, keys in ((TRAIN, kept), (VALIDATION, held_back)):
        if keys.has_duplicates:
            raise ScriptCheckError(f"check `ids`: {keys[keys.duplicated()][0]!r} is twice in {name}")
    both = kept.intersection(held_back)
    if len(both):
        raise ScriptCheckError(
            f"check `disjoint ids`: {len(both)} ids are in both {TRAIN} and {VALIDATION}, for instance "
            f"{both[0]!r}"
        )
    found = kept.append(held_back)
    for label, odd in (
        ("in neither part", everything.difference(found, sort=False)),
        ("not in the original train.csv", found.difference(everything, sort=False)),
    ):
        if len(odd):
            raise ScriptCheckError(
                f"check `all rows`: {len(odd)} ids are {label}, for instance {odd[0]!r}"
            )
    share = len(held_back) / len(everything)
    if not _LEAST_SHARE <= share <= _MOST_SHARE:
        raise ScriptCheckError(f"check `share`: {share:.1%} of the rows are held back; hold back 10 %")
    for name, table in ((SAMPLE, tables[SAMPLE]), (ANSWERS, truth)):
        keys = row_keys(table, list(data.ids))
        if keys.has_duplicates or set(keys) != set(held_back):
            raise ScriptCheckError(f"check `ids`: {name} has other ids than {VALIDATION}")
    return sorted(everything.get_indexer(held_back).tolist())


def _in_order(table: pd.DataFrame, keys: pd.Index, ids: list[str]) -> pd.DataFrame:
    return table.iloc[row_keys(table, ids).get_indexer(keys)].reset_index(drop=True)


def _check_inputs(data: CompetitionData, held_back: pd.DataFrame, validation: pd.DataFrame) -> None:
    """Check that inputs are unchanged: a changed one may encode a label."""
    for column, original in zip(data.test.columns, data.inputs, strict=True):
        differing = ~_same(validation[column], held_back[original])
        if differing.any():
            raise ScriptCheckError(
                f"check `unchanged inputs`: {differing.sum()} values of {column!r} in {VALIDATION} "
                "differ from the original train.csv"
            )


def _check_sample(data: CompetitionData, sample: pd.DataFrame) -> None:
    for column in data.targets:
        known = set(_canonical(data.sample[column]))
        strange = [cell for cell in _canonical(sample[column]) if cell not in known]
        if strange:
            raise ScriptCheckError(
                f"check `withheld values`: {SAMPLE} has {strange[0]!r} as {column!r}; repeat the values "
                "of sample_submission.csv"
            )


def _check_truth(data: CompetitionData, held_back: pd.DataFrame, truth: pd.DataFrame) -> None:
    """Check that the answers are the labels, where a target is a label or a class of it."""
    if data.one_hot or set(data.targets) <= set(data.train.columns):
        labels = data.truth(held_back)
        for column in data.targets:
            wrong = ~_same(truth[column], labels[column].astype(str))
            if wrong.any():
                raise ScriptCheckError(
                    f"check `answers`: {wrong.sum()} of {len(wrong)} values of {column!r} in {ANSWERS} "
                    "are not those of train.csv"
                )


def _check_side_files(data: CompetitionData, public: Path, keys: set[object]) -> None:
    """Check that the public part has no new files, and that no other table leaks labels."""
    original = data.competition.public
    for name in _files(public):
        if name in (TRAIN, VALIDATION, SAMPLE):
            continue
        if not (original / name).is_file():
            raise ScriptCheckError(
                f"check `public files`: {name!r} is not among the input files; write nothing else to "
                "the public folder"
            )
        if not name.endswith(".csv"):
            continue
        table = _read_table(public, name)
        ids = [*data.ids] if set(data.ids) <= set(table.columns) else [*data.train_ids]
        if not set(ids) <= set(table.columns) or not set(data.labels) & set(table.columns):
            continue
        if keys & set(row_keys(table, ids)):
            raise ScriptCheckError(f"check `withheld values`: {name} has labels of held-back rows")


def _files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise ScriptCheckError(f"check `public files`: {name} is a link; copy files")
        if not path.is_dir():
            yield name


def _check_classes(data: CompetitionData, held_back: pd.DataFrame) -> None:
    if len(data.labels) != 1 or not data.metric.answer_kind.of_classes:
        return
    before = data.train[data.labels[0]].value_counts(normalize=True)
    after = held_back[data.labels[0]].value_counts(normalize=True).reindex(before.index, fill_value=0)
    noise = np.sqrt(before * (1 - before) / len(held_back))
    off = (after - before).abs() - (_CLASS_SLACK + _STANDARD_ERRORS * noise)
    if off.max() > 0:
        name = str(off.idxmax())
        raise ScriptCheckError(
            f"check `class balance`: the class {name!r} is {before[name]:.1%} of all rows but "
            f"{after[name]:.1%} of those held back; sample by class"
        )


def _check_rule(data: CompetitionData, rows: list[int]) -> None:
    """Check that groups are whole and validation is late, if the plan's rule requires it."""
    rule, reason = plain_rule(data)
    out = np.zeros(len(data.train), dtype=bool)
    out[rows] = True
    if rule.kind == "group":
        groups = row_groups(data.train, rule)
        torn = set(groups[out]) & set(groups[~out])
        if torn:
            raise ScriptCheckError(
                f"check `whole groups`: rows of {min(torn)!r} are on both sides, though {reason}; hold "
                f"back whole groups of {rule.column!r}"
            )
    if rule.kind == "time":
        times = ByTime.of(rule).order(data.train)[0]
        if times[out].median() < times[~out].quantile(_TAIL):
            which = "earliest" if rule.earliest else "latest"
            raise ScriptCheckError(
                f"check `time`: hold back the {which} rows of {rule.column!r}, as {reason}"
            )


def _same(one: "pd.Series", other: "pd.Series") -> "pd.Series":
    """Compare text cells by value: programs write 22.0 for 22, and nothing for NaN."""
    return pd.Series(np.array(_canonical(one)) == np.array(_canonical(other)))


def _canonical(column: "pd.Series") -> list[str]:
    text = column.astype(str).str.strip()
    numbers = pd.to_numeric(text, errors="coerce")
    missing = text.str.lower().isin(("", "nan", "na", "none", "null", "<na>"))
    plain = text.mask(missing, "").mask(text == "True", "1").mask(text == "False", "0")
    return plain.where(numbers.isna(), numbers.map(lambda value: f"{value:.9g}")).tolist()
