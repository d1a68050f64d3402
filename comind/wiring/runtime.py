"""Resources that the work of one campaign shares: agent, models, budget, rate limits, grader."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from pathlib import Path
from typing import Self

from comind.authoring.generated_grader import GeneratedGrader
from comind.baseline.recipe_programs import Program, programs
from comind.campaign.agent import Agent
from comind.campaign.log.campaign_events import CommunityRead, SplitMade
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder, WorkFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import Outcome
from comind.campaign.log.work import BASELINE_ROLE, Code, Think
from comind.campaign.loop import read_state
from comind.campaign.work.hand_in import FilesHandedIn, HandIn, ProgramHandedIn
from comind.campaign.work.metering import BudgetLedger, ledger_of
from comind.campaign.work.monitor import MonitorSettings
from comind.campaign.work.questions import Questions, asked_in_vain
from comind.campaign.worker import Dependencies, execute
from comind.community.snapshot import SnapshotFolder
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.domain.problem import ENDPOINT_AT, FITTED_AT, PROGRAM, Problem
from comind.errors import CampaignError
from comind.grading.blending.averaging import KEPT
from comind.grading.grader_port import CampaignGrader, Grader
from comind.grading.grader_process import GraderProcess
from comind.llm.model_ports import ChatModel, Embedder
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import ModelSettings
from comind.llm.tokens import count_tokens
from comind.profile.problem_description import describe_problem
from comind.programs.program_grader import ProgramGrader
from comind.session.choice import choose_sandbox
from comind.session.session_ports import CellResult, Input, Sandbox, Session
from comind.session.user_store import store_inputs
from comind.splits.extra_folds import make_fold
from comind.splits.refit_rows import write_refit_rows
from comind.splits.split_folder import SplitFolder
from comind.wiring.agents import agent_class, agent_mounts, runs_own_code, validate_parameters
from comind.wiring.local_sessions import LocalSessions, counted
from comind.wiring.models import build_embedder, build_model, settings_for
from comind.wiring.row_inputs import RowFolders
from comind.wiring.session_provider import SessionProvider


class CampaignRuntime:
    """A campaign's agent, models, ledger and grader; each is built on first use.

    A context manager: its end stops the grader's process. Thread-safe; several may be open in one
    process, each with its own campaign.
    """

    def __init__(
        self,
        project: ProjectFolder,
        campaign: CampaignFolder,
        *,
        foreign: bool = False,
        sessions: SessionProvider | None = None,
    ) -> None:
        """Read the campaign's log.

        A `foreign` log is not trusted: code that it attributes to the baseline runs sealed, too.
        Sessions are those of `sessions`, by default on this machine.

        Raises:
            CampaignError: the campaign has no split yet.
        """
        state = read_state(campaign)
        if state.split is None:
            raise CampaignError(f"the campaign {campaign.name} has no split yet")
        self.project = project
        self.folder = campaign
        self._foreign = foreign
        self._sessions = sessions or LocalSessions(state.spec)
        self.spec: CampaignSpec = state.spec
        self.split: SplitMade = state.split
        self.split_folder = SplitFolder(project.splits / state.split.key)
        self.limiter = RateLimiter(state.spec.traffic)
        """Limits the model calls of all the campaign's work together."""
        self._ends_at = time.monotonic() + state.seconds_left()
        self._models: dict[ModelSettings, ChatModel] = {}
        self._models_lock = threading.Lock()
        self._state = state

    @cached_property
    def community(self) -> CommunityView:
        """The items of all the campaign's snapshots; empty where it reads no community."""
        views = [self._snapshot(read).read() for read in self._state.communities]
        if not views:
            return CommunityView(as_of=self.spec.cutoff)
        return reduce(lambda older, newer: newer.merged_with(older), views)

    @cached_property
    def problem(self) -> Problem:
        """The competition without its labels, as agents see it."""
        asked = agent_class(self.spec).needs_model(self.spec.parameters)
        found = describe_problem(self.split_folder, count_tokens if asked else None)
        given = {"folds": self.split.folds, "sample_rows": self.split.sample_rows}
        return found.model_copy(update=given)

    @cached_property
    def agent(self) -> Agent:
        """The campaign's agent."""
        return agent_class(self.spec)(
            self.problem,
            validate_parameters(agent_class(self.spec), self.spec.parameters, "the campaign's log"),
            seed=self.spec.seed,
            community=self.community,
        )

    @cached_property
    def grader(self) -> CampaignGrader:
        """The process that holds the validation labels, or what runs the programs of graders."""
        if self.split.program is not None:
            return self._program_grader
        if self.split_folder.read().generated:
            return GeneratedGrader(self.split_folder, choose_sandbox(self.spec.sandbox, own_code=False))
        return GraderProcess(self.split_folder.root, self.folder.root / "grader.log")

    @cached_property
    def _program_grader(self) -> ProgramGrader:
        own_code = runs_own_code(self.spec) and not self._foreign
        sandbox = choose_sandbox(self.spec.sandbox, own_code=own_code)
        return ProgramGrader(self.split_folder, sandbox, self.folder.root / "program-scores")

    @cached_property
    def hand_in(self) -> HandIn:
        """What cells hand in: predictions or, where rows are instances, a program."""
        if self.split.program is None:
            return FilesHandedIn(
                sample=self.split.sample_rows > 0,
                probabilities=self.problem.probability_form is not None,
            )
        return ProgramHandedIn(self._program_grader.try_out)

    @cached_property
    def ledger(self) -> BudgetLedger:
        """The campaign's remaining budget, from the logs of all its work."""
        return ledger_of(self.project, self.folder, self._state.budget)

    @cached_property
    def monitor(self) -> MonitorSettings | None:
        """The settings of all monitors, with one limit of their questions; None disables monitoring."""
        if not self.spec.monitor:
            return None
        limits, ledger = self.spec.monitoring, self.ledger
        asked = Questions(limits.calls_share, lambda: ledger.calls, asked_in_vain(self.folder))
        return MonitorSettings(limits, asked)

    @cached_property
    def embedder(self) -> Embedder | None:
        """The model for embeddings of ranked texts; None for BM25."""
        return build_embedder(self.spec.models)

    def model_of(self, role: str) -> ChatModel:
        """Return the model of a role.

        Roles with the same settings share one, which caches the capabilities of its endpoint.
        """
        settings = settings_for(role, self.spec.models, self.spec.model)
        with self._models_lock:
            if settings not in self._models:
                self._models[settings] = build_model(settings.name or self.spec.model, settings)
            return self._models[settings]

    def seconds_left(self) -> float:
        """Return the campaign's remaining time."""
        return self._ends_at - time.monotonic()

    def execute(self, work_id: str, work: Code | Think, grader: Grader) -> Outcome:
        """Run a piece of work to its outcome, with gradings by `grader`."""
        folder = self.folder.work(work_id)
        with self._models_lock:  # one for all threads
            monitor = self.monitor
        dependencies = Dependencies(
            self.model_of,
            self.ledger,
            grader,
            self.open_session,
            monitor,
            limiter=self.limiter,
            seconds_left=self.seconds_left,
            baseline=self._baseline_programs,
            embedder=self.embedder,
            hand_in=self.hand_in,
        )
        with counted(work, folder):
            return execute(self.agent, work, folder, dependencies)

    def _baseline_programs(self) -> tuple[Program, ...]:
        if self.split.program is None:
            return programs(self.problem, self.spec.seed)
        first = self.split_folder.public / PROGRAM
        return (Program(name="its first program", code=first.read_text()),) if first.is_file() else ()

    def open_session(
        self, work: Code, folder: WorkFolder, notify: Callable[[str], None] = lambda _: None
    ) -> Session:
        """Open a session for an attempt, in the strongest sandbox that the user allows.

        See `SessionProvider.open` for `notify` and the errors.
        """
        return self._sessions.open(
            work,
            folder,
            (*self._inputs(work, folder), *self._members(work)),
            self.sandbox_for(work),
            own_code=self._runs_own_code(work),
            seconds_left=self.seconds_left(),
            notify=notify,
        )

    def run_script(
        self,
        work: Code,
        folder: WorkFolder,
        arguments: tuple[str, ...],
        workspace: Path,
        seconds: float,
        public: Path | None = None,
        fitted: Path | None = None,
    ) -> CellResult:
        """Run `python ARGUMENTS` in a fresh interpreter, with inputs and packages of an attempt.

        `public` replaces the competition's public folder; `fitted` has models that the script saved.

        Raises:
            SandboxError: the sandbox could not be started.
        """
        inputs, sandbox = self._inputs(work, folder, public), self.sandbox_for(work)
        if fitted is not None:
            inputs = (*inputs, Input(fitted, FITTED_AT))
        return self._sessions.run_script(work, folder, inputs, sandbox, arguments, workspace, seconds)

    def sandbox_for(self, work: Code) -> Sandbox:
        """Return the strongest sandbox that the user allows, with the interpreter of the attempt's plan.

        Raises:
            SandboxError: there is none.
        """
        toolbox = work.resources is not None and bool(work.resources.toolbox)
        return choose_sandbox(self.spec.sandbox, own_code=self._runs_own_code(work), toolbox=toolbox)

    def _runs_own_code(self, work: Code) -> bool:
        return not self._foreign and (work.role == BASELINE_ROLE or runs_own_code(self.spec))

    def grader_of(self, fold: int) -> Grader:
        """Return the grader of a fold of the split; 0 is the split itself."""
        return self.grader.fold(fold) if fold else self.grader

    def _rows(self, work: Code, folder: WorkFolder) -> RowFolders:
        """Return the folders of the split's rows, a fold's or, for a refit, of all labelled ones."""
        if self.split.program is not None:
            return RowFolders.of_split(self.split_folder)
        if work.operator is Operator.REFIT:
            return RowFolders.of_refit(self._all_labelled_rows(work, folder), folder.root)
        split = make_fold(self.split_folder, work.fold) if work.fold else self.split_folder
        return RowFolders.of_split(split)

    def public_folder(self, work: Code, folder: WorkFolder) -> Path:
        """Return the public data that an attempt's code reads."""
        return self._rows(work, folder).public

    def _inputs(self, work: Code, folder: WorkFolder, instead: Path | None = None) -> tuple[Input, ...]:
        rows = self._rows(work, folder)
        find = self._refit if work.operator is Operator.REFIT else self._solution
        mounted = (
            self._item(given, folder.root.name) if "/" in given else find(given) for given in work.inputs
        )
        return (
            Input(instead or rows.public, f"input/{self.spec.competition}"),
            *rows.inputs(self.split, self.split_folder.read(), row_files=instead is None),
            *(found for found in mounted if found is not None),
            *store_inputs(self.spec.store),
            *self._of_agent(work, folder),
        )

    def _of_agent(self, work: Code, folder: WorkFolder) -> Iterator[Input]:
        """Yield the folders of the agent, and of the endpoint of its programs, but for the baseline."""
        if work.is_baseline:
            return
        for name, source in agent_mounts(self.spec).items():
            if not self._foreign or self._is_environment(source):
                yield Input(self.project.root / source, f"input/{name}", linked=True)
        if folder.endpoint.is_dir():
            yield Input(folder.endpoint, ENDPOINT_AT, linked=True)

    def _is_environment(self, folder: Path) -> bool:
        """Return whether a folder that a foreign log names is a virtual environment of the project."""
        place, root = (self.project.root / folder).resolve(), self.project.root.resolve()
        inside = place.is_relative_to(root) and (place / "pyvenv.cfg").is_file()
        return inside and self.project.overlapping(place) is None

    def _members(self, work: Code) -> tuple[Input, ...]:
        """Return the submissions that a blend averages; its script and its refit recompute them."""
        if work.operator is not Operator.BLEND or work.blend is None:
            return ()
        return tuple(
            Input(self.folder.work(each.attempt).submissions(each.step), f"{KEPT}/{number}")
            for number, each in enumerate(work.blend.members)
        )

    def _snapshot(self, read: CommunityRead) -> SnapshotFolder:
        return SnapshotFolder(self.project.communities / read.key)

    def _solution(self, attempt_id: str) -> Input:
        return Input(self.project.solution(self.spec.id, attempt_id), f"input/solutions/{attempt_id}")

    def _refit(self, given_id: str) -> Input:
        """Return the input of a refit, in the place of its attempt; only other refits read it.

        Refits of earlier versions read attempts.
        """
        work = read_state(self.folder).works.attempt(given_id).work
        if work.operator is not Operator.REFIT:
            return self._solution(given_id)
        [attempt_id] = work.parents
        source = self.project.published(self.spec.id, given_id)
        return Input(source, f"input/solutions/{attempt_id}")

    def _item(self, ref: str, work_id: str) -> Input | None:
        """Return the input of a community item; None for one without files.

        Items that newer snapshots lack are read from the older one.
        """
        places = (self._snapshot(read).mount_path(ref) for read in self._state.known_to(work_id))
        source = next((place for place in places if place is not None), None)
        return Input(source, f"input/{ref}") if source else None

    def _all_labelled_rows(self, work: Code, folder: WorkFolder) -> Path:
        """Write the public data of a refit; returns its folder.

        Only refits read it, and no attempt sees their output.
        """
        target = folder.root / "input"
        if not target.is_dir():
            write_refit_rows(self.split_folder, target, apart=work.rows_apart)
        return target

    def journal(self, state: CampaignState) -> str:
        """Return the agent's account of the campaign in `state`, as Markdown."""
        return self.agent.journal(state, self.community)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the grader's process; idempotent."""
        grader = self.__dict__.get("grader")
        if isinstance(grader, GraderProcess):
            grader.stop()
