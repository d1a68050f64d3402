"""What CoMind does next, given what has happened."""

from comind.agents.comind.analyzer import analysis_of, analyze
from comind.agents.comind.coding_agent import implement
from comind.agents.comind.coordinator import coordinate, coordination_of
from comind.agents.comind.idea_proposer import proposal_of, propose
from comind.agents.comind.journal import journal_of
from comind.agents.comind.pool import ANALYZE, COORDINATE, PROPOSE, Pool, pool_of
from comind.campaign.outcome import Finding, Finish
from comind.campaign.plan import BASELINE_ROLE, Code, Decision, Done, Think, Wait
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Desk, Workbench
from comind.campaign.works import WorkRecord
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.problem import Problem

__all__ = ["CoMind"]

_STAGES = (ANALYZE, PROPOSE, COORDINATE)


class CoMind:
    """A baseline first; then rounds of reading, ideas and drafts, each followed by attempts.

    There is no barrier between rounds: a slot that becomes free is refilled from the drafts that wait,
    and when none does, the next round begins while other attempts are still running.
    """

    name = "comind"

    def __init__(self, problem: Problem, *, seed: int, community: CommunityView | None = None) -> None:
        self._problem = problem
        self._seed = seed
        self._view = community or CommunityView()

    def plan(self, state: CampaignState) -> Decision:
        """Plan the baseline, then fill free slots with drafts; think again when they run out."""
        if state.spec.baseline and not state.works.attempts():
            return [self._baseline(state)]
        if not state.free_slots():
            return Wait()
        pool = pool_of(state)
        waiting = pool.drafts[len(_drafted(state)) :]
        if waiting:
            return [_attempt(state, draft) for draft in waiting[: state.free_slots()]]
        thoughts = _thoughts(state)
        if any(thought.in_flight for thought in thoughts):
            return Wait()
        return self._next_thought(state, pool, thoughts[-1] if thoughts else None)

    def think(self, work: Think, desk: Desk) -> Finding:
        """Carry out one stage of a round."""
        match work.purpose:
            case "analyze":
                return analyze(self._problem, self._view, work, desk)
            case "propose":
                return propose(self._problem, work, desk)
            case _:
                return coordinate(self._problem, self._view, work, desk)

    def code(self, work: Code, bench: Workbench) -> Finish:
        """Implement one draft."""
        return implement(self._problem, work, bench, seed=self._seed)

    def journal(self, state: CampaignState) -> str:
        """Return what was read, thought and tried so far, for people."""
        return journal_of(state, self._view)

    def _next_thought(self, state: CampaignState, pool: Pool, last: WorkRecord | None) -> Decision:
        """Go on with the round, or begin the next one."""
        stage = last.work.purpose if last is not None and isinstance(last.work, Think) else COORDINATE
        if stage == ANALYZE:
            return [proposal_of(state, pool)]
        if stage == PROPOSE:
            return [coordination_of(state, pool, self._view)]
        rounds = len(state.works.thoughts(COORDINATE))
        end = _end_of_rounds(state, last)
        if end is not None:
            return Wait() if state.works.in_flight() else end
        if state.works.in_flight() and not _news(state, last):
            return Wait()
        reading = analysis_of(state, pool, self._view, seed=self._seed, number=rounds)
        return [reading or proposal_of(state, pool)]

    def _baseline(self, state: CampaignState) -> Code:
        draft = Draft(title="baseline", method="A plain model from a well-kept library.")
        return Code(operator=Operator.DRAFT, draft=draft, role=BASELINE_ROLE, budget=state.work_budget())


def _thoughts(state: CampaignState) -> list[WorkRecord]:
    """Return all stages of all rounds, oldest first."""
    return [r for r in state.works if isinstance(r.work, Think) and r.work.purpose in _STAGES]


def _end_of_rounds(state: CampaignState, last: WorkRecord | None) -> Done | None:
    """Say why no other round follows, if none does; a community that was read again begins anew."""
    rounds = sum(_knows_newest(state, each.id) for each in state.works.thoughts(COORDINATE))
    if state.spec.iterations is not None and rounds >= state.spec.iterations:
        return Done(reason=f"all {state.spec.iterations} rounds of ideation are over")
    if last is None or last.outcome is None or not _knows_newest(state, last.id):
        return None
    if last.outcome.failure is not None:
        return Done(reason=f"ideation failed: {last.outcome.failure.message}")
    if last.outcome.kind == "think" and not last.outcome.result.get("drafts"):
        return Done(reason=f"the model {state.spec.model} has no more drafts to propose")
    return None


def _knows_newest(state: CampaignState, work_id: str) -> bool:
    """Whether the community has not been read again since this was planned."""
    return state.known_to(work_id) == state.communities[::-1]


def _news(state: CampaignState, last: WorkRecord | None) -> bool:
    """Whether an attempt has ended that the last round did not know of."""
    finished = sum(attempt.outcome is not None for attempt in state.works.attempts())
    if last is None or not isinstance(last.work, Think):
        return False
    return finished > int(str(last.work.facts.get("finished", 0)))


def _attempt(state: CampaignState, draft: Draft) -> Code:
    known = {attempt.id for attempt in state.works.attempts()}
    return Code(
        operator=Operator.IMPROVE if draft.codebase else Operator.DRAFT,
        draft=draft,
        parents=tuple(source for source in draft.sources if source in known),
        inputs=draft.inputs,
        budget=state.work_budget(),
    )


def _drafted(state: CampaignState) -> list[Code]:
    """Return the attempts at drafts, that is all but the baseline."""
    works = [record.work for record in state.works.attempts()]
    return [work for work in works if work.role != BASELINE_ROLE]
