"""Define the smallest agent: a baseline, then attempts to improve on the best solution so far."""

from pydantic import BaseModel

from comind.campaign.agent import Agent
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Wait
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.work.context import CodeContext
from comind.domain.draft import Draft, Operator
from comind.llm.model_ports import Message, ModelRequest

__all__ = ["TinyAgent"]


class _Cell(BaseModel):
    code: str


class TinyAgent(Agent):
    """Runs a baseline, then improves the best solution until `iterations` are over."""

    def __init__(self) -> None:
        """Create the agent; it has no parameters."""

    def plan(self, state: CampaignState) -> Decision:
        """Plan the baseline first, then as many improvements as there are free slots."""
        attempts = state.works.attempts()
        if not attempts:
            return [self._attempt(state, Operator.DRAFT, "baseline", ())]
        if state.best is None:
            return Wait() if state.works.in_flight() else Done(reason="the baseline has no score")
        left = (state.spec.iterations or 0) + 1 - len(attempts)
        if left <= 0:
            return Wait() if state.works.in_flight() else Done(reason="all iterations are over")
        parents = (state.best.work_id,)
        return [
            self._attempt(state, Operator.IMPROVE, f"improvement of {parents[0]}", parents)
            for _ in range(min(left, state.free_slots()))
        ] or Wait()

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Request one cell after another, each of which writes two submissions."""
        names = SubmissionNames(validation="validation_submission.csv", test="submission.csv")
        feedback = work.draft.title
        while context.steps_left:
            message = Message(role="user", content=feedback)
            request = ModelRequest(role="coding_agent", messages=(message,))
            step = context.step("next", context.ask(request, _Cell).value.code, names)
            feedback = f"{step.result.status}: {step.report or step.result.error or step.refused}"
        return CodeResult(report=feedback)

    def _attempt(
        self, state: CampaignState, operator: Operator, title: str, parents: tuple[str, ...]
    ) -> Code:
        draft = Draft(title=title, method="whatever the model says")
        return Code(operator=operator, draft=draft, parents=parents, budget=state.work_budget())
