"""Draw a sample of train.csv by the split's rule: the rows that a step on few rows is fitted on.

It is a part of the rows as a fold is one: rows at random, of each class in proportion, whole groups, or
by time the rows next to the held-out ones, of each period. Where groups or times are too few or too
large for that, rows at random. It depends on train.csv, the rule and its seed alone.
"""

from pathlib import Path

import pandas as pd

from comind.errors import CompetitionError
from comind.splits.extra_folds import FOLDS_FILE, read_rule_columns, write_folds
from comind.splits.rule import Rule
from comind.splits.shuffling import round_robin
from comind.splits.split_folder import Split
from comind.tables.csv_tables import Mask, read_table, write_table

_ROWS = 2_000
_MOST, _LEAST = 10, 50  # one of so many rows is wanted
_LEAST_ROWS = 300  # of a sample, without which there is none
_FACTOR = 2  # by which a part by the rule may be larger or smaller than wanted
_SEED = 2_000  # added to the split's, so that the sample is independent of validation rows and folds


def count_sample(public: Path, split: Split) -> int:
    """Return the number of rows of the sample of `public / "train.csv"`; 0 if it has too few rows.

    Raises:
        CompetitionError: train.csv cannot be read, or the rule does not fit it.
    """
    if split.train_rows // _MOST < _LEAST_ROWS:
        return 0
    rows = int(_sample_of(read_rule_columns(public, split), split).sum())
    return rows if rows >= _LEAST_ROWS else 0


def write_sample(public: Path, split: Split, target: Path) -> None:
    """Write the sample of `public / "train.csv"`, with all columns, and its folds to a folder.

    Raises:
        CompetitionError: train.csv cannot be read, or the rule does not fit it.
    """
    chosen = _sample_of(read_rule_columns(public, split), split)
    write_table(read_table(public / "train.csv", CompetitionError), target / "train.csv", rows=chosen)
    write_folds(target, split, target / FOLDS_FILE)


def _sample_of(train: pd.DataFrame, split: Split) -> Mask:
    """Return which rows are in the sample.

    Wanted are 2,000, but at most a tenth and at least a fiftieth; whole groups, equal times and rare
    classes may make it half or twice as many. Stratified ones have a row of each class, unless there are
    too many classes for that.
    """
    rows = len(train)
    wanted = max(1, rows // _LEAST, min(rows // _MOST, _ROWS))
    parts, seed = max(2, round(rows / wanted)), split.seed + _SEED
    numbers = Rule.of(split.rule).fold_numbers(train, seed, parts)
    chosen: Mask = numbers == numbers.max()
    if not wanted / _FACTOR <= chosen.sum() <= wanted * _FACTOR:
        chosen = round_robin(rows, None, seed, parts) == 0
    if split.rule.kind != "stratified":
        return chosen
    classes = train[str(split.rule.column)]
    missing = ~classes.isin(classes[chosen]) & ~classes.duplicated()
    added = chosen | missing.to_numpy()
    return added if added.sum() <= wanted * _FACTOR else chosen
