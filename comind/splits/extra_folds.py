"""Make further folds of a split, other validation rows by the same rule, and number those of train.csv.

A further fold is made from the split's own folder, whose sealed part holds all labelled rows, so it is
reproducible byte by byte from the split.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.competitions.data import CompetitionData, is_one_hot
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.metrics import MetricInfo
from comind.splits.grouping import Grouping
from comind.splits.rule import Fold, Rule
from comind.splits.split_files import write_split
from comind.splits.split_folder import Split, SplitFolder
from comind.splits.split_plan import SplitPlan
from comind.splits.twin_files import Clusters, twins_of
from comind.system.failpoints import failpoint
from comind.system.files import copy_plain_tree, write_atomically
from comind.system.plurals import quantity
from comind.system.temporary_folders import temporary_folder
from comind.tables.csv_tables import read_header, read_table, row_keys, write_table

FOLDS_FILE = "folds.csv"
_COLUMN = "fold"
"""The only column of this file; rows are in the order of train.csv."""
LABELLED = ".labelled"
"""Prefix of the folders in which folds are made."""

_making = threading.Lock()
_LEAST_SHARE = 0.5  # of the split's numbers of validation rows and of training rows


class FoldCount(NamedTuple):
    """The number of further folds that a split allows, and the reason why not more."""

    folds: int
    reason: str
    """Empty if there are as many as requested."""


def _plan_fold(folder: SplitFolder, number: int, labelled: Path) -> SplitPlan:
    """Plan fold `number`, from 1, of a split; `labelled/public/` has all labelled rows.

    Raises:
        CompetitionError: there are too few rows for this fold.
    """
    split = folder.read()
    columns = {"id_columns", "train_id_columns", "label_columns", "target_columns"}
    competition = Competition(
        folder=labelled,
        id=split.competition,
        split=split.rule,
        positive_class=split.positive_class or None,
        **split.model_dump(include={"title", "metric", "metric_function", *columns}),
    )
    if split.generated:
        data = CompetitionData.read_without_metric(competition)
        program = MetricInfo(split.metric, maximize=split.maximize, answer_kind=split.answer_kind)
        data = replace(data, metric=program)
    else:
        data = CompetitionData.read(competition, folder.read_metric())
    rows, later = next(islice(_folds(folder, data.train), number, None), Fold([], []))
    excluded = _with_twins(rows, later, _clusters(folder))
    if why := _too_small(split, len(rows), len(data.train) - len(rows) - len(excluded)):
        raise CompetitionError(f"fold {number} of {split.key}: {why}")
    return SplitPlan(
        data=data,
        seed=split.seed,
        key=_key(split, number),
        rule=split.rule,
        reason=f"fold {number} of {split.key}",
        rows=rows,
        excluded=excluded,
        programs={each.name: each.read_text() for each in folder.programs.glob("*.py")},
        is_fold=True,
    )


def count_folds(folder: SplitFolder, most: int) -> FoldCount:
    """Return how many further folds, at most `most`, the labelled rows are enough for.

    Raises:
        CompetitionError: the split is incomplete.
    """
    split = folder.read()
    if split.program is not None:
        made = len(list(folder.sealed.glob("fold-*.json")))
        return FoldCount(min(most, made), "" if made >= most else "there are too few sealed instances")
    train = read_table(folder.full / "train.csv", CompetitionError)
    shape = split.label_columns, split.target_columns
    known = set(split.target_columns) <= {*train.columns}
    if split.generated and not known and not is_one_hot(train, *shape, split.answer_kind):
        return FoldCount(0, "a program computes the true values, for the first validation rows alone")
    folds = _folds(folder, train)
    first, _ = next(folds)
    held_out = row_keys(train.iloc[first], list(split.train_id_columns))
    validation = read_table(folder.public / "validation.csv", CompetitionError)
    clusters = _clusters(folder)
    if not held_out.equals(row_keys(validation, list(split.id_columns))):
        if clusters is not None:
            return FoldCount(0, "near-duplicate files are held out together")
        return FoldCount(0, "the split was made by an earlier version of its rule")
    for number in range(1, most + 1):
        try:
            rows, later = next(folds, Fold([], []))
        except CompetitionError as error:  # of the rule on the rows that a program left
            return FoldCount(number - 1, str(error))
        excluded = _with_twins(rows, later, clusters)
        if why := _too_small(split, len(rows), len(train) - len(rows) - len(excluded)):
            return FoldCount(number - 1, why)
    return FoldCount(most, "")


def _folds(folder: SplitFolder, train: pd.DataFrame) -> Iterator[Fold]:
    """Yield the validation rows of a split, then those of its further folds.

    Where a program chose the first, the rule chooses among all other rows; the first are excluded from
    folds where they are later, or of a group of the fold.
    """
    split = folder.read()
    rule = Rule.of(split.rule)
    if not split.generated:
        yield from rule.folds(train, split.seed)
        return
    validation = read_table(folder.public / "validation.csv", CompetitionError)
    keys = row_keys(train, list(split.train_id_columns))
    first = np.sort(keys.get_indexer(row_keys(validation, list(split.id_columns))))
    yield Fold(first.tolist(), [])
    rest = np.setdiff1d(np.arange(len(train)), first)
    groupings = split.rule.groupings if rule.stored.kind == "group" else ()
    groups = [np.asarray(Grouping.of(each).names(train)) for each in groupings]
    for rows, excluded in rule.folds(train.iloc[rest].reset_index(drop=True), split.seed):
        taken = rest[rows]
        apart = np.full(len(first), rule.stored.kind == "time")
        for names in groups:
            apart |= np.isin(names[first], names[taken])
        yield Fold(taken.tolist(), sorted({*rest[excluded].tolist(), *first[apart].tolist()}))


def fold_folder(folder: SplitFolder, number: int) -> SplitFolder:
    """Return the folder of fold `number`, whether or not it has been made."""
    return SplitFolder(folder.further / _key(folder.read(), number))


def make_fold(folder: SplitFolder, number: int) -> SplitFolder:
    """Return fold `number`, from 1, of a split; make it on the first call. Thread-safe and idempotent.

    Unchanged files are hard links, where the file system supports them.

    Raises:
        CompetitionError: there are too few rows for this fold, or the split is incomplete.
    """
    with _making:  # several finalists may request a fold at once
        made = fold_folder(folder, number)
        return made if made.is_complete else _make(folder, number)


def _make(folder: SplitFolder, number: int) -> SplitFolder:
    place = folder.further
    write_atomically(place / ".gitignore", "*\n")  # it holds labels
    with temporary_folder(place, LABELLED) as staged:  # its labels are removed even after a kill
        public = staged / "public"
        copy_plain_tree(folder.public, public, link=lambda _: True)
        copy_plain_tree(folder.full, public, link=lambda _: True)
        for name in ("validation.csv", folder.validation_sample.name):
            (public / name).unlink()
        sealed = write_split(_plan_fold(folder, number, staged), place, scratch=staged)
    failpoint("fold-made")
    return sealed


def _clusters(folder: SplitFolder) -> Clusters | None:
    """Return the cluster of each labelled row's file; None where near-duplicates changed nothing."""
    if not folder.near_duplicates.is_file():
        return None
    return read_table(folder.near_duplicates, CompetitionError)["cluster"].to_numpy().astype(np.intp)


def _with_twins(rows: list[int], later: list[int], clusters: Clusters | None) -> list[int]:
    """Return the rows excluded from a fold: later ones, and those with near-duplicates of its files."""
    return later if clusters is None else sorted({*later, *twins_of(rows, clusters)})


def _too_small(split: Split, held_out: int, kept: int) -> str:
    """Return why there are too few rows for a fold; empty if there are enough."""
    if held_out < _LEAST_SHARE * split.validation_rows:
        rows = quantity(held_out, "row")
        return f"another fold would have {rows}, and validation has {split.validation_rows}"
    if kept < _LEAST_SHARE * split.train_rows:
        return f"{kept} rows would be left to learn from, of {split.train_rows}"
    return ""


def _key(split: Split, number: int) -> str:
    return f"{split.key}-fold-{number}"


def write_folds(public: Path, split: Split, target: Path) -> None:
    """Write the folds of `public / "train.csv"` by the split's rule to `target`; deterministic.

    Raises:
        CompetitionError: train.csv cannot be read, or the rule does not fit it.
    """
    folds = Rule.of(split.rule).fold_numbers(read_rule_columns(public, split), split.seed)
    write_table(pd.DataFrame({_COLUMN: folds}), target)


def read_rule_columns(public: Path, split: Split) -> pd.DataFrame:
    """Return the columns of `public / "train.csv"` that the split's rule needs, as text; at least one.

    Raises:
        CompetitionError: train.csv cannot be read.
    """
    path = public / "train.csv"
    try:
        columns = read_header(path)
        used = [name for name in columns if name in split.rule.used_columns] or columns[:1]
        return pd.read_csv(path, usecols=used, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise CompetitionError(f"{path}: {error}") from None
