"""Write the public files of a refit: all labelled rows but a few, which stay in validation.csv.

A script may join the three tables, or look rows up by their ids, so no row may stand in two of them. The
few are a twentieth of the split's validation rows and at least ten, but no more than half, in whole
groups where its rule has groups, the smallest first. Where a rule of time holds out the latest rows,
which a refit needs most, or no group is small enough, all validation rows stand in both tables.
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from comind.errors import CompetitionError
from comind.splits.split_folder import SplitFolder
from comind.system.files import copy_plain_tree
from comind.tables.csv_tables import read_table, row_keys, write_table

if TYPE_CHECKING:
    import numpy.typing as npt

_SHARE, _LEAST = 20, 10  # one of so many validation rows, and at least so many


def write_refit_rows(folder: SplitFolder, target: Path, *, apart: bool = True) -> None:
    """Write the public files of a split's refit to a new folder.

    Without `apart` all validation rows stand in both tables, as in refits of earlier versions.
    """
    staged = target.with_name(f"{target.name}.new")
    shutil.rmtree(staged, ignore_errors=True)
    copy_plain_tree(folder.public, staged)
    shutil.copytree(folder.full, staged, dirs_exist_ok=True)
    if apart and folder.read().rule.kind != "time":
        _keep_apart(folder, staged)
    staged.rename(target)


def _keep_apart(folder: SplitFolder, public: Path) -> None:
    """Leave a few rows in validation.csv, and take them out of train.csv."""
    split = folder.read()
    names = ("train.csv", "validation.csv", folder.validation_sample.name)
    train, validation, sample = (read_table(public / name, CompetitionError) for name in names)
    groups = folder.read_groups()
    kept = _few(np.arange(len(validation)) if groups is None else groups)
    if kept.any():
        keys = row_keys(validation, list(split.id_columns))[kept]
        others = ~row_keys(train, list(split.train_id_columns)).isin(keys)
        write_table(train, public / names[0], rows=others)
        write_table(validation, public / names[1], rows=kept)
        write_table(sample, public / names[2], rows=kept)


def _few(groups: "npt.NDArray[np.intp]") -> "npt.NDArray[np.bool_]":
    """Return which rows stay, by the group number of each row; none if all groups are too large."""
    most = len(groups) // 2
    wanted = min(most, max(_LEAST, len(groups) // _SHARE))
    kept, rows = list["np.intp"](), 0
    sizes = np.bincount(groups)
    for number in np.argsort(sizes, kind="stable"):
        size = int(sizes[number])
        if rows < wanted and rows + size <= most:
            kept.append(number)
            rows += size
    return np.isin(groups, kept)
