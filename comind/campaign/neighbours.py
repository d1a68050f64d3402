"""How far the attempts beside one have come, read from logs that others are writing.

What is read here is news at the moment of reading alone: a workbench records what it tells an attempt,
and a replay takes that from the record.
"""

from comind.campaign.attempt import Neighbour
from comind.campaign.events import CAMPAIGN_EVENTS, CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.folder import CampaignFolder
from comind.campaign.plan import CLOSING, Code
from comind.campaign.running import RunningAttempts
from comind.domain.value import one_line
from comind.errors import LogError
from comind.eventlog.log import LogTail

__all__ = ["NeighbourLogs"]

_TITLE_LENGTH, _GOAL_LENGTH = 80, 120


class NeighbourLogs:
    """Follows the attempts that run beside one, and those that have ended since it was planned.

    Each call reads what is new in the campaign's log and in theirs. Refits are left out, as they have
    learnt from the validation rows, and so are blends, of which no agent is told.
    """

    def __init__(self, folder: CampaignFolder, work_id: str) -> None:
        """Take the folder of the campaign and the id of the attempt that asks."""
        self._own = work_id
        self._tail: LogTail[CampaignEvent] = LogTail(folder.log, CAMPAIGN_EVENTS)
        self._logs = RunningAttempts(folder)
        self._planned = False
        self._beside: dict[str, Neighbour] = {}

    def __call__(self) -> tuple[Neighbour, ...]:
        """Return the neighbours, the best first; nothing new of those whose log cannot be read now."""
        try:
            self._catch_up()
        except (LogError, OSError):
            return ()  # the campaign itself will stop at that, or has the disk to wait for
        found = [self._as_of_now(each) for each in self._beside.values()]
        self._beside = {each.id: each for each in found}
        scored = [(each.score, each) for each in found if each.score is not None]
        best_first = [each for _, each in sorted(scored, key=lambda pair: pair[0], reverse=True)]
        return (*best_first, *(each for each in found if each.score is None))

    def _catch_up(self) -> None:
        for record in self._tail.read():
            match record.event:
                case WorkPlanned(id=work_id) if work_id == self._own:
                    self._planned = True
                case WorkPlanned(id=work_id, work=Code() as work):
                    if work.operator not in CLOSING:
                        title = one_line(work.draft.title, _TITLE_LENGTH)
                        self._beside[work_id] = Neighbour(id=work_id, title=title)
                case WorkFinished(id=work_id) if work_id in self._beside:
                    known = self._beside.pop(work_id)
                    if self._planned:
                        ended = self._as_of_now(known).model_copy(update={"ended": True})
                        self._beside[work_id] = ended
                case _:
                    pass

    def _as_of_now(self, neighbour: Neighbour) -> Neighbour:
        """Return how far it has come by now; as it was known where its log cannot be read."""
        if neighbour.ended:
            return neighbour
        try:
            state = self._logs.state_of(neighbour.id)
        except (LogError, OSError):
            return neighbour
        best, score = state.best_cell, state.best_score
        if best is None or score is None:
            return neighbour
        goal = one_line(best.goal, _GOAL_LENGTH)
        return neighbour.model_copy(update={"score": score.value, "goal": goal})
