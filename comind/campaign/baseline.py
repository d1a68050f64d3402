"""Attempt 0: the platform's own baseline, planned for every agent; no model is asked."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comind.baseline.recipe_programs import Program
from comind.campaign.attempt import CallAnswered, WorkEvent
from comind.campaign.context import CodeContext
from comind.campaign.loop import Planner
from comind.campaign.outcome import CodeResult
from comind.campaign.plan import BASELINE_ROLE, Code, Decision, Wait
from comind.campaign.state import CampaignState
from comind.domain.draft import Draft, Operator
from comind.eventlog.log import Record

__all__ = ["BaselineFirst", "run_programs"]


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


def run_programs(
    programs: Sequence[Program], context: CodeContext, records: Iterable[Record[WorkEvent]]
) -> CodeResult:
    """Run one program after another, the best first, until one is scored.

    A former version recorded its programs in the log, as replies of a model; these go first.
    """
    replies = [json.loads(r.event.reply.text) for r in records if isinstance(r.event, CallAnswered)]
    former = [Program(name="a former version", code=each["code"]) for each in replies if each["code"]]
    for program in [*former, *programs[len(former) :]]:
        if not context.steps_left:
            break
        context.step(f"Run the recipe for {program.name}.", program.code)
        if context.state.best is not None:
            return CodeResult(report=f"The baseline: the recipe for {program.name}.")
    return CodeResult(report="No recipe of the baseline had a score.")
