"""Execute work in threads, without an orchestrator."""

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from comind.campaign.agent import Agent
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import Finished
from comind.campaign.worker import Dependencies, execute
from comind.errors import ComindError
from comind.grading.grader_port import Grader

__all__ = ["ThreadExecutor"]


class ThreadExecutor:
    """Executes work in a thread pool of this process."""

    def __init__(
        self,
        folder: CampaignFolder,
        agent: Agent,
        dependencies: Dependencies,
        *,
        workers: int = 4,
        fold_grader: Callable[[int], Grader] | None = None,
    ) -> None:
        """Create the pool; `fold_grader` returns the grader of a fold by its number."""
        self._fold_grader = fold_grader
        self._folder = folder
        self._agent = agent
        self._dependencies = dependencies
        self._pool = ThreadPoolExecutor(workers)
        self._finished: queue.Queue[Finished] = queue.Queue()

    def submit(self, work_id: str, work: Think | Code) -> None:
        """Submit one piece of work."""
        self._pool.submit(self._execute, work_id, work)

    def finished(self) -> list[Finished]:
        """Wait for the next outcome, at most 60 seconds."""
        return [self._finished.get(timeout=60)]

    def _execute(self, work_id: str, work: Think | Code) -> None:
        dependencies = self._dependencies
        if isinstance(work, Code) and work.fold and self._fold_grader is not None:
            dependencies = replace(dependencies, grader=self._fold_grader(work.fold))
        try:
            outcome = execute(self._agent, work, self._folder.work(work_id), dependencies)
            self._finished.put(Finished(work_id, outcome))
        except ComindError as error:
            self._finished.put(Finished(work_id, error))
