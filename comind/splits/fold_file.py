"""Write the cross-validation fold of each row of train.csv, for all attempts."""

from pathlib import Path

import pandas as pd

from comind.errors import CompetitionError
from comind.splits.rule import Rule
from comind.splits.split_folder import Split
from comind.tables.csv_tables import read_header, write_table

FOLDS_FILE = "folds.csv"
_COLUMN = "fold"
"""The only column of the file; rows are in the order of train.csv."""


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
    folds = Rule.of(split.rule).fold_numbers(train, split.seed)
    write_table(pd.DataFrame({_COLUMN: folds}), target)
