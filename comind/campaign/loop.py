"""The loop of a campaign: plan, hand out work, apply outcomes, until there is nothing left to do."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from comind.campaign.events import (
    CampaignEnded,
    CampaignEvent,
    CampaignResumed,
    ErrorsCompared,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.folder import CampaignFolder
from comind.campaign.outcome import Outcome
from comind.campaign.plan import Code, Compare, Decision, Done, Think, Wait
from comind.campaign.schedule import time_shortage
from comind.campaign.state import CAMPAIGN_LOG, CampaignState
from comind.domain.spend import Budget
from comind.errors import CampaignError, ComindError, ServiceError
from comind.eventlog.store import EventStore
from comind.system.failpoints import failpoint

__all__ = [
    "Campaign",
    "Comparing",
    "Executor",
    "Finished",
    "Planner",
    "finish_begun",
    "read_state",
    "run",
]


@dataclass(frozen=True, slots=True)
class Finished:
    """What came back for one piece of work: an outcome, or the reason why there can be none now."""

    work_id: str
    outcome: Outcome | ComindError


class Planner(Protocol):
    """Says what to do next; pure, called after every event that could change the answer."""

    def plan(self, state: CampaignState) -> Decision:
        """Say what to do next."""
        ...


Comparing = Callable[[CampaignState, CampaignFolder], ErrorsCompared]
"""Compares the errors of attempts (`campaign/comparison.py`)."""


class Executor(Protocol):
    """Carries out work, several pieces at once."""

    def submit(self, work_id: str, work: Think | Code) -> None:
        """Hand out one piece of work; returns at once."""
        ...

    def finished(self) -> list[Finished]:
        """Wait a moment for work to come back; may return nothing."""
        ...


def read_state(folder: CampaignFolder) -> CampaignState:
    """Return the state of a campaign that someone else may be running.

    Raises:
        LogError: its log was changed.
    """
    return CAMPAIGN_LOG.read(folder.log)


class Campaign(EventStore[CampaignState, CampaignEvent]):
    """A campaign's log with the state it folds to; the only writer of both."""

    def __init__(self, folder: CampaignFolder, now: Callable[[], float] = time.monotonic) -> None:
        """Open the campaign in `folder`, or an empty one; raises as any `EventStore`."""
        self.folder = folder
        super().__init__(folder.log, CAMPAIGN_LOG, elapsed=_clock(folder), now=now)

    def resume(self, budget: Budget | None = None) -> None:
        """Say that a new process goes on, perhaps with another budget."""
        self.record(CampaignResumed(budget=budget or self.state.budget))

    def tick(self) -> None:
        """Note how long the campaign has been running, so that a kill loses no more than a moment."""
        self.folder.clock.write_text(f"{self.elapsed:.3f}\n")


def run(
    campaign: Campaign,
    planner: Planner,
    executor: Executor,
    progress: Callable[[CampaignState], None] | None = None,
    compare: Comparing | None = None,
) -> CampaignEnded:
    """Run `campaign` until its agent is done or its budget is; returns which, not yet recorded.

    `progress` is called after every round with the state; what it does (tracking, versioning) is
    repeated after a crash and must bear that. `compare` is called where the planner asks for that.

    Raises:
        ServiceError: something is missing or refuses; what was in flight goes on when the campaign is
            resumed.
    """
    out = set()
    for record in campaign.state.works.in_flight():
        executor.submit(record.id, record.work)
        out.add(record.id)
    ending: CampaignEnded | None = None
    halted: ComindError | None = None
    changed = True
    while True:
        if changed and halted is None:
            try:
                ending = _hand_out(campaign, planner, executor, out, compare)
            except ServiceError as error:  # the grader is gone; what is out comes back first
                halted = error
        if not out:
            break
        changed = False
        for finished in executor.finished():
            out.discard(finished.work_id)
            changed = True
            if isinstance(finished.outcome, ComindError):
                halted = halted or finished.outcome
            else:
                campaign.record(WorkFinished(id=finished.work_id, outcome=finished.outcome))
                failpoint("work-finished")
        campaign.tick()
        if progress is not None:
            progress(campaign.state)
    if halted:
        raise halted
    assert ending is not None, "nothing in flight, yet the planner is not done"
    return ending


def finish_begun(
    campaign: Campaign, executor: Executor, progress: Callable[[CampaignState], None] | None = None
) -> None:
    """Hand out what is in flight, plan nothing more, and return when all of it has come back.

    Raises:
        ServiceError: as `run` does.
    """
    if campaign.state.works.in_flight():
        run(campaign, _Nothing(), executor, progress)


class _Nothing:
    """Plans nothing."""

    def plan(self, _state: CampaignState) -> Decision:
        return Done(reason="nothing more is planned")


def _hand_out(
    campaign: Campaign,
    planner: Planner,
    executor: Executor,
    out: set[str],
    compare: Comparing | None,
) -> CampaignEnded | None:
    """Plan once and hand out what was planned; returns how the campaign ends, if it does."""
    limit = campaign.state.exhausted()
    if limit is not None:
        return CampaignEnded(reason="budget", detail=f"the campaign's {limit} is reached")
    decision = _decided(campaign, planner, compare)
    if isinstance(decision, Done):
        return CampaignEnded(reason="done", detail=decision.reason)
    if isinstance(decision, Wait):
        return None
    ending, fresh = None, list[tuple[str, Think | Code]]()
    for planned in decision:
        late = time_shortage(planned, campaign.state)
        if late:
            ending = CampaignEnded(reason="budget", detail=late)
            break
        given = planned.resources or campaign.state.resources()
        work = planned.model_copy(update={"resources": given})
        work_id = campaign.state.next_id(work)
        campaign.record(WorkPlanned(id=work_id, work=work))
        fresh.append((work_id, work))
    if fresh:  # all are recorded before any begins: a kill while one runs loses none of the others
        failpoint("work-planned")
    for work_id, work in fresh:
        executor.submit(work_id, work)
        out.add(work_id)
    return ending


def _decided(
    campaign: Campaign, planner: Planner, compare: Comparing | None
) -> list[Think | Code] | Wait | Done:
    """Return what the planner says, once it has had errors compared if it wants that.

    Raises:
        CampaignError: it wants a comparison that there cannot be.
    """
    decision = planner.plan(campaign.state)
    if isinstance(decision, Compare) and compare is not None and campaign.state.may_compare():
        campaign.record(compare(campaign.state, campaign.folder))
        failpoint("errors-compared")
        decision = planner.plan(campaign.state)
    if isinstance(decision, Compare):
        raise CampaignError(
            f"the agent {campaign.state.spec.agent} asks for a comparison that there cannot be",
            hint="it is to ask where `may_compare` says so",
        )
    return decision


def _clock(folder: CampaignFolder) -> float:
    """Return how long the campaign had been running when it was last seen alive."""
    try:
        return float(folder.clock.read_text())
    except (OSError, ValueError):
        return 0.0  # the log's own times are good enough
