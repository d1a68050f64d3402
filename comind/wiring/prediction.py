"""Predict rows with the delivered script of a campaign; MLflow loads this module as a pyfunc.

The script runs as it did in the campaign, in the same kind of sandbox, over the same training data, with
the given rows in place of test.csv. It loads its models where the proof of the script did so; otherwise
each prediction fits them again, and takes as long.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.solutions_read import solutions_read
from comind.campaign.log.work_events import WORK_EVENTS
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.loop import read_state
from comind.campaign.reports.attempt_lineage import script_for
from comind.campaign.script.derive import Script
from comind.competitions.row_files import FileIndex, files_by_cell, list_files, part_of
from comind.domain.competition import TABLES
from comind.domain.value import Value
from comind.errors import CompetitionError, DataError, UsageError
from comind.eventlog.log import read_log
from comind.splits.split_folder import SplitFolder
from comind.system.files import write_atomically
from comind.system.temporary_folders import temporary_folder
from comind.tables.csv_tables import read_header, read_table, row_keys
from comind.wiring.other_rows import AttemptScript
from comind.wiring.proof import time_limit
from comind.wiring.runtime import CampaignRuntime

_SPEC = "solution.json"
_LOOKED_AT = 1000  # test rows


class _Solution(Value):
    """`solution.json` of a model: the script of an attempt; its text is beside, in the file `script`."""

    campaign: str
    attempt: str
    script: str
    script_sha256: str


def write_model(state: CampaignState, folder: CampaignFolder, target: Path) -> None:
    """Write the files of a model of the delivered solution, where `why_no_model` returns no reason."""
    delivered = state.delivered()
    assert delivered is not None
    script = _script(state, folder, delivered.id)
    solution = _Solution(
        campaign=folder.name,
        attempt=delivered.id,
        script=script.file_name,
        script_sha256=script.sha256,
    )
    write_atomically(target / script.file_name, script.text)
    write_atomically(target / _SPEC, solution.model_dump_json(indent=2) + "\n")


def why_no_model(state: CampaignState, folder: CampaignFolder, split: SplitFolder) -> str:
    """Return in one line why the delivered solution cannot predict other rows; empty if it can."""
    delivered = state.delivered()
    if delivered is None or delivered.submitted is None:
        return "no attempt has a submission"
    if state.submits_programs:
        return "a program solves instances, and predicts no rows"
    proved = state.proofs.get(delivered.id)
    if proved is None or proved.proof == "unproved":
        return f"no run of the script of {delivered.id} has reproduced its submission"
    script = _script(state, folder, delivered.id)
    if others := solutions_read(delivered.work, script.text):
        return f"{delivered.id} reads predictions of {', '.join(others)} for the test rows"
    if not split.is_complete:
        return f"{split.root.name}: the data of the split is missing"
    if name := _other_file_of_test_rows(split.public, split.read().id_columns):
        return f"test rows have content in other files than test.csv, such as {name}"
    return ""


class SolutionModel:
    """A delivered solution as MLflow's pyfunc: takes a table of rows and returns their predictions."""

    def __init__(self, folder: Path, project: Path) -> None:
        """Read the model's files; `project` is the folder of the project that has the campaign.

        Raises:
            UsageError: the project has no such campaign.
            DataError: the model's script is not that of the campaign's log.
        """
        self._by = _Solution.model_validate_json((folder / _SPEC).read_text())
        self._project = ProjectFolder(project)
        self._campaign = self._project.campaign(self._by.campaign)
        if not self._campaign.log.is_file():
            raise UsageError(
                f"{project} has no campaign {self._by.campaign}, whose solution this model is",
                hint="name its project: mlflow.pyfunc.load_model(URI, model_config={'project': FOLDER})",
            )
        self._script = _script(read_state(self._campaign), self._campaign, self._by.attempt)
        if (folder / self._by.script).read_text() != self._script.text:
            raise DataError(f"{self._by.campaign}: {self._by.attempt} has another script than the model")

    def predict(self, rows: pd.DataFrame, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return ids and predictions of `rows`, in their order; columns are those of a submission.

        Raises:
            UsageError: a column of test.csv is missing, or two rows have the same id.
            DataError: the script failed for these rows, or its submission is incomplete.
            SandboxError: no sandbox can be started.
        """
        del params
        with CampaignRuntime(self._project, self._campaign) as runtime:
            state = read_state(self._campaign)
            work = state.works.attempt(self._by.attempt).work
            folder = runtime.folder.work(self._by.attempt)
            seconds = time_limit(state, work, WORK_LOG.read(folder.log).cells)
            proved = state.proofs.get(self._by.attempt)
            by_proof = proved is not None and proved.loading_seconds is not None
            fitted = folder.fitted if by_proof and folder.fitted.is_dir() else None
            with temporary_folder(folder.root, "predict") as place:
                script = AttemptScript(runtime, work, folder, self._script)
                return script.predict(rows, place, seconds, fitted)[0]


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> SolutionModel:
    """Load a model; called by MLflow."""
    project = (model_config or {}).get("project")
    return SolutionModel(Path(path), Path(project) if project else Path.cwd())


def _script(state: CampaignState, folder: CampaignFolder, attempt: str) -> Script:
    script = script_for(state, read_log(folder.work(attempt).log, WORK_EVENTS), attempt)
    assert script is not None, "it has a submission"
    return script


def _other_file_of_test_rows(public: Path, ids: Sequence[str]) -> str:
    """Return a public file that test rows name, or a table that has rows of them; empty if none."""
    files = list_files(public) - set(TABLES)
    test = pd.read_csv(public / "test.csv", dtype=str, keep_default_na=False, nrows=_LOOKED_AT)
    of_ids = FileIndex(files).candidates({cell for column in ids for cell in test[column]})
    if of_ids:
        return min(of_ids, key=lambda name: (part_of(name) == "train", name))
    for column in test.columns:
        if named := files_by_cell(files, test[column]):
            return next(iter(named.values()))
    for name in sorted(files):
        if name.endswith(".csv") and set(ids) <= set(read_header(public / name)):
            found = row_keys(read_table(public / name, CompetitionError), list(ids))
            if found.isin(row_keys(test, list(ids))).any():
                return name
    return ""
