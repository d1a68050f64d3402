"""The best graded step of attempts that are still running, read from their logs."""

from comind.campaign.attempt import WORK_EVENTS, WorkEvent
from comind.campaign.folder import CampaignFolder
from comind.campaign.history import AttemptState, fold
from comind.campaign.plan import Code
from comind.campaign.state import Best, CampaignState
from comind.eventlog.log import LogTail

__all__ = ["RunningAttempts"]


class RunningAttempts:
    """Follows the logs of a campaign's attempts that have not ended yet.

    What it knows is a function of the logs, so that a process that takes over knows the same.
    """

    def __init__(self, folder: CampaignFolder) -> None:
        self._folder = folder
        self._read: dict[str, tuple[LogTail[WorkEvent], AttemptState]] = {}

    def best(self, state: CampaignState) -> Best | None:
        """Return the best step of the attempts under way; None where none is scored."""
        best: Best | None = None
        for record in state.works.in_flight():
            if not isinstance(record.work, Code):
                continue
            known = self.state_of(record.id)
            if known.best is None or known.best_score is None:
                continue
            if best is None or known.best_score.value.better_than(best.score.value):
                best = Best(record.id, known.best_score, known.best)
        return best

    def state_of(self, work_id: str) -> AttemptState:
        """Return what the log of an attempt amounts to by now; only what is new in it is read."""
        fresh = (LogTail(self._folder.work(work_id).log, WORK_EVENTS), AttemptState())
        tail, known = self._read.get(work_id, fresh)
        known = fold(tail.read(), known)
        self._read[work_id] = (tail, known)
        return known
