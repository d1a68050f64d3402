"""Run the script of an attempt over other rows in place of those of test.csv."""

import io
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.script.derive import Script
from comind.campaign.work.cell_outputs import SUBMISSION_BYTES
from comind.domain.problem import FITTED_AT
from comind.errors import CompetitionError, DataError, UsageError
from comind.grading.agreement import Verdict, compare_submissions
from comind.session.session_ports import CellStatus
from comind.splits.split_folder import SplitFolder
from comind.system.files import copy_plain_tree, copy_untrusted_tree, read_untrusted, write_atomically
from comind.tables.csv_tables import read_header, read_table, row_keys, write_table
from comind.wiring.runtime import CampaignRuntime

_FITTED_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class AttemptScript:
    """The script of an attempt, and what runs it."""

    runtime: CampaignRuntime
    work: Code
    folder: WorkFolder
    script: Script

    def predict(
        self, rows: pd.DataFrame, place: Path, seconds: float, fitted: Path | None = None
    ) -> tuple[pd.DataFrame, float]:
        """Return ids and predictions of `rows`, in their order, and the running time in seconds.

        Files are written to the folder `place`, `seconds` is the timeout, `fitted` has models that the
        script loads in place of fitting. Columns are those of a submission.

        Raises:
            UsageError: a column of test.csv is missing, or two rows have the same id.
            DataError: the script failed for these rows, or its submission is incomplete.
            SandboxError: no sandbox can be started.
        """
        runtime, script, work, folder = self.runtime, self.script, self.work, self.folder
        public, workspace, split = place / "public", place / "workspace", runtime.split_folder
        copy_plain_tree(runtime.public_folder(work, folder), public, link=lambda _: True)
        keys = _write_rows(rows, public, split)
        write_atomically(workspace / script.file_name, script.text)
        result = runtime.run_script(work, folder, script.arguments, workspace, seconds, public, fitted)
        if result.status is not CellStatus.OK:
            last = result.error.strip().rpartition("\n")[2][:300]
            raise DataError(f"{script.file_name} ended with: {last or result.status}")
        content = read_untrusted(workspace, script.test, limit=SUBMISSION_BYTES)
        write_atomically(place / "submission.csv", content)
        return _predictions(place / "submission.csv", keys, split), result.seconds

    def loading_seconds(
        self, checkpoints: Path, expected: Path, place: Path, seconds: float
    ) -> float | None:
        """Return the running time where the script loads the models that it saved; None if it cannot.

        It predicts half of the test rows, in reverse order, so that predictions kept from the earlier
        run do not pass for models. They have to agree with those in the folder `expected`. The models
        are kept in the attempt's folder. `place` is an empty folder, `seconds` the timeout.

        Raises:
            SandboxError: no sandbox can be started.
        """
        if FITTED_AT not in self.script.text or checkpoints.is_symlink() or not checkpoints.is_dir():
            return None
        split = self.runtime.split_folder
        public = self.runtime.public_folder(self.work, self.folder)
        test = read_table(public / "test.csv", CompetitionError)
        some = test.iloc[: -(-len(test) // 2)].iloc[::-1]
        fitted, before, now = place / "fitted", place / "before.csv", place / "now.csv"
        keys = row_keys(some, list(split.read().id_columns))
        try:
            copy_untrusted_tree(checkpoints, fitted, limit_bytes=_FITTED_BYTES)
            found, took = self.predict(some, place, seconds, fitted)
            _predictions(expected / SubmissionNames().test, keys, split).to_csv(before, index=False)
            found.to_csv(now, index=False)
        except (DataError, UsageError, ValueError, OSError):
            return None
        if compare_submissions(before, now).verdict.distance > Verdict.EQUIVALENT.distance:
            return None
        shutil.rmtree(self.folder.fitted, ignore_errors=True)
        fitted.rename(self.folder.fitted)
        return took


def _write_rows(rows: pd.DataFrame, public: Path, split: SplitFolder) -> pd.Index:
    """Write test.csv and the sample submission for `rows`; return the keys of the rows."""
    columns, ids = read_header(split.public / "test.csv"), list(split.read().id_columns)
    missing = [name for name in columns if name not in rows.columns]
    if missing:
        raise UsageError(f"the rows have no column {missing[0]!r}; needed are {', '.join(columns)}")
    write_table(rows[columns], public / "test.csv")
    keys = row_keys(read_table(public / "test.csv", UsageError), ids)
    if keys.has_duplicates:
        raise UsageError(f"two rows have the id {keys[keys.duplicated()][0]!r}")
    sample = pd.read_csv(split.sample, dtype=str, keep_default_na=False, nrows=1)
    of_rows = rows[ids].assign(**{n: sample[n].iloc[0] for n in sample.columns if n not in ids})
    write_table(of_rows[list(sample.columns)], public / "sample_submission.csv")
    return keys


def _predictions(path: Path, keys: pd.Index, split: SplitFolder) -> pd.DataFrame:
    """Read a submission for the rows with these keys; returned in their order."""
    table = read_table(path, DataError)
    wanted = read_header(split.sample)
    if sorted(table.columns) != sorted(wanted):
        raise DataError(f"the script wrote the columns {', '.join(table.columns)}")
    order = keys.get_indexer(row_keys(table, list(split.read().id_columns)))
    missing = keys.difference(keys[order[order >= 0]])
    if len(missing):
        raise DataError(f"the script wrote no prediction for the row {missing[0]!r}")
    known = table[order >= 0].iloc[order[order >= 0].argsort(kind="stable")]
    return pd.read_csv(io.StringIO(known[wanted].to_csv(index=False)))
