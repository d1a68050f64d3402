"""The campaign's executor over Prefect: every piece of work is a task run."""

import queue
from pathlib import Path

from prefect.futures import PrefectFuture

from comind.campaign.log.outcome import CodeOutcome, Outcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import Finished
from comind.errors import ComindError
from tasks.attempts import ideate, run_attempt

__all__ = ["PrefectExecutor"]

_TICK_SECONDS = 1.0


class PrefectExecutor:
    """Hands work to the task runner of the flow that it is used in."""

    def __init__(self, project: Path, campaign: str) -> None:
        self._project = project
        self._campaign = campaign
        self._returned: queue.Queue[tuple[str, PrefectFuture[Outcome]]] = queue.Queue()

    def submit(self, work_id: str, work: Think | Code) -> None:
        """Hand out one piece of work; returns at once."""
        if isinstance(work, Code):
            future = run_attempt.submit(self._project, self._campaign, work_id, work)
        else:
            future = ideate.submit(self._project, self._campaign, work_id, work)
        future.add_done_callback(lambda done: self._returned.put((work_id, done)))

    def finished(self) -> list[Finished]:
        """Wait a moment for work to come back; may return nothing."""
        try:
            work_id, future = self._returned.get(timeout=_TICK_SECONDS)
        except queue.Empty:
            return []
        returned: object = future.result(raise_on_failure=False)
        if isinstance(returned, ThinkOutcome | CodeOutcome | ComindError):
            return [Finished(work_id, returned)]
        assert isinstance(returned, BaseException)
        raise returned
