"""Plan CoMind's next work from the campaign's state, and dispatch it to the roles."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import ClassVar, NamedTuple

from comind.agents.comind.analyzer import analyze, reading_facts
from comind.agents.comind.coding_agent import implement
from comind.agents.comind.coordinator import coordinate, drafting_facts
from comind.agents.comind.idea_proposer import propose, proposing_facts
from comind.agents.comind.journal import journal_of
from comind.agents.comind.last_attempts import is_last, last_attempts
from comind.agents.comind.pool import Pool, graph_with_ideas, pool_of
from comind.agents.comind.samples import SAMPLES
from comind.agents.comind.shared_solutions import with_solutions
from comind.agents.comind.sizes import estimate
from comind.agents.comind.thoughts import (
    ANALYZE,
    COORDINATE,
    PROPOSE,
    CoMindParameters,
    Drafting,
    RoundDrafts,
)
from comind.campaign.agent import Agent, Role
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Compare, Decision, Done, Think, Wait
from comind.campaign.log.work_items import Thought, WorkRecord
from comind.campaign.reports.call_costs import Expected
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.community.provenance import Graph
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.value import Value


class CoMind(Agent):
    """A community of roles around a shared pool of solutions (CoMind paper, section 4).

    Each round reads items, proposes ideas and writes drafts, which attempts implement. Rounds overlap: a
    free slot takes the next draft, and when none is left the next round begins while other attempts are
    running.
    """

    parameters = CoMindParameters
    roles: ClassVar = {
        "analyzer": Role("reads notebooks, discussions and solutions, and rates them"),
        "idea_proposer": Role("brainstorms, then filters and rebuilds ideas"),
        "coordinator": Role("turns ideas into distinct drafts"),
        "coding_agent": Role("implements a draft, cell by cell"),
    }
    purposes = (ANALYZE, PROPOSE, COORDINATE)
    prompts = ("comind.agents.comind",)
    samples = SAMPLES

    def plan(self, state: CampaignState) -> Decision:
        """Plan attempts at waiting drafts for free slots; when none waits, the next thought.

        Thinking needs no core, so it begins before a slot is free.
        """
        pool = pool_of(state)
        planned = sum(
            not (attempt.work.is_baseline or is_last(attempt.work)) for attempt in state.works.attempts()
        )
        waiting = pool.drafts[planned:]
        if waiting:
            return [_attempt(state, draft) for draft in waiting[: state.free_slots()]] or Wait()
        thoughts = [record for record in state.works if isinstance(record.work, Think)]
        if any(thought.in_flight for thought in thoughts):
            return Wait()
        return self._next_thought(state, pool, thoughts[-1] if thoughts else None)

    def remainder(self, state: CampaignState) -> Sequence[Code]:
        """Extend the best solutions while there is no time for another round."""
        return last_attempts(state)

    def think(self, work: Think, context: ThinkContext) -> Value:
        """Carry out one stage of a round."""
        match work.purpose:
            case ANALYZE.name:
                return analyze(self.problem, self.community, ANALYZE.facts_of(work), context)
            case PROPOSE.name:
                filtering = self.settings.filtering
                return propose(self.problem, PROPOSE.facts_of(work), context, filtering=filtering)
            case COORDINATE.name:
                return coordinate(self.problem, self.community, COORDINATE.facts_of(work), context)
            case _:
                return super().think(work, context)

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Implement one draft."""
        return implement(self.problem, work, context, self.settings.patience)

    @classmethod
    def journal(cls, state: CampaignState, community: CommunityView) -> str:
        """Return what was read, thought and tried so far as Markdown."""
        return journal_of(state, community)

    @classmethod
    def graph(cls, state: CampaignState, community: CommunityView) -> Graph:
        """Return the graph of items, ideas, drafts and solutions."""
        return graph_with_ideas(state, community)

    @classmethod
    def summaries(cls, state: CampaignState) -> Mapping[str, str]:
        """Return the Analyzer's summaries by item; the last one of each."""
        return {report.item: report.summary for report in pool_of(state).reports}

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected:
        """Return the expected model calls of a campaign."""
        return estimate(spec)

    def _next_thought(self, state: CampaignState, pool: Pool, last: WorkRecord | None) -> Decision:
        """Continue the round, or begin the next one.

        A failed stage does not end the round; the next stage has nothing new from it.
        """
        stage = last.work.purpose if last is not None and isinstance(last.work, Think) else None
        rounds = state.works.thoughts(COORDINATE)
        empty = _empty_rounds(rounds)
        memory = self.settings.idea_memory
        if stage == ANALYZE.name:
            return [PROPOSE.work(proposing_facts(state, pool, empty.reason, memory=memory))]
        if stage == PROPOSE.name and rounds and state.may_compare():
            return Compare()
        if stage == PROPOSE.name:
            known = pool if memory else pool.of_latest_round()
            shown = self.settings.datasets_per_round
            facts = drafting_facts(state, known, self.community, empty.reason, datasets=shown)
            return [COORDINATE.work(facts)]
        end = _end_of_rounds(state, self.settings)
        if end is not None:
            return Wait() if state.works.in_flight() else end
        news = bool(rounds) and _finished(state) > rounds[-1].facts.finished
        if state.works.in_flight() and not news:
            return Wait()
        readings = reading_facts(
            state, pool, self.community, self.settings, seed=self.seed, number=len(rounds)
        )
        if readings:
            return [ANALYZE.work(each) for each in readings]
        return [PROPOSE.work(proposing_facts(state, pool, empty.reason, memory=memory))]


class _EmptyRounds(NamedTuple):
    """Number of the latest rounds in a row without a draft, and the reason of the last one."""

    number: int
    reason: str


def _empty_rounds(rounds: Sequence[Thought[Drafting, RoundDrafts]]) -> _EmptyRounds:
    """Count the latest rounds without a draft."""
    empty = list(takewhile(lambda each: not (each.result and each.result.drafts), reversed(rounds)))
    if not empty:
        return _EmptyRounds(0, "")
    failure = empty[0].failure.message if empty[0].failure else ""
    refused = empty[0].result.refused if empty[0].result else ""
    return _EmptyRounds(len(empty), failure or refused or "there was no draft")


def _end_of_rounds(state: CampaignState, settings: CoMindParameters) -> Done | None:
    """Return why no further round begins, if none does; counts restart when the community is re-read."""
    newest = state.communities[::-1]
    rounds = [each for each in state.works.thoughts(COORDINATE) if state.known_to(each.id) == newest]
    empty = _empty_rounds(rounds)
    with_drafts = sum(bool(each.result and each.result.drafts) for each in rounds)
    if state.spec.iterations is not None and with_drafts >= state.spec.iterations:
        return Done(reason=f"all {state.spec.iterations} rounds of ideation are over")
    if empty.number >= settings.max_empty_rounds:
        return Done(reason=f"{empty.number} rounds in a row brought no draft, the last: {empty.reason}")
    return None


def _finished(state: CampaignState) -> int:
    return sum(attempt.outcome is not None for attempt in state.works.attempts())


def _attempt(state: CampaignState, draft: Draft) -> Code:
    known = {attempt.id for attempt in state.works.attempts()}
    operator = Operator.IMPROVE if draft.codebase else Operator.DRAFT
    work = Code(
        operator=Operator.ENSEMBLE if draft.members else operator,
        draft=draft,
        parents=tuple(source for source in draft.sources if source in known),
        inputs=draft.inputs,
        budget=state.work_budget(),
    )
    return with_solutions(state, work)
