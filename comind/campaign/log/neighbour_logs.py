"""Tail the logs of the attempts that run beside one, for reports of their progress."""

from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS, CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.measurements import models_of_program
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import Neighbour, WorkEvent
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.domain.value import one_line
from comind.errors import LogError
from comind.eventlog.log import LogTail
from comind.eventlog.store import StateTail
from comind.session.session_ports import CellStatus

_TITLE_LENGTH, _GOAL_LENGTH = 80, 120


class NeighbourLogs:
    """Tails the logs of the attempts that run beside one, and that have ended since it was planned.

    The caller records what it reports to the attempt; a replay takes that from the log. Fold runs,
    blends and refits are left out: they would leak validation labels.
    """

    def __init__(self, folder: CampaignFolder, work_id: str) -> None:
        """Follow the neighbours of the attempt `work_id`."""
        self._own = work_id
        self._tail: LogTail[CampaignEvent] = LogTail(folder.log, CAMPAIGN_EVENTS)
        self._folder = folder
        self._tails: dict[str, StateTail[AttemptState, WorkEvent]] = {}
        self._planned = False
        self._beside: dict[str, Neighbour] = {}

    def __call__(self) -> tuple[Neighbour, ...]:
        """Return the neighbours, best first; unchanged where a log cannot be read now."""
        try:
            self._catch_up()
        except (LogError, OSError):
            return ()  # the campaign's own process reports it
        found = [self._updated(each) for each in self._beside.values()]
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
                    if not work.is_closing:
                        title = one_line(work.draft.title, _TITLE_LENGTH)
                        self._beside[work_id] = Neighbour(id=work_id, title=title)
                case WorkFinished(id=work_id) if work_id in self._beside:
                    known = self._beside.pop(work_id)
                    if self._planned:
                        ended = self._updated(known).model_copy(update={"ended": True})
                        self._beside[work_id] = ended
                case _:
                    pass

    def _updated(self, neighbour: Neighbour) -> Neighbour:
        """Return the neighbour with its current best score; unchanged if its log cannot be read."""
        if neighbour.ended:
            return neighbour
        try:
            state = self._state_of(neighbour.id)
        except (LogError, OSError):
            return neighbour
        best, score = state.best_cell, state.best_score
        if best is None or score is None or state.rejected:
            return neighbour
        ran = best.result
        done = ran is not None and ran.status is CellStatus.OK
        values = {
            "score": score.shown,
            "goal": one_line(best.goal, _GOAL_LENGTH) if done else "",
            "seconds": round(ran.seconds, 1) if ran is not None else 0.0,
            "models": models_of_program(cell.code for cell in state.program_of(best)),
        }
        return neighbour.model_copy(update=values)

    def _state_of(self, work_id: str) -> AttemptState:
        """Return the current state of an attempt; reads only what is new in its log."""
        if work_id not in self._tails:
            self._tails[work_id] = StateTail(self._folder.work(work_id).log, WORK_LOG)
        return self._tails[work_id].update()
