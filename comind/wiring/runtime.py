"""Everything that the attempts of one campaign share within one process.

Only names cross the border of a Prefect task; the task finds the live things behind them here.
"""

import math
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, reduce
from pathlib import Path

import psutil

from comind.authoring.generated_grader import GeneratedGrader
from comind.baseline.recipe_programs import programs
from comind.campaign.agent import Agent
from comind.campaign.attempt import WORK_EVENTS
from comind.campaign.budget import BudgetLedger, ledger_of
from comind.campaign.events import CampaignSpec, CommunityRead, SplitMade
from comind.campaign.folder import CampaignFolder, ProjectFolder, WorkFolder
from comind.campaign.history import fold
from comind.campaign.loop import read_state
from comind.campaign.monitor import MonitorSettings
from comind.campaign.outcome import Outcome
from comind.campaign.plan import BASELINE_ROLE, Code, Think
from comind.campaign.worker import Dependencies, execute
from comind.community.snapshot import SnapshotFolder
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.domain.problem import FOLDS_AT, Problem
from comind.domain.resources import MEMORY_SHARE
from comind.errors import CampaignError
from comind.evaluation.blending.averaging import KEPT
from comind.evaluation.grader_port import CampaignGrader, Grader
from comind.evaluation.grader_process import GraderProcess
from comind.evaluation.problem_description import describe_problem
from comind.evaluation.splits.extra_folds import FoldCount, count_folds, make_fold
from comind.evaluation.splits.fold_vector import FOLDS_FILE, write_folds
from comind.evaluation.splits.split_folder import SplitFolder
from comind.eventlog.log import read_log
from comind.llm.base import ChatModel, Embedder
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import ModelSettings
from comind.llm.tokens import count_tokens
from comind.session.base import CellResult, Input, Sandbox, Session
from comind.session.choice import choose_sandbox
from comind.session.environment import thread_settings
from comind.session.kernel import KernelSession
from comind.session.packages import SEEN_AT, Packages
from comind.session.program import run_program
from comind.session.store import store_inputs, store_settings
from comind.system.cores import Cores, usable_cores
from comind.system.files import copy_plain_tree
from comind.system.gpus import Gpus
from comind.wiring.agents import agent_of, parameters_of, runs_own_code
from comind.wiring.models import build_embedder, build_model, settings_of

__all__ = ["CampaignRuntime", "close_runtimes", "runtime_of"]


class CampaignRuntime:
    """One campaign's agent, models, purse and grader; made on first use, safe to share."""

    def __init__(
        self, project: ProjectFolder, campaign: CampaignFolder, *, foreign: bool = False
    ) -> None:
        """Read the campaign's log.

        What a `foreign` one, perhaps written elsewhere, says of whose code it ran is not believed.

        Raises:
            CampaignError: the campaign has no split yet.
        """
        state = read_state(campaign)
        if state.split is None:
            raise CampaignError(f"the campaign {campaign.name} has no split yet")
        self.project = project
        self.folder = campaign
        self._foreign = foreign
        self.spec: CampaignSpec = state.spec
        self.split: SplitMade = state.split
        self.split_folder = SplitFolder(project.splits / state.split.key)
        self.limiter = RateLimiter(state.spec.traffic)
        """What all the campaign's calls pass."""
        self._ends_at = time.monotonic() + state.seconds_left()
        self._models: dict[ModelSettings, ChatModel] = {}
        self._models_lock = threading.Lock()
        self._folds_lock = threading.Lock()
        self._state = state

    @cached_property
    def community(self) -> CommunityView:
        """What the community knows and ever knew; nothing where the campaign reads none."""
        views = [self._snapshot(read).read() for read in self._state.communities]
        if not views:
            return CommunityView(as_of=self.spec.as_of)
        return reduce(lambda older, newer: newer.over(older), views)

    @cached_property
    def problem(self) -> Problem:
        """The competition as its solvers see it."""
        asked = agent_of(self.spec).needs_model
        return describe_problem(self.split_folder, count_tokens if asked else None)

    @cached_property
    def agent(self) -> Agent:
        """The campaign's agent."""
        return agent_of(self.spec)(
            self.problem,
            parameters_of(agent_of(self.spec), self.spec.parameters, "the campaign's log"),
            seed=self.spec.seed,
            community=self.community,
        )

    @cached_property
    def grader(self) -> CampaignGrader:
        """The one process that holds the validation labels, or the evaluator that was written."""
        if self.split_folder.read().written:
            return GeneratedGrader(self.split_folder, choose_sandbox(self.spec.sandbox, own_code=False))
        return GraderProcess(self.split_folder.root, self.folder.root / "grader.log")

    @cached_property
    def ledger(self) -> BudgetLedger:
        """What the campaign may still spend, counted over the logs of all its work."""
        return ledger_of(self.folder, self._state.budget)

    @cached_property
    def embedder(self) -> Embedder | None:
        """Who embeds the texts that agents rank; None for BM25."""
        return build_embedder(self.spec.models)

    def model_of(self, role: str) -> ChatModel:
        """Return the model that a role asks.

        Roles with the same settings share one, as it learns what its endpoint understands.
        """
        settings = settings_of(role, self.spec.models, self.spec.model)
        with self._models_lock:
            if settings not in self._models:
                self._models[settings] = build_model(settings.name or self.spec.model, settings)
            return self._models[settings]

    def seconds_left(self) -> float:
        """Return how long the campaign may still run."""
        return self._ends_at - time.monotonic()

    def execute(self, work_id: str, work: Code | Think, grader: Grader) -> Outcome:
        """Return the outcome of a piece of work, as `carry_out` does; gradings go through `grader`."""
        folder = self.folder.work(work_id)
        monitor = MonitorSettings() if self.spec.monitor else None
        dependencies = Dependencies(
            self.model_of,
            self.ledger,
            grader,
            self.open_session,
            monitor,
            limiter=self.limiter,
            seconds_left=self.seconds_left,
            baseline=lambda: programs(self.problem, self.spec.seed),
            embedder=self.embedder,
        )
        with _present(work, folder):
            return execute(self.agent, work, folder, dependencies)

    def open_session(self, work: Code, folder: WorkFolder) -> Session:
        """Return a session for an attempt, in the strongest sandbox that the user allows.

        The attempt's shares of cores and GPUs are fixed here: they depend on who else runs just now.
        """
        # The thread count can change results in their last digits, so an attempt keeps its own.
        before = fold(read_log(folder.log, WORK_EVENTS)).threads
        gpus = _gpus.lease(str(folder.root), self.spec.coders)
        return KernelSession(
            self.sandbox_for(work),
            folder.workspace,
            inputs=(*self._inputs(work, folder), *self._members(work)),
            env={**self._settings(work, folder.workspace), "CUDA_VISIBLE_DEVICES": ",".join(gpus)},
            memory_bytes=_memory_bytes(),
            log=folder.root / "session.log",
            persistent=work.session == "notebook",
            threads=_cores.lease(str(folder.root), before),
            packages=Packages(folder.packages, folder.installed, allowed=self.spec.packages),
        )

    def run_script(
        self, work: Code, folder: WorkFolder, arguments: tuple[str, ...], workspace: Path, seconds: float
    ) -> CellResult:
        """Run `python ARGUMENTS` in a fresh interpreter, with what the attempt in `folder` had.

        Raises:
            SandboxError: it could not be started.
        """
        threads = fold(read_log(folder.log, WORK_EVENTS)).threads
        packages = (Input(folder.packages, SEEN_AT),) if folder.installed.is_file() else ()
        found_at = {"PYTHONPATH": SEEN_AT} if packages else {}
        settings = self._settings(work, workspace)
        return run_program(
            self.sandbox_for(work),
            arguments,
            workspace,
            inputs=(*self._inputs(work, folder), *packages),
            env={**settings, **found_at, **(thread_settings(threads) if threads else {})},
            seconds=seconds,
            memory_bytes=_memory_bytes(),
        )

    def sandbox_for(self, work: Code) -> Sandbox:
        """Return the strongest sandbox that the user allows for the code of an attempt.

        Its code runs in what it was planned for: the toolbox, or our own environment.

        Raises:
            SandboxError: there is none.
        """
        ours = not self._foreign and (work.role == BASELINE_ROLE or runs_own_code(self.spec))
        toolbox = work.resources is not None and bool(work.resources.toolbox)
        return choose_sandbox(self.spec.sandbox, own_code=ours, toolbox=toolbox)

    def grader_of(self, fold: int) -> Grader:
        """Return who grades submissions for a fold of the split; 0 is the split itself."""
        return self.grader.fold(fold) if fold else self.grader

    def count_folds(self, most: int) -> FoldCount:
        """Return how many further folds the split has, up to `most`.

        Raises:
            CompetitionError: the split is not whole.
        """
        return count_folds(self.split_folder, most)

    def _rows(self, work: Code, folder: WorkFolder) -> tuple[Path, Path]:
        """Return where the rows that work sees lie, and where the folds of these are to lie.

        They are the split's, a fold's, or all labelled ones.
        """
        if work.operator is Operator.REFIT:
            return self._all_labelled_rows(folder), folder.root / "input-folds"
        split = make_fold(self.split_folder, work.fold) if work.fold else self.split_folder
        return split.public, split.folds

    def _inputs(self, work: Code, folder: WorkFolder) -> tuple[Input, ...]:
        public, beside = self._rows(work, folder)
        mounted = (self._input(given_id, folder.root.name) for given_id in work.inputs)
        return (
            Input(public, f"input/{self.spec.competition}"),
            *self._folds(public, beside),
            *(found for found in mounted if found is not None),
            *store_inputs(self.spec.store),
        )

    def _folds(self, public: Path, beside: Path) -> tuple[Input, ...]:
        """Return the folder with the folds of the rows in `public`, made on first use.

        Nothing in campaigns that began before there were such.
        """
        if not self.split.folds:
            return ()
        with self._folds_lock:
            if not (beside / FOLDS_FILE).is_file():
                write_folds(public, self.split_folder.read(), beside / FOLDS_FILE)
        return (Input(beside, FOLDS_AT),)

    def _members(self, work: Code) -> tuple[Input, ...]:
        """Return the submissions that a blend averages; its script and its refit make their own."""
        if work.operator is not Operator.BLEND or work.blend is None:
            return ()
        return tuple(
            Input(self.folder.work(each.attempt).submissions(each.step), f"{KEPT}/{number}")
            for number, each in enumerate(work.blend.members)
        )

    def _settings(self, work: Code, workspace: Path) -> dict[str, str]:
        seen, _ = self.sandbox_for(work).seen_as(workspace, workspace)
        return {"PYTHONHASHSEED": str(self.spec.seed), **store_settings(self.spec.store, seen)}

    def _snapshot(self, read: CommunityRead) -> SnapshotFolder:
        return SnapshotFolder(self.project.communities / read.key)

    def _input(self, given_id: str, work_id: str) -> Input | None:
        """Return what an id of an attempt's inputs stands for: a community item, or an earlier attempt.

        An item that has since left the ranks is found in the snapshot that had it. None for an item
        without files: there is nothing to mount.
        """
        if "/" not in given_id:
            return Input(self.project.solution(self.spec.id, given_id), f"input/solutions/{given_id}")
        places = (self._snapshot(read).mount_of(given_id) for read in self._state.known_to(work_id))
        source = next((place for place in places if place is not None), None)
        return Input(source, f"input/{given_id}") if source else None

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


def _memory_bytes() -> int:
    return math.floor(psutil.virtual_memory().total * MEMORY_SHARE)


_cores = Cores(usable_cores())  # all campaigns of this process share one machine
_gpus = Gpus()  # and all processes share its devices
_runtimes: dict[tuple[Path, str], CampaignRuntime] = {}
_lock = threading.Lock()


@contextmanager
def _present(work: Code | Think, folder: WorkFolder) -> Iterator[None]:
    """Let an attempt share the machine for the length of the block; a thought needs none of it."""
    if isinstance(work, Think):
        yield
        return
    name = str(folder.root)
    with _cores.present(name), _gpus.present(name):
        yield


def runtime_of(project: Path, campaign: str) -> CampaignRuntime:
    """Return this process's workshop of a campaign; made on first use."""
    with _lock:
        key = (project, campaign)
        if key not in _runtimes:
            folder = ProjectFolder(project)
            _runtimes[key] = CampaignRuntime(folder, folder.campaign(campaign))
        return _runtimes[key]


def close_runtimes() -> None:
    """End everything that this process shares between attempts."""
    with _lock:
        for runtime in _runtimes.values():
            runtime.close()
        _runtimes.clear()
