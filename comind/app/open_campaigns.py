"""Keep open what a process needs for a campaign, so that tasks take its name and plain values.

The process of a campaign's flow opens it for the length of the run. A task in another process opens it
there, once, until that process ends.
"""

import atexit
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from comind.app.log_settings import configure_run_logging
from comind.app.params import read_params
from comind.app.projections import Projections
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import Outcome
from comind.campaign.log.work import Code
from comind.errors import CampaignError
from comind.eventlog.store import StateTail
from comind.grading.grader_port import Grader
from comind.wiring.runtime import CampaignRuntime
from comind.wiring.session_provider import SessionProvider, provide_sessions


class OpenCampaign:
    """State, runtime and projections of one campaign in this process; thread-safe."""

    def __init__(self, project: Path, campaign: str) -> None:
        self._project = ProjectFolder(project)
        self.folder = self._project.campaign(campaign)
        self.projections = Projections(project, campaign, self._journal)
        self._log = StateTail(self.folder.log, CAMPAIGN_LOG)
        self._lock = threading.RLock()
        self._resources = ExitStack()
        self._sessions: SessionProvider | None = None
        self._runtime: CampaignRuntime | None = None

    def state(self) -> CampaignState:
        """Return the state as of the end of the campaign's log."""
        with self._lock:
            return self._log.update()

    @property
    def runtime(self) -> CampaignRuntime:
        """Agent, models, budget and grader; made when first asked for.

        Raises:
            CampaignError: the campaign has no split yet.
        """
        with self._lock:
            if self._runtime is None:
                made = CampaignRuntime(self._project, self.folder, sessions=self._sessions)
                self._runtime = self._resources.enter_context(made)
            return self._runtime

    def provide_sessions(self) -> None:
        """Provide sessions as the campaign's settings say, on its pool or on this machine.

        Raises:
            UsageError: the pool has no plug-in, or refuses.
            ServiceError: a package of the plug-in's extra is not installed.
        """
        settings = read_params(self._project.root).nodes
        provided = provide_sessions(self.folder, self.state().spec, settings)
        self._sessions = self._resources.enter_context(provided)

    def execute(self, work_id: str, grader: Callable[[int], Grader]) -> Outcome:
        """Run a planned piece of work to its outcome, with gradings by the `grader` of its fold."""
        work = self.state().works[work_id].work
        return self.runtime.execute(work_id, work, grader(work.fold if isinstance(work, Code) else 0))

    def close(self) -> None:
        """Stop the grader's process and the sessions."""
        self._resources.close()

    def _journal(self, state: CampaignState) -> str | None:
        """Return the agent's account; None while the runtime is not open, as before the split."""
        return None if self._runtime is None else self._runtime.journal(state)


_campaigns: dict[tuple[Path, str], OpenCampaign] = {}
_opening = threading.Lock()


@contextmanager
def campaign_opened(project: Path, campaign: str) -> Iterator[OpenCampaign]:
    """Open a campaign in this process for the length of the block; its tasks here find it open."""
    key = project.absolute(), campaign
    found = OpenCampaign(*key)
    _campaigns[key] = found
    try:
        yield found
    finally:
        del _campaigns[key]
        found.close()


def open_campaign_of(project: Path, campaign: str) -> OpenCampaign:
    """Return the campaign as it is open in this process; one that another process runs is opened here.

    Raises:
        CampaignError: it has a pool, or a limit of dollars, tokens or evaluations, which only its own
            process keeps.
    """
    key = project.absolute(), campaign
    with _opening:
        if key not in _campaigns:
            found = OpenCampaign(*key)
            state = found.state()
            for name, given in (
                ("a limit of dollars", state.budget.usd),
                ("a limit of tokens", state.budget.tokens),
                ("a limit of evaluations", state.budget.evaluations),
                ("a pool", state.spec.pool),
            ):
                if given:
                    raise CampaignError(
                        f"{campaign}: has {name}, so its tasks run in the process of its flow",
                        hint="choose a task runner of threads",
                    )
            configure_run_logging()
            _campaigns[key] = found
            atexit.register(found.close)
        return _campaigns[key]
