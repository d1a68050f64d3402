"""Plan the baseline before anything that the agent plans, visible to it or hidden from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from comind.campaign.log.campaign_state import CampaignState, best_of
from comind.campaign.log.work import BASELINE_ROLE, Code, Decision, Think, Wait
from comind.domain.draft import Draft, Operator


class Planner(Protocol):
    """Plans work from the campaign's state, as an `Agent` does."""

    def plan(self, state: CampaignState) -> Decision:
        """Return what to do next; pure, called after every event that could change the decision."""
        ...

    def remainder(self, state: CampaignState) -> Sequence[Code]:
        """Return attempts for a time that is too short for what it planned; pure, as `plan`."""
        ...

    def rejections(self, state: CampaignState) -> Mapping[str, str]:
        """Return the finished attempts that are rejected, with by whom and why; pure, as `plan`."""
        ...


@dataclass(frozen=True, slots=True)
class BaselineFirst:
    """Planner that runs the baseline before anything the agent plans."""

    agent: Planner

    def plan(self, state: CampaignState) -> Decision:
        """Plan attempt 0 if the spec asks for it, wait for it, then delegate to the agent."""
        if state.spec.baseline != "none" and not len(state.works):
            method = "A plain model from a well-kept library."
            if state.submits_programs:
                method = "The program that the problem comes with."
            draft = Draft(title="baseline", method=method)
            budget = state.work_budget(whole=True)
            return [Code(operator=Operator.DRAFT, draft=draft, role=BASELINE_ROLE, budget=budget)]
        if any(record.in_flight for record in state.works if _is_baseline(record.work)):
            return Wait()
        return self.agent.plan(seen_by_agents(state))

    def remainder(self, state: CampaignState) -> Sequence[Code]:
        """Return what the agent begins in a time that is too short for its thought."""
        return self.agent.remainder(seen_by_agents(state))

    def rejections(self, state: CampaignState) -> Mapping[str, str]:
        """Return the rejections of the agent."""
        return self.agent.rejections(seen_by_agents(state))


def seen_by_agents(state: CampaignState) -> CampaignState:
    """Return the state that agents plan by; it has no baseline where that is hidden."""
    first = next(iter(state.works), None)
    if state.spec.baseline != "hidden" or first is None or not _is_baseline(first.work):
        return state
    works = state.works.without_first()
    others = works.best_first()[:1]
    return replace(state, works=works, best=best_of(others[0]) if others else None)


def _is_baseline(work: Think | Code) -> bool:
    return isinstance(work, Code) and work.is_baseline
