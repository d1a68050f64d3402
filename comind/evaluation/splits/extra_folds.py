"""Further folds of a split: other validation rows by the same rule, sealed as the first ones are.

A fold is made from the split's own folder, which holds all labelled rows in its sealed part; so whoever
has the split can make the fold again, byte by byte.
"""

import threading
from pathlib import Path
from typing import NamedTuple

from comind.domain.competition import Competition, SplitRule
from comind.errors import CompetitionError
from comind.evaluation.grading import keys_of
from comind.evaluation.metrics import known_metric
from comind.evaluation.splits.holdout import choose_fold, iter_folds
from comind.evaluation.splits.quality import SplitQuality
from comind.evaluation.splits.split_files import seal
from comind.evaluation.splits.split_folder import Split, SplitFolder
from comind.evaluation.splits.split_plan import SplitPlan
from comind.evaluation.tables import read_table
from comind.system.failpoints import failpoint
from comind.system.files import copy_plain_tree, write_atomically
from comind.system.temporary_folder import temporary_folder

__all__ = ["FoldCount", "count_folds", "fold_folder", "make_fold"]

_making = threading.Lock()
_LEAST_SHARE = 0.5  # of the split's own rows: of validation rows, and of rows to learn from


class FoldCount(NamedTuple):
    """How many folds there are beside the split's own validation rows, and why no more."""

    folds: int
    reason: str
    """Empty where there are as many as were asked for."""


class FoldPlan(SplitPlan):
    """The plan of one fold of a split."""

    imitates = False
    linked = True

    def __init__(self, split: Split, number: int, labelled: Path) -> None:
        """Choose the rows of fold `number`, from 1; `labelled` holds `public/` with all labelled rows.

        Raises:
            CompetitionError: the table does not bear so many folds.
        """
        competition = Competition(
            folder=labelled,
            id=split.competition,
            title=split.title,
            metric=split.metric,
            id_columns=split.id_columns,
            train_id_columns=split.train_id_columns,
            label_columns=split.label_columns,
            target_columns=split.target_columns,
            split=split.rule,
        )
        super().__init__(competition, split.seed, known_metric(split.metric))
        self._split, self._number = split, number
        rows, self.left_out = choose_fold(self.train, split.rule, split.seed, number)
        if why := _too_small(split, len(rows), len(self.train) - len(rows) - len(self.left_out)):
            raise CompetitionError(f"fold {number} of {split.key}: {why}")
        self._rows = rows

    @property
    def key(self) -> str:
        """Name of the fold: the split's, and the fold's number."""
        return _key(self._split, self._number)

    @property
    def rule_with_reason(self) -> tuple[SplitRule, str]:
        """The split's own rule."""
        return self._split.rule, f"fold {self._number} of {self._split.key}"

    def validation_rows(self) -> list[int]:
        """Return the positions of the fold's rows, ascending."""
        return self._rows

    def standing(self, positions: list[int]) -> SplitQuality:
        """Return nothing: the split has been held against the test set already."""
        del positions
        return SplitQuality()


def count_folds(folder: SplitFolder, most: int) -> FoldCount:
    """Return how many folds, at most `most`, the labelled rows bear beside the first validation rows.

    Raises:
        CompetitionError: the split is not whole.
    """
    split = folder.read()
    if split.written:
        return FoldCount(0, "the evaluator was written for the first validation rows")
    train = read_table(folder.full / "train.csv", CompetitionError)
    folds = iter_folds(train, split.rule, split.seed)
    first, _ = next(folds)
    held_back = keys_of(train.iloc[first], list(split.train_id_columns))
    validation = read_table(folder.public / "validation.csv", CompetitionError)
    if not held_back.equals(keys_of(validation, list(split.id_columns))):
        return FoldCount(0, "the split was made by an earlier version of its rule")
    for number in range(1, most + 1):
        rows, later = next(folds, ([], []))
        if why := _too_small(split, len(rows), len(train) - len(rows) - len(later)):
            return FoldCount(number - 1, why)
    return FoldCount(most, "")


def fold_folder(folder: SplitFolder, number: int) -> SplitFolder:
    """Return where fold `number` of a split lies once it is made, beside the split's own parts."""
    return SplitFolder(_place(folder) / _key(folder.read(), number))


def make_fold(folder: SplitFolder, number: int) -> SplitFolder:
    """Return fold `number`, from 1, of the split in `folder`; made where it is not there yet.

    It is sealed as the split itself is. Files that stay as they are take no room of their own, where the
    file system has hard links.

    Raises:
        CompetitionError: the labelled rows do not bear so many folds, or the split is not whole.
    """
    with _making:  # finalists begin to run on a fold at the same moment
        made = fold_folder(folder, number)
        return made if made.is_complete else _made(folder, number)


def _made(folder: SplitFolder, number: int) -> SplitFolder:
    place = _place(folder)
    write_atomically(place / ".gitignore", "*\n")  # labels are in it, and it can be made again
    with temporary_folder(place, ".labelled") as staged:  # its labels go even where a process is killed
        public = staged / "public"
        copy_plain_tree(folder.public, public, link=True)
        copy_plain_tree(folder.full, public, link=True)
        for name in ("validation.csv", folder.validation_sample.name):
            (public / name).unlink()
        sealed = seal(FoldPlan(folder.read(), number, staged), place, scratch=staged)
    failpoint("fold-made")
    return sealed


def _too_small(split: Split, held_back: int, kept: int) -> str:
    """Return why rows make no fold; empty where they do."""
    if held_back < _LEAST_SHARE * split.validation_rows:
        rows = f"{held_back} row{'s' * (held_back != 1)}"
        return f"another fold would have {rows}, and validation has {split.validation_rows}"
    if kept < _LEAST_SHARE * split.train_rows:
        return f"{kept} rows would be left to learn from, of {split.train_rows}"
    return ""


def _key(split: Split, number: int) -> str:
    return f"{split.key}-fold-{number}"


def _place(folder: SplitFolder) -> Path:
    return folder.root / "further"
