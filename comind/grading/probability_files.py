"""Read the probabilities that attempts keep beside labels: of each class, or numbers before rounding."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.competitions.label_spelling import Spelling
from comind.competitions.submission_table import ExpectedSize, read_submission
from comind.domain.metric import ProbabilityForm
from comind.domain.problem import AnswerKind
from comind.errors import SubmissionError
from comind.grading.submission_schema import spellings_of
from comind.metrics import Metric
from comind.metrics.parsing import number_parser, parse_columns
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import check_row_keys, check_train_keys, reject_columns, row_keys


@dataclass(frozen=True, eq=False)
class ProbabilityFiles:
    """Reads files of probabilities for rows with given keys.

    Tables that it returns have the columns `columns`, floats: of classes the probabilities, which sum to
    1 in each row, or finite numbers.
    """

    ids: tuple[str, ...]
    """Id columns of a submission."""
    train_ids: tuple[str, ...]
    """The same columns in train.csv, whose names out-of-fold files may have, too."""
    columns: tuple[str, ...]
    """The classes, sorted as text and spelled as `parse_labels` returns them; or the target column."""
    spelling: Spelling | None = None
    """Of the classes, which columns may be named in other spellings; None for numbers."""

    @classmethod
    def of(cls, folder: SplitFolder, metric: Metric) -> Self:
        """Return the reader for a split; classes are those of its train.csv.

        Raises:
            SubmissionError: there are no probabilities beside its answers.
            CompetitionError: train.csv cannot be read.
        """
        split = folder.read()
        form = metric.traits.probability_form(len(split.target_columns))
        if form is None:
            raise SubmissionError(f"{metric.name} has no probabilities beside its answers")
        ids = split.id_columns, split.train_id_columns
        if form is ProbabilityForm.NUMBER:
            return cls(*ids, split.target_columns)
        spelling = spellings_of(folder, split, metric).get(split.target_columns[0])
        if spelling is None:
            raise SubmissionError("the labels of train.csv are texts rather than classes")
        return cls(*ids, tuple(sorted(spelling.known)), spelling)

    def read(self, path: Path, keys: pd.Index) -> pd.DataFrame:
        """Return the probabilities of the rows with these keys, in their order.

        Raises:
            SubmissionError: columns, keys or values are invalid; in one line with the file's name.
        """
        with _naming(path):
            table = self._table(path, keys)
            found = row_keys(table, list(self.ids))
            check_row_keys(found, keys, " and ".join(self.ids))
            return self._parsed(table.iloc[found.get_indexer(keys)])

    def read_out_of_fold(self, path: Path, keys: pd.Index) -> tuple[npt.NDArray[np.intp], pd.DataFrame]:
        """Return where in `keys`, those of train.csv, the rows of a file are, and their values.

        Places are ascending, shape (rows,). A row with an empty cell counts as missing.

        Raises:
            SubmissionError: columns, keys or values are invalid, or all rows are missing.
        """
        with _naming(path):
            table = self._table(path, keys)
            blank = np.zeros(len(table), dtype=bool)
            for name in self.columns:
                blank |= (table[name].str.strip() == "").to_numpy()
            table = table[~blank]
            found = row_keys(table, list(self.ids))
            check_train_keys(found, keys)
            if not len(found):
                raise SubmissionError("it has no row without an empty cell")
            places = keys.get_indexer(found)
            order = np.argsort(places)
            return places[order], self._parsed(table.iloc[order])

    def _table(self, path: Path, keys: pd.Index) -> pd.DataFrame:
        """Read a file as text with the columns `ids` and `columns`, its rows as they are."""
        size = ExpectedSize.of(keys, self.columns, AnswerKind.CLASS_PROBABILITIES)
        table = read_submission(path, self.ids, self.columns, None, size=size)
        if not set(self.ids) <= set(table.columns) and set(self.train_ids) <= set(table.columns):
            table = table.rename(columns=dict(zip(self.train_ids, self.ids, strict=True)))
        expected = [*self.ids, *self.columns]
        others = [name for name in table.columns if name not in self.ids]
        if self.spelling is not None and set(self.ids) <= set(table.columns):
            table = table.rename(columns=_classes(others, self.spelling))
        if set(table.columns) != set(expected):
            reject_columns(list(table.columns), expected)
        return table

    def _parsed(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the values of a table of text, those of classes divided by their sums."""
        parse = number_parser() if self.spelling is None else number_parser(at_least=0)
        found = parse_columns(parse, table, self.columns, SubmissionError).reset_index(drop=True)
        if self.spelling is None:
            return found
        highest = found.max(axis="columns")
        if (zero := highest == 0).any():
            first = row_keys(table, list(self.ids))[zero.to_numpy()][0]
            raise SubmissionError(f"{zero.sum()} rows have only zeros, for instance that of {first!r}")
        found = found.div(highest, axis="index")  # sums of large ones are infinite
        return found.div(found.sum(axis="columns"), axis="index")


def _classes(names: Sequence[str], spelling: Spelling) -> dict[str, str]:
    """Return the class that each column means.

    Raises:
        SubmissionError: a column means none, two mean the same one, or a class has no column.
    """
    meant = dict(zip(names, spelling.match(pd.Series(names, dtype=str)), strict=True))
    by_class: dict[str, str] = {}
    for name, label in meant.items():
        if label not in spelling.known:
            raise SubmissionError(f"the column {name!r} is no class of train.csv; they are {spelling}")
        if label in by_class:
            raise SubmissionError(f"the columns {by_class[label]!r} and {name!r} are of the same class")
        by_class[label] = name
    missing = sorted(spelling.known - by_class.keys())
    if missing:
        raise SubmissionError(
            f"{len(missing)} classes of train.csv have no column, such as {missing[0]!r}; "
            "write 0 for a class that is never predicted"
        )
    return meant


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the file's name to errors, and remove its path on the host."""
    try:
        yield
    except SubmissionError as error:
        raise SubmissionError(f"{path.name}: {str(error).removeprefix(f'{path}: ')}") from None
