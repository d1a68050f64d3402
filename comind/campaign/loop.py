"""Run a campaign: plan, submit work to an executor, record outcomes, until it ends; resumable."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from comind.campaign.baseline_first import Planner, seen_by_agents
from comind.campaign.comparison import compare_errors
from comind.campaign.fact_sheet import measured_facts
from comind.campaign.log.campaign_events import (
    AttemptRejected,
    CampaignEnded,
    CampaignEvent,
    CampaignResumed,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.event_lines import campaign_line
from comind.campaign.log.outcome import Outcome
from comind.campaign.log.work import Code, Compare, Decision, Done, Think, Wait
from comind.domain.spend import Budget
from comind.domain.value import one_line
from comind.errors import CampaignError, ComindError, ServiceError
from comind.eventlog.store import EventStore
from comind.grading.grader_port import CampaignGrader
from comind.system.failpoints import failpoint

_REASON_LENGTH = 300

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finished:
    """Result of one piece of work: its outcome, or the error that prevented one for now."""

    work_id: str
    outcome: Outcome | ComindError


class Executor(Protocol):
    """Executes work concurrently."""

    def submit(self, work_id: str, work: Think | Code) -> None:
        """Start one piece of work; does not block."""
        ...

    def finished(self) -> list[Finished]:
        """Return work that has finished; blocks for a moment and may return nothing."""
        ...


def read_state(folder: CampaignFolder) -> CampaignState:
    """Return the state of a campaign from its log, without a lock; another process may be running it.

    Raises:
        LogError: the log was changed.
    """
    return CAMPAIGN_LOG.read(folder.log)


class Campaign(EventStore[CampaignState, CampaignEvent]):
    """A campaign's log and the state it folds to; the only writer of both."""

    def __init__(self, folder: CampaignFolder, now: Callable[[], float] = time.monotonic) -> None:
        """Open or create the campaign in `folder`; raises as `EventStore` does."""
        self.folder, saved = folder, 0.0
        with suppress(OSError, ValueError):  # without the time that `tick` saved, the log's suffice
            saved = float(folder.clock.read_text())
        super().__init__(folder.log, CAMPAIGN_LOG, elapsed=saved, now=now)

    def resume(
        self, budget: Budget | None = None, changes: Mapping[str, JsonValue] | None = None
    ) -> None:
        """Record that a new process resumes the campaign, with another budget or changes of its spec."""
        self.record(CampaignResumed(budget=budget or self.state.budget, changes=dict(changes or {})))

    def record(self, event: CampaignEvent) -> CampaignState:
        """Append `event`, log it, and return the state after it."""
        state = super().record(event)
        for line in campaign_line(event).splitlines():
            _log.info("%s: %s", self.folder.name, line)
        return state

    def plan(self, work: Think | Code) -> str:
        """Record `work` as planned, and return its id."""
        work_id = self.state.next_id(work)
        self.record(WorkPlanned(id=work_id, work=work))
        return work_id

    def tick(self) -> None:
        """Save the campaign's running time, so that a kill loses little of it."""
        self.folder.clock.write_text(f"{self.elapsed:.3f}\n")


def run(
    campaign: Campaign,
    planner: Planner,
    executor: Executor,
    progress: Callable[[CampaignState], None] | None = None,
    grader: CampaignGrader | None = None,
    limit_reached: Callable[[], CampaignEnded | None] = lambda: None,
) -> CampaignEnded:
    """Run `campaign` until the agent is done or a budget is exhausted; return the end, not yet recorded.

    `progress` is a callback with the state after every round; it must be idempotent, as it is repeated
    after a crash. `grader` answers comparisons that the planner asks for. Nothing more is planned once
    `limit_reached` returns an end.

    Raises:
        ServiceError: something is missing or refuses; work in flight continues when the campaign is
            resumed.
        CampaignError: the planner asks for a comparison that is not allowed.
    """
    in_flight = set[str]()  # in this process; more waits after a restart with fewer cores
    ending: CampaignEnded | None = None
    halted: ComindError | None = None
    changed = True
    _record_rejections(campaign, planner)  # those of logs from before they were recorded
    while True:
        if changed and halted is None:
            _submit(campaign.state, executor, in_flight)
            try:
                ending = limit_reached() or _plan_and_submit(
                    campaign, planner, executor, in_flight, grader
                )
            except ServiceError as error:  # the grader is gone; wait for work in flight first
                halted = error
        if not in_flight:
            break
        changed = False
        for finished in executor.finished():
            in_flight.discard(finished.work_id)
            changed = True
            if isinstance(finished.outcome, ComindError):
                halted = halted or finished.outcome
            else:
                campaign.record(WorkFinished(id=finished.work_id, outcome=finished.outcome))
                failpoint("work-finished")
        _record_rejections(campaign, planner)
        campaign.tick()
        if progress is not None:
            progress(campaign.state)
    if halted:
        raise halted
    assert ending is not None, "nothing in flight, yet the planner is not done"
    return ending


def drain(
    campaign: Campaign, executor: Executor, progress: Callable[[CampaignState], None] | None = None
) -> None:
    """Execute the work in flight without planning more, and return when all of it has finished.

    Raises:
        ServiceError: as `run` does.
    """
    if campaign.state.works.in_flight():
        run(campaign, _Nothing(), executor, progress)


class _Nothing:
    def plan(self, _state: CampaignState) -> Decision:
        return Done(reason="nothing more is planned")

    def remainder(self, _state: CampaignState) -> Sequence[Code]:
        return ()

    def rejections(self, _state: CampaignState) -> Mapping[str, str]:
        return {}


def _record_rejections(campaign: Campaign, planner: Planner) -> None:
    for work_id, reason in planner.rejections(campaign.state).items():
        if not campaign.state.works[work_id].rejected:
            campaign.record(AttemptRejected(id=work_id, reason=one_line(reason, _REASON_LENGTH)))


def _plan_and_submit(
    campaign: Campaign,
    planner: Planner,
    executor: Executor,
    in_flight: set[str],
    grader: CampaignGrader | None,
) -> CampaignEnded | None:
    """Plan once and submit what was planned; return the campaign's end, if it ends."""
    limit = campaign.state.exhausted()
    if limit is not None:
        return CampaignEnded(reason="budget", detail=f"the campaign's {limit} is reached")
    decision = _decide(campaign, planner, grader)
    if isinstance(decision, Done):
        return CampaignEnded(reason="done", detail=decision.reason)
    if isinstance(decision, Wait):
        return None
    late, fresh = "", False
    for planned in _in_time(decision, campaign.state, planner):
        if late := campaign.state.time.shortage(planned):
            break
        campaign.plan(_with_facts(planned, campaign.state))
        fresh = True
    if fresh:  # record all before starting any, so that a kill while one runs loses none
        failpoint("work-planned")
        _submit(campaign.state, executor, in_flight)
    if late:
        return CampaignEnded(reason="budget", detail=late)
    # What follows from this plan, such as a thought beside the last drafts, need not wait for its end.
    return _plan_and_submit(campaign, planner, executor, in_flight, grader) if fresh else None


def _submit(state: CampaignState, executor: Executor, in_flight: set[str]) -> None:
    """Submit what is planned and not yet `in_flight`, oldest first; attempts while slots are free."""
    free = state.attempts_at_once() - sum(isinstance(state.works[each].work, Code) for each in in_flight)
    for record in state.works.in_flight():
        is_attempt = isinstance(record.work, Code)
        if record.id in in_flight or (is_attempt and free <= 0):
            continue
        executor.submit(record.id, record.work)
        in_flight.add(record.id)
        free -= is_attempt


def _in_time(
    decision: Sequence[Think | Code], state: CampaignState, planner: Planner
) -> Sequence[Think | Code]:
    """Return the decision; where it begins with a thought that is late, the planner's remainder.

    The thought again, with the reason, where nothing of the remainder fits in either.
    """
    if not isinstance(decision[0] if decision else None, Think) or not state.time.shortage(decision[0]):
        return decision
    return [each for each in planner.remainder(state) if not state.time.shortage(each)] or decision


def _with_facts(work: Think | Code, state: CampaignState) -> Think | Code:
    """Return planned work with what it is to know of resources and of what attempts measured."""
    values: dict[str, object] = {"resources": work.resources or state.resources()}
    seen = seen_by_agents(state)
    if isinstance(work, Think) or not work.is_platform_work:
        values["measured"] = measured_facts(seen)
    if isinstance(work, Code) and not work.is_platform_work:
        values["sample_first"] = seen.time.sample_first(work)
    return work.model_copy(update=values)


def _decide(
    campaign: Campaign, planner: Planner, grader: CampaignGrader | None
) -> list[Think | Code] | Wait | Done:
    """Return the planner's decision, after a comparison of errors if it asks for one."""
    decision = planner.plan(campaign.state)
    seen = seen_by_agents(campaign.state)
    if isinstance(decision, Compare) and grader is not None and seen.may_compare():
        campaign.record(compare_errors(seen, campaign.folder, grader))
        failpoint("errors-compared")
        decision = planner.plan(campaign.state)
    if isinstance(decision, Compare):
        raise CampaignError(
            f"the agent {campaign.state.spec.agent} asks for a comparison that is not allowed",
            hint="plan `Compare` only where `CampaignState.may_compare()` is true",
        )
    return decision
