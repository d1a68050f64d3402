"""Keep near-duplicates of held-out files out of train, where test rows have none there either."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.competitions.row_file_list import TABLES_OR_PAGES, find_files_of_rows
from comind.competitions.row_files import file_kind, list_files
from comind.splits.near_duplicates import file_clusters
from comind.splits.shuffling import hash_shuffled
from comind.system.plurals import quantity

_MOST_SHARED = (
    0.02  # of test rows with a near-duplicate in train; from there on, validation may have them
)
_LEAST_KEPT = 0.5  # of the training rows

Clusters = npt.NDArray[np.intp]


class Separation(NamedTuple):
    """Validation rows, and rows in neither part, by position and ascending."""

    rows: list[int]
    excluded: list[int]
    note: str = ""
    """What was done about near-duplicates, in a line; empty for nothing."""
    mixed: Sequence[int] = ()
    """The excluded rows that have groups of both parts, by a rule of several groupings."""


@dataclass(frozen=True, slots=True, eq=False)
class RowClusters:
    """The cluster of near-duplicate files of each row of train and of test."""

    train: Clusters
    test: Clusters
    note: str = ""
    """What was given up in the search for near-duplicates."""

    @property
    def answer_nothing(self) -> bool:
        """True if files in train say no more of validation rows than of test rows.

        That is where no two train rows have near-duplicates, or where 2 % of the test rows have some.
        """
        if len(np.unique(self.train)) == len(self.train):
            return True
        return len(self.test) == 0 or float(np.isin(self.test, self.train).mean()) >= _MOST_SHARED

    def separate(self, rows: list[int], *, whole: bool, seed: int) -> Separation:
        """Return the rows to hold out and to exclude, so that no cluster is on both sides.

        Near-duplicates of held-out files are excluded from train. Where they are more than the held-out
        rows, and `whole` permits other rows, whole clusters are held out, about as many rows.
        """
        if self.answer_nothing:
            return Separation(rows, [])
        excluded = twins_of(rows, self.train)
        if len(excluded) > len(rows) and whole:
            chosen = self._whole_clusters(rows, seed)
            if len(chosen) < len(self.train) * _LEAST_KEPT:
                return self._noted(chosen, [], "near-duplicate files are held out together")
        left = len(self.train) - len(rows)
        if not excluded:
            return Separation(rows, [])
        if left - len(excluded) < _LEAST_KEPT * left:
            return Separation(rows, [])
        count = quantity(len(excluded), "row")
        return self._noted(
            rows, excluded, f"{count} with near-duplicates of held-out files are in neither part"
        )

    def _noted(self, rows: list[int], excluded: list[int], note: str) -> Separation:
        return Separation(rows, excluded, "; ".join(filter(None, (note, self.note))))

    def _whole_clusters(self, rows: Sequence[int], seed: int) -> list[int]:
        """Return all rows of some clusters of `rows`, until they are as many."""
        members = pd.Series(range(len(self.train))).groupby(self.train).agg(list)
        firsts = {members[cluster][0]: members[cluster] for cluster in np.unique(self.train[rows])}
        chosen: list[int] = []
        for first in hash_shuffled(sorted(firsts), seed):
            more = firsts[first]
            if not chosen or abs(len(chosen) + len(more) - len(rows)) < abs(len(chosen) - len(rows)):
                chosen += more
        return sorted(chosen)


def twins_of(rows: Sequence[int], clusters: Clusters) -> list[int]:
    """Return the positions of the other rows in the clusters of `rows`, ascending."""
    related = np.isin(clusters, clusters[list(rows)])
    related[list(rows)] = False
    return [int(row) for row in related.nonzero()[0]]


def cluster_rows(
    train: pd.DataFrame, test: pd.DataFrame, public: Path, *, saved: Path | None = None
) -> RowClusters | None:
    """Cluster the rows of two tables (text cells, the same columns) by the files that they name.

    Hashes of files are saved below the folder `saved`, if there is one.

    None where no column names a file in each row of both.
    """
    found = find_row_files(train, test, public)
    if found is None:
        return None
    of_train, of_test = found
    files = sorted({*of_train, *of_test})
    kinds = {file_kind(file) for file in files}
    kind = kinds.pop() if len(kinds) == 1 else ""
    clusters, note = file_clusters([public / file for file in files], kind, saved=saved)
    number = dict(zip(files, clusters.tolist(), strict=True))
    rows = [np.array([number[file] for file in each], dtype=np.intp) for each in found]
    return RowClusters(rows[0], rows[1], note)


def find_row_files(
    train: pd.DataFrame, test: pd.DataFrame, public: Path
) -> tuple[list[str], list[str]] | None:
    """Return the file of each row, relative to `public`, by a column that names one in every row.

    Only a whole path names a file that is no image, audio or text.
    """
    if train.empty or test.empty:
        return None
    files = (name for name in list_files(public) if not name.lower().endswith(TABLES_OR_PAGES))
    for kind, (column, named) in find_files_of_rows(files, train, test).items():
        found = [named.train.get(cell, "") for cell in train[column]]
        asked = [named.test.get(cell, "") for cell in test[column]]
        whole = kind != "other" or {*found} <= {*train[column]}
        if whole and not named.ambiguous and all(found) and all(asked):
            return found, asked
    return None
