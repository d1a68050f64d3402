"""Inputs beside the tables of an attempt: folds, sample and files of its rows, written on first use."""

import threading
from pathlib import Path
from typing import NamedTuple

from comind.campaign.log.campaign_events import SplitMade
from comind.competitions.row_file_list import ROW_FILES, write_row_files
from comind.domain.problem import FOLDS_AT, ROW_FILES_AT, SAMPLE_AT
from comind.session.session_ports import Input
from comind.splits.extra_folds import FOLDS_FILE, write_folds
from comind.splits.sample_rows import write_sample
from comind.splits.split_folder import Split, SplitFolder

_writing = threading.Lock()


class RowFolders(NamedTuple):
    """The folders of an attempt's rows."""

    public: Path
    """The tables."""
    folds: Path
    sample: Path
    row_files: Path

    @classmethod
    def of_split(cls, split: SplitFolder) -> "RowFolders":
        """Return those of a split or a fold."""
        return cls(split.public, split.folds, split.train_sample, split.row_files)

    @classmethod
    def of_refit(cls, public: Path, root: Path) -> "RowFolders":
        """Return those of a refit, in the folder `root` of its work."""
        return cls(public, root / "input-folds", root / "input-sample", root / "input-row-files")

    def inputs(self, made: SplitMade, split: Split, *, row_files: bool) -> list[Input]:
        """Return what is mounted beside the tables; with `row_files` also the list of the rows' files.

        Campaigns of older versions have no folds or no sample.
        """
        found: list[Input] = []
        with _writing:
            if made.folds:
                if not (self.folds / FOLDS_FILE).is_file():
                    write_folds(self.public, split, self.folds / FOLDS_FILE)
                found.append(Input(self.folds, FOLDS_AT))
            if made.sample_rows:
                if not (self.sample / FOLDS_FILE).is_file():  # written last
                    write_sample(self.public, split, self.sample)
                found.append(Input(self.sample, SAMPLE_AT))
            if row_files and made.program is None:
                if not (self.row_files / ROW_FILES).is_file():
                    ids = split.id_columns, split.train_id_columns
                    write_row_files(self.public, *ids, self.row_files / ROW_FILES)
                found.append(Input(self.row_files, ROW_FILES_AT))
        return found
