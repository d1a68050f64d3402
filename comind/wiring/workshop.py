"""Everything that the attempts of one campaign share within one process.

Only names cross the border of a Prefect task; the task finds the live things behind them here.
"""

import math
import os
import threading
from functools import cached_property
from pathlib import Path

import psutil

from comind.agents.comind import CoMind
from comind.agents.comind.agent import BASELINE_ROLE
from comind.campaign.attempt import WORK_EVENTS
from comind.campaign.attempt import fold as fold_attempt
from comind.campaign.budget import Purse
from comind.campaign.events import CampaignSpec, SplitMade
from comind.campaign.folder import CampaignFolder, ProjectFolder, WorkFolder
from comind.campaign.log import read_log
from comind.campaign.loop import read_state
from comind.campaign.plan import Agent, Code
from comind.campaign.worker import Equipment
from comind.domain.spend import Spend
from comind.errors import CampaignError, UsageError
from comind.evaluation.grader_process import GraderProcess
from comind.evaluation.preview import describe_problem
from comind.evaluation.report import Grader
from comind.evaluation.splitting import SplitFolder
from comind.llm.base import ChatModel
from comind.session.base import Input, Session
from comind.session.choice import choose_sandbox
from comind.session.kernel import KernelSession
from comind.wiring.models import OFFLINE, build_model

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
    def grader(self) -> GraderProcess:
        """The one process that holds the campaign's validation labels."""
        return GraderProcess(self.split_folder.root, self.folder.root / "grader.log")

    @cached_property
    def model(self) -> ChatModel:
        """The model that the user named."""
        return build_model(self.spec.model)

    @cached_property
    def purse(self) -> Purse:
        """What the campaign may still spend, counted over the logs of all its work."""
        spent = Spend()
        for log in sorted(self.folder.root.glob("*/log.jsonl")):
            spent += fold_attempt(read_log(log, WORK_EVENTS)).spend
        return Purse(self._budget, spent)

    def model_of(self, role: str) -> ChatModel:
        """Return the model that a role asks; the baseline is ours whatever the campaign's model is."""
        return build_model(OFFLINE) if role == BASELINE_ROLE else self.model

    def equipment(self, grader: Grader) -> Equipment:
        """Return what work is carried out with; gradings go through `grader`."""
        return Equipment(self.model_of, self.purse, grader, self.open_session)

    def open_session(self, work: Code, folder: WorkFolder) -> Session:
        """Return a session for an attempt, in the strongest sandbox that the user allows."""
        own_code = self.model_of(work.role).name == OFFLINE
        given = [Input(self.split_folder.public, f"input/{self.spec.competition}")]
        given += [
            Input(self._project.solution(self.spec.id, given_id), f"input/solutions/{given_id}")
            for given_id in work.inputs
        ]
        cores = os.cpu_count() or 1
        threads = str(max(1, cores // self.spec.coders))
        return KernelSession(
            choose_sandbox(self.spec.sandbox, own_code=own_code),
            folder.workspace,
            inputs=tuple(given),
            env={
                "OMP_NUM_THREADS": threads,
                "OPENBLAS_NUM_THREADS": threads,
                "MKL_NUM_THREADS": threads,
                "LOKY_MAX_CPU_COUNT": threads,
                "PYTHONHASHSEED": str(self.spec.seed),
            },
            memory_bytes=math.floor(psutil.virtual_memory().total * 0.75),
            log=folder.root / "session.log",
            persistent=work.session == "notebook",
        )

    def close(self) -> None:
        """End the grader."""
        if "grader" in self.__dict__:
            self.grader.stop()


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
