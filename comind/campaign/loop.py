"""The loop of a campaign: plan, hand out work, apply outcomes, until there is nothing left to do."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from comind.campaign.comparison import compare_errors
from comind.campaign.events import (
    CampaignEnded,
    CampaignEvent,
    CampaignResumed,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.folder import CampaignFolder
from comind.campaign.outcome import Outcome
from comind.campaign.plan import BASELINE_ROLE, Code, Compare, Decision, Done, Think, Wait
from comind.campaign.state import CAMPAIGN_LOG, CampaignState
from comind.domain.draft import Draft, Operator
from comind.domain.spend import Budget
from comind.errors import CampaignError, ComindError, ServiceError
from comind.evaluation.report import ClosingGrader
from comind.eventlog.store import EventStore
from comind.system.failpoints import failpoint

__all__ = [
    "BaselineFirst",
    "Campaign",
    "Executor",
    "Finished",
    "Planner",
    "finish_begun",
    "read_state",
    "run",
    "time_shortage",
]

_LEAST_SECONDS = 60.0  # of an attempt, before it is known how long a step takes
_LEAST_STEPS = 2  # of an attempt, the second of which is perhaps scored
_LEAST_SHARE = 0.1  # of the campaign's time; more is not asked for to begin an attempt


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


@dataclass(frozen=True, slots=True)
class BaselineFirst:
    """Plans the baseline before everything that an agent plans."""

    agent: Planner

    def plan(self, state: CampaignState) -> Decision:
        """Plan attempt 0 where it is wanted, and wait for it; then ask the agent."""
        if state.spec.baseline and not len(state.works):
            draft = Draft(title="baseline", method="A plain model from a well-kept library.")
            budget = state.work_budget(whole=True)
            return [Code(operator=Operator.DRAFT, draft=draft, role=BASELINE_ROLE, budget=budget)]
        attempts = state.works.attempts()[:1]
        if any(each.work.role == BASELINE_ROLE and each.outcome is None for each in attempts):
            return Wait()
        return self.agent.plan(state)


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
    grader: ClosingGrader | None = None,
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
                ending = _hand_out(campaign, planner, executor, out, grader)
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
    grader: ClosingGrader | None,
) -> CampaignEnded | None:
    """Plan once and hand out what was planned; returns how the campaign ends, if it does."""
    limit = campaign.state.exhausted()
    if limit is not None:
        return CampaignEnded(reason="budget", detail=f"the campaign's {limit} is reached")
    decision = _decided(campaign, planner, grader)
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
    campaign: Campaign, planner: Planner, grader: ClosingGrader | None
) -> list[Think | Code] | Wait | Done:
    """Return what the planner says, once it has had errors compared if it wants that.

    Raises:
        CampaignError: it wants a comparison that there cannot be.
    """
    decision = planner.plan(campaign.state)
    if isinstance(decision, Compare) and grader is not None and campaign.state.may_compare():
        campaign.record(compare_errors(campaign.state, campaign.folder, grader))
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


def time_shortage(work: Think | Code, state: CampaignState) -> str:
    """Return why `work` is not begun any more, in one line; empty where there is time for it.

    Pure, by what earlier work has taken: a replay of the log decides the same.
    """
    left = state.open_seconds()
    if math.isinf(left) or (isinstance(work, Code) and work.is_platform_work):
        return ""
    needed = min(_attempt_seconds(state), _LEAST_SHARE * (state.budget.seconds or math.inf))
    if isinstance(work, Think):
        needed += _thinking_seconds(state)
    if left >= needed:
        return ""
    return (
        f"{left:.0f} s are left beside what the closing phase needs, and about {needed:.0f} s pass "
        "until a new attempt is scored"
    )


def _attempt_seconds(state: CampaignState) -> float:
    """Return about how long the first steps of an attempt take, by the attempts that have ended."""
    took = [
        attempt.outcome.spend.seconds / attempt.outcome.steps
        for attempt in state.works.attempts()
        if attempt.outcome is not None and attempt.outcome.steps and not attempt.work.is_platform_work
    ]
    return _LEAST_STEPS * median(took) if took else _LEAST_SECONDS


def _thinking_seconds(state: CampaignState) -> float:
    """Return about how long it takes until thoughts have led to an attempt, by those that did.

    Of thoughts in a row that were begun side by side the sum counts, so this is rather too much.
    """
    rounds, begun = [], 0.0
    for record in state.works:
        if isinstance(record.work, Think):
            begun += record.outcome.spend.seconds if record.outcome is not None else 0.0
        elif begun:
            rounds.append(begun)
            begun = 0.0
    return max(0.0, median(rounds) - begun) if rounds else 0.0
