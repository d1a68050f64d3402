"""Everything that the attempts of one campaign share within one process.

Only names cross the border of a Prefect task; the task finds the live things behind them here.
"""

import math
import os
import shutil
import threading
from functools import cached_property
from pathlib import Path

import psutil

from comind.agents.comind import CoMind
from comind.authoring import WrittenGrader
from comind.campaign.budget import Purse
from comind.campaign.events import CampaignSpec, SplitMade
from comind.campaign.folder import CampaignFolder, ProjectFolder, WorkFolder
from comind.campaign.loop import read_state
from comind.campaign.plan import BASELINE_ROLE, Agent, Code
from comind.campaign.refit import REFIT_ROLE
from comind.campaign.worker import Equipment
from comind.domain.draft import Operator
from comind.errors import CampaignError, UsageError
from comind.evaluation.grader_process import GraderProcess
from comind.evaluation.preview import describe_problem
from comind.evaluation.report import Grader
from comind.evaluation.splits import SplitFolder
from comind.llm.base import ChatModel
from comind.session.base import Input, Session
from comind.session.choice import choose_sandbox
from comind.session.kernel import KernelSession
from comind.system.files import copy_plain_tree
from comind.wiring.models import OFFLINE, build_model
from comind.wiring.purse import purse_of

__all__ = ["AGENTS", "Workshop", "close_workshops", "workshop_of"]

AGENTS = ("comind",)


class Workshop:
    """One campaign's agent, models, purse and grader; made on first use, safe to share."""

    def __init__(self, project: ProjectFolder, campaign: CampaignFolder) -> None:
        """Read the campaign's log.

        Raises:
            CampaignError: the campaign has no split yet.
        """
        state = read_state(campaign)
        if state.split is None:
            raise CampaignError(f"the campaign {campaign.name} has no split yet")
        self._project = project
        self.folder = campaign
        self.spec: CampaignSpec = state.spec
        self.split: SplitMade = state.split
        self.split_folder = SplitFolder(project.splits / state.split.key)
        self._budget = state.budget

    @cached_property
    def agent(self) -> Agent:
        """The campaign's agent."""
        if self.spec.agent not in AGENTS:
            raise UsageError(f"unknown agent {self.spec.agent!r}", hint=f"one of {', '.join(AGENTS)}")
        return CoMind(describe_problem(self.split_folder), seed=self.spec.seed)

    @cached_property
    def grader(self) -> Grader:
        """The one process that holds the validation labels, or the evaluator that was written."""
        if self.split_folder.read().written:
            return WrittenGrader(self.split_folder, choose_sandbox(self.spec.sandbox, own_code=False))
        return GraderProcess(self.split_folder.root, self.folder.root / "grader.log")

    @cached_property
    def model(self) -> ChatModel:
        """The model that the user named."""
        return build_model(self.spec.model)

    @cached_property
    def purse(self) -> Purse:
        """What the campaign may still spend, counted over the logs of all its work."""
        return purse_of(self.folder, self._budget)

    def model_of(self, role: str) -> ChatModel:
        """Return the model that a role asks; the baseline is ours whatever the campaign's model is."""
        return build_model(OFFLINE) if role == BASELINE_ROLE else self.model

    def equipment(self, grader: Grader) -> Equipment:
        """Return what work is carried out with; gradings go through `grader`."""
        return Equipment(self.model_of, self.purse, grader, self.open_session)

    def open_session(self, work: Code, folder: WorkFolder) -> Session:
        """Return a session for an attempt, in the strongest sandbox that the user allows."""
        own_code = self.model_of(work.role).name == OFFLINE
        public = self.split_folder.public
        if work.operator is Operator.REFIT:
            public = self._all_labelled_rows(folder)
        given = [Input(public, f"input/{self.spec.competition}")]
        given += [
            Input(self._project.solution(self.spec.id, given_id), f"input/solutions/{given_id}")
            for given_id in work.inputs
        ]
        # The baseline and the refit run alone; of the others there may be as many as there are coders.
        alone = work.role in (BASELINE_ROLE, REFIT_ROLE)
        threads = str(max(1, (os.cpu_count() or 1) // (1 if alone else self.spec.coders)))
        return KernelSession(
            choose_sandbox(self.spec.sandbox, own_code=own_code),
            folder.workspace,
            inputs=tuple(given),
            env={
                "OMP_NUM_THREADS": threads,
                # Threads that wait for each other sleep: spinning made small fits many times slower.
                "OMP_WAIT_POLICY": "PASSIVE",
                "OPENBLAS_NUM_THREADS": threads,
                "MKL_NUM_THREADS": threads,
                "LOKY_MAX_CPU_COUNT": threads,
                "PYTHONHASHSEED": str(self.spec.seed),
            },
            memory_bytes=math.floor(psutil.virtual_memory().total * 0.75),
            log=folder.root / "session.log",
            persistent=work.session == "notebook",
        )

    def _all_labelled_rows(self, folder: WorkFolder) -> Path:
        """Make the public data as it was before rows were held back, beside the validation inputs.

        Only refits see it, and nothing that they say goes back to an attempt.
        """
        target = folder.root / "input"
        if not target.is_dir():
            staged = folder.root / "input.new"
            shutil.rmtree(staged, ignore_errors=True)
            copy_plain_tree(self.split_folder.public, staged)
            shutil.copytree(self.split_folder.full, staged, dirs_exist_ok=True)
            staged.rename(target)
        return target

    def close(self) -> None:
        """End the grader."""
        grader = self.__dict__.get("grader")
        if isinstance(grader, GraderProcess):
            grader.stop()


_workshops: dict[tuple[Path, str], Workshop] = {}
_lock = threading.Lock()


def workshop_of(project: Path, campaign: str) -> Workshop:
    """Return this process's workshop of a campaign; made on first use."""
    with _lock:
        key = (project, campaign)
        if key not in _workshops:
            folder = ProjectFolder(project)
            _workshops[key] = Workshop(folder, folder.campaign(campaign))
        return _workshops[key]


def close_workshops() -> None:
    """End everything that this process shares between attempts."""
    with _lock:
        for workshop in _workshops.values():
            workshop.close()
        _workshops.clear()
