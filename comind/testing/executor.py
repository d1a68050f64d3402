"""Work in threads, without an orchestrator."""

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from comind.campaign.agent import Agent
from comind.campaign.folder import CampaignFolder
from comind.campaign.loop import Finished
from comind.campaign.plan import Code, Think
from comind.campaign.worker import Dependencies, execute
from comind.errors import ComindError
from comind.evaluation.grader_port import Grader

__all__ = ["ThreadExecutor"]


class ThreadExecutor:
    """Carries out work in a pool of threads of this process."""

    def __init__(
        self,
        folder: CampaignFolder,
        agent: Agent,
        dependencies: Dependencies,
        *,
        workers: int = 4,
        fold_grader: Callable[[int], Grader] | None = None,
    ) -> None:
        """Take who grades runs on folds, if there are any."""
        self._fold_grader = fold_grader
        self._folder = folder
        self._agent = agent
        self._dependencies = dependencies
        self._pool = ThreadPoolExecutor(workers)
        self._finished: queue.Queue[Finished] = queue.Queue()

    def submit(self, work_id: str, work: Think | Code) -> None:
        """Hand out one piece of work."""
        self._pool.submit(self._carry_out, work_id, work)

    def finished(self) -> list[Finished]:
        """Wait for the next work to come back."""
        return [self._finished.get(timeout=60)]

    def _carry_out(self, work_id: str, work: Think | Code) -> None:
        dependencies = self._dependencies
        if isinstance(work, Code) and work.fold and self._fold_grader is not None:
            dependencies = replace(dependencies, grader=self._fold_grader(work.fold))
        try:
            outcome = execute(self._agent, work, self._folder.work(work_id), dependencies)
            self._finished.put(Finished(work_id, outcome))
        except ComindError as error:
            self._finished.put(Finished(work_id, error))
