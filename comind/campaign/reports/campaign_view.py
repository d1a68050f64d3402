"""Fold a campaign's logs to the values that terminal, pages, MLflow, DVC, alerts and benches show."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from comind.campaign.log.campaign_events import CampaignEvent
from comind.campaign.log.campaign_folders import EVALUATOR, CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, Best, CampaignState
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import WorkEvent
from comind.campaign.log.work_items import Attempt
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.reports.call_costs import spend_by_role
from comind.campaign.reports.tuning import Tuning, tuning_of
from comind.domain.metric import MetricValue, ValidationScore
from comind.domain.spend import Spend
from comind.eventlog.log import Record
from comind.eventlog.store import StateTail

ENDED, NOT_ENDED = "ended", "not ended"


class CurvePoint(NamedTuple):
    """A scored attempt or blend, and the best score of those planned until then."""

    number: int
    """Its position among attempts and blends in the order of planning, from 0."""
    attempt: Attempt
    score: ValidationScore
    best: MetricValue | None
    """None while all were rejected by their agents."""


@dataclass(frozen=True, slots=True)
class CampaignView:
    """A campaign at one moment; `works` are the states of its work by id, the evaluator's too."""

    state: CampaignState
    works: Mapping[str, AttemptState]

    @property
    def status(self) -> str:
        """`ended` if the log has the campaign's end, else `not ended`."""
        return ENDED if self.state.ended else NOT_ENDED

    @property
    def end(self) -> str:
        """Reason and detail of the campaign's end; "" before."""
        ended = self.state.ended
        return f"{ended.reason}: {ended.detail}" if ended else ""

    @property
    def spend(self) -> Spend:
        """Usage of all work, also of what still runs; `seconds` are the campaign's."""
        used = sum((work.spend for work in self.works.values()), Spend())
        return used.model_copy(update={"seconds": self.state.spend.seconds})

    @property
    def spend_by_role(self) -> dict[str, Spend]:
        """Usage of the calls that have ended, by role."""
        return spend_by_role(call for work in self.works.values() for call in work.calls)

    @property
    def best(self) -> Best | None:
        """The scored submission that would be delivered now, before any refit.

        It is the final pick; before that, the best of all attempts, also of one that still runs.
        """
        state = self.state
        if state.picked is not None:
            return _best_of(state.works.attempt(state.picked.work_id))
        best = state.best
        for record in state.works.in_flight():
            work = self.works.get(record.id)
            if work is None or not isinstance(record.work, Code) or record.work.is_closing:
                continue
            if work.best is not None and work.best_score is not None:
                found = Best(record.id, work.best_score, work.best, work.rejected)
                best = found if found.better_than(best) else best
        return best

    @property
    def delivered(self) -> tuple[str, Submitted] | None:
        """The work and the submission to deliver now: the refit's, where there is one, else the best."""
        refit, best = self.state.refit(), self.best
        if refit is not None and refit.submitted is not None:
            return refit.id, refit.submitted
        return None if best is None else (best.work_id, best.submitted)

    @property
    def choice(self) -> str:
        """The work that is delivered and its reason, in one line."""
        picked, best = self.state.picked, self.best
        if picked is not None:
            return f"final pick {picked.work_id}: {picked.reason}"
        if best is None:
            return "nothing scored yet"
        running = self.state.works[best.work_id].in_flight
        step = f", step {best.submitted.step}, which still runs" if running else ""
        return f"best so far {best.work_id}{step}"

    @property
    def curve(self) -> list[CurvePoint]:
        """The scored attempts and blends, with the best score so far, in the order of planning."""
        best, found = None, list[CurvePoint]()
        for number, attempt in enumerate(self.state.works.rankable()):
            if attempt.score is None:
                continue
            value = attempt.score.value
            if not attempt.rejected and value.better_than(best):
                best = value
            found.append(CurvePoint(number, attempt, attempt.score, best))
        return found

    @property
    def attempts(self) -> tuple[int, int]:
        """The number of attempts that were planned, and of those with a score."""
        found = self.state.works.attempts()
        return len(found), sum(each.score is not None for each in found)

    @property
    def tuning(self) -> Tuning:
        """The gradings on the validation rows so far, and their optimism."""
        return tuning_of(self.state, self.works)


class CampaignLogs:
    """The logs of a campaign and of all its work; each reading reads only what is new."""

    def __init__(self, folder: CampaignFolder) -> None:
        self._folder = folder
        self._campaign = StateTail(folder.log, CAMPAIGN_LOG)
        self._works: dict[str, StateTail[AttemptState, WorkEvent]] = {}

    def records(self) -> Iterator[Record[CampaignEvent]]:
        """Read the campaign's log; yields each new record after applying it."""
        return self._campaign.read()

    def work(self, work_id: str) -> StateTail[AttemptState, WorkEvent]:
        """Return the log of one piece of work."""
        if work_id not in self._works:
            self._works[work_id] = StateTail(self._folder.work(work_id).log, WORK_LOG)
        return self._works[work_id]

    @property
    def state(self) -> CampaignState:
        """The campaign's state after what was read."""
        return self._campaign.state

    @property
    def view(self) -> CampaignView:
        """The values after what was read."""
        ids = [EVALUATOR, *(record.id for record in self.state.works)]
        return CampaignView(self.state, {work_id: self.work(work_id).state for work_id in ids})

    def update(self) -> CampaignView:
        """Read what is new in all logs, and return the values after it.

        Raises:
            LogError: a log was changed.
        """
        self._campaign.update()
        return self.update_work()

    def update_work(self) -> CampaignView:
        """Read what is new in the logs of the work that is known, as `update` does."""
        for work_id, work in self.view.works.items():
            if work.outcome is None:  # nothing follows an outcome
                self.work(work_id).update()
        return self.view


def read_view(folder: CampaignFolder) -> CampaignView:
    """Read a campaign's logs to their end.

    Raises:
        LogError: a log was changed.
    """
    return CampaignLogs(folder).update()


def _best_of(attempt: Attempt) -> Best | None:
    if attempt.score is None or attempt.submitted is None:
        return None
    return Best(attempt.id, attempt.score, attempt.submitted, attempt.rejected)
