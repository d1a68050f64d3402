"""Assign each row of train.csv to a cross-validation fold by the split rule, for all attempts."""

import heapq
from pathlib import Path

import numpy as np
import pandas as pd

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.groups import check_rule_columns, row_groups, row_periods, row_times
from comind.splits.holdout import hash_shuffled
from comind.splits.split_folder import Split
from comind.tables.csv_tables import read_header, write_table

FOLDS = 5
FOLDS_FILE = "folds.csv"
_COLUMN = "fold"
"""The only column of the file; rows are in the order of train.csv."""

_SEED_OFFSET = 1_000  # makes folds independent of the validation rows


def fold_vector(train: pd.DataFrame, rule: SplitRule, seed: int, folds: int = FOLDS) -> np.ndarray:
    """Return the fold of each row of `train` (text cells), shape (rows,), integers from 0.

    By kind of rule: `random` and `stratified` assign shuffled rows (of each class) round-robin; `group`
    keeps groups whole and assigns the largest first, each to the smallest fold; `time` makes
    consecutive folds, 0 the earliest, with equal times in one fold, and with `within` does so for each
    period. If that gives a single fold, rows are assigned at random. The same table, rule and seed give
    the same folds on every machine.

    Raises:
        CompetitionError: the rule does not fit the table.
    """
    check_rule_columns(train, rule)
    table = train.reset_index(drop=True)
    match rule.kind:
        case "random":
            found = _round_robin(table, None, seed, folds)
        case "stratified":
            found = _round_robin(table, rule.column, seed, folds)
        case "group":
            found = _whole_groups(table, rule, seed, folds)
        case "time":
            found = _consecutive(table, rule, folds)
    return found if len(np.unique(found)) > 1 else _round_robin(table, None, seed, folds)


def write_folds(public: Path, split: Split, target: Path) -> None:
    """Write the folds of `public / "train.csv"` by the split's rule to `target`; deterministic.

    Raises:
        CompetitionError: train.csv cannot be read, or the rule does not fit it.
    """
    path = public / "train.csv"
    try:
        columns = read_header(path)
        used = [name for name in columns if name in split.rule.used_columns] or columns[:1]
        train = pd.read_csv(path, usecols=used, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise CompetitionError(f"{path}: {error}") from None
    write_table(pd.DataFrame({_COLUMN: fold_vector(train, split.rule, split.seed)}), target)


def _round_robin(table: pd.DataFrame, column: str | None, seed: int, folds: int) -> np.ndarray:
    """Assign shuffled rows round-robin, class by class."""
    order = np.array(hash_shuffled(range(len(table)), seed + _SEED_OFFSET), dtype=int)
    if column is not None:
        classes, _ = pd.factorize(table[column], sort=True)
        order = order[np.argsort(classes[order], kind="stable")]
    found = np.empty(len(table), dtype=int)
    found[order] = np.arange(len(table)) % folds
    return found


def _whole_groups(table: pd.DataFrame, rule: SplitRule, seed: int, folds: int) -> np.ndarray:
    numbers, names = pd.factorize(row_groups(table, rule), sort=True)
    sizes = np.bincount(numbers, minlength=len(names))
    order = np.array(hash_shuffled(range(len(names)), seed + _SEED_OFFSET), dtype=int)
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = [(0, fold) for fold in range(folds)]
    fold_of = np.empty(len(names), dtype=int)
    for group in order:
        rows, fold = filled[0]
        fold_of[group] = fold
        heapq.heapreplace(filled, (rows + int(sizes[group]), fold))
    return np.asarray(fold_of[numbers])


def _consecutive(table: pd.DataFrame, rule: SplitRule, folds: int) -> np.ndarray:
    times = row_times(table, rule)
    periods = ["all"] * len(times)
    if rule.within is not None:
        periods = row_periods(table, times, rule).tolist()
    together = times.groupby(np.array(periods, dtype=str))
    places = (together.rank(method="min") - 1) * folds // together.transform("size")
    return places.to_numpy(dtype=int)
