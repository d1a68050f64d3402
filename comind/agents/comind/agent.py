"""What CoMind does next, given what has happened."""

from comind.agents.comind.coding_agent import implement
from comind.agents.comind.ideation import IDEATE, drafts_of, ideate, topic
from comind.campaign.outcome import Finding, Finish
from comind.campaign.plan import BASELINE_ROLE, Code, Decision, Done, Think, Wait
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Desk, Workbench
from comind.domain.draft import Draft, Operator
from comind.domain.problem import Problem

__all__ = ["CoMind"]


class CoMind:
    """A baseline first; then rounds of ideation, each followed by attempts at its drafts."""

    name = "comind"

    def __init__(self, problem: Problem, *, seed: int) -> None:
        self._problem = problem
        self._seed = seed

    def plan(self, state: CampaignState) -> Decision:
        """Plan the baseline, then fill free slots with drafts; think again when they run out."""
        if state.spec.baseline and not state.works.attempts():
            return [self._baseline(state)]
        if not state.free_slots():
            return Wait()
        drafts = drafts_of(state)
        waiting = drafts[len(_drafted(state)) :]
        if waiting:
            return [self._attempt(state, draft) for draft in waiting[: state.free_slots()]]
        if state.works.in_flight():
            return Wait()
        return self._think_again(state, drafts)

    def think(self, work: Think, desk: Desk) -> Finding:
        """Carry out one round of ideation."""
        return ideate(self._problem, work, desk)

    def code(self, work: Code, bench: Workbench) -> Finish:
        """Implement one draft."""
        return implement(self._problem, work, bench, seed=self._seed)

    def _think_again(self, state: CampaignState, drafts: list[Draft]) -> Decision:
        rounds = state.works.thoughts(IDEATE)
        if state.spec.iterations is not None and len(rounds) >= state.spec.iterations:
            return Done(reason=f"all {state.spec.iterations} rounds of ideation are over")
        last = rounds[-1].outcome if rounds else None
        if last is not None and last.failure is not None:
            return Done(reason=f"ideation failed: {last.failure.message}")
        if rounds and not drafts_of(state, only=rounds[-1].id):
            return Done(reason=f"the model {state.spec.model} has no more drafts to propose")
        return [Think(purpose=IDEATE, facts=topic(state, len(drafts)))]

    def _baseline(self, state: CampaignState) -> Code:
        draft = Draft(title="baseline", method="A plain model from a well-kept library.")
        return Code(operator=Operator.DRAFT, draft=draft, role=BASELINE_ROLE, budget=state.work_budget())

    def _attempt(self, state: CampaignState, draft: Draft) -> Code:
        parents = (state.best.work_id,) if state.best and draft.codebase else ()
        operator = Operator.IMPROVE if draft.codebase else Operator.DRAFT
        return Code(operator=operator, draft=draft, parents=parents, budget=state.work_budget())


def _drafted(state: CampaignState) -> list[Code]:
    """Return the attempts at drafts, that is all but the baseline."""
    works = [record.work for record in state.works.attempts()]
    return [work for work in works if work.role != BASELINE_ROLE]
