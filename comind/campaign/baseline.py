"""Attempt 0: the platform's own baseline, planned for every agent; no model is asked."""

from collections.abc import Sequence

from comind.baseline import Program
from comind.campaign.loop import Planner
from comind.campaign.outcome import FailureKind, Finish
from comind.campaign.plan import BASELINE_ROLE, Code, Decision, Wait
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Workbench
from comind.campaign.works import Attempt
from comind.domain.draft import Draft, Operator

__all__ = ["BaselineFirst", "run_programs"]


class BaselineFirst:
    """Plans the baseline before everything that an agent plans."""

    def __init__(self, agent: Planner) -> None:
        self._agent = agent

    def plan(self, state: CampaignState) -> Decision:
        """Plan attempt 0 where it is wanted and wait for it; then ask the agent.

        One that a former version began, and that cannot be resumed, is planned again.
        """
        tried = [each for each in state.works.attempts() if each.work.role == BASELINE_ROLE]
        others = len(state.works) > len(tried)
        if not state.spec.baseline or (others and not tried):
            return self._agent.plan(state)
        if not tried or (not others and _diverged(tried[-1])):
            draft = Draft(title="baseline", method="A plain model from a well-kept library.")
            budget = state.work_budget()
            return [Code(operator=Operator.DRAFT, draft=draft, role=BASELINE_ROLE, budget=budget)]
        return Wait() if tried[-1].outcome is None else self._agent.plan(state)


def _diverged(attempt: Attempt) -> bool:
    failure = attempt.outcome.failure if attempt.outcome else None
    return failure is not None and failure.kind is FailureKind.REPLAY


def run_programs(programs: Sequence[Program], bench: Workbench) -> Finish:
    """Run one program after another, the best first, until one is scored."""
    for program in programs:
        if not bench.steps_left:
            break
        bench.step(f"Run the recipe for {program.name}.", program.code)
        if bench.state.best is not None:
            return Finish(report=f"The baseline: the recipe for {program.name}.")
    return Finish(report="No recipe of the baseline had a score.")
