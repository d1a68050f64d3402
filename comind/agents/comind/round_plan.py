"""Plan CoMind's next work from the campaign's state, and dispatch it to the roles."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import ClassVar, NamedTuple, TypeVar

from comind.agents.comind.analyzer import analyze, reading_facts
from comind.agents.comind.coding_agent import implement
from comind.agents.comind.coordinator import coordinate, prepare
from comind.agents.comind.critic import (
    CRITICIZE,
    critic_work,
    criticize,
    is_of_critic,
    is_rerun,
    rejected_by_critic,
    rerun,
)
from comind.agents.comind.drafting_facts import drafting_facts, prepares
from comind.agents.comind.from_others import told
from comind.agents.comind.idea_proposer import propose, proposing_facts
from comind.agents.comind.journal import journal_of
from comind.agents.comind.last_attempts import is_last, last_attempts
from comind.agents.comind.lessons import lessons_of
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import (
    Pool,
    graph_with_ideas,
    latest_preparation,
    pool_of,
    results_of,
    rounds_of,
    rounds_since_news,
)
from comind.agents.comind.samples import SAMPLES
from comind.agents.comind.search_phase import attempt_budget
from comind.agents.comind.sizes import LATE_SHARE, estimate
from comind.agents.comind.thoughts import (
    ANALYZE,
    COORDINATE,
    OPEN,
    PREPARE,
    PROPOSE,
    Drafting,
    Preparing,
    Proposing,
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

FactsT = TypeVar("FactsT", Proposing, Drafting)

_BESIDE_ROUNDS = (PREPARE.name, CRITICIZE.name)
_METHOD_SHOWN = 1_000  # characters of a draft's method for whoever writes the preparation


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
        "critic": Role("looks for leakage in the best programs"),
    }
    purposes = (ANALYZE, PROPOSE, COORDINATE, OPEN, PREPARE, CRITICIZE)
    prompts = ("comind.agents.comind",)
    samples = SAMPLES

    def plan(self, state: CampaignState) -> Decision:
        """Plan what rounds need, and the critic's work; called again after each plan until it waits.

        Re-runs are short and come first; programs are read when nothing else can be planned.
        """
        planned = self._plan_round(state)
        over = isinstance(planned, Done) or (isinstance(planned, Wait) and self._is_over(state))
        critical = critic_work(state, self.settings, over=over)
        reruns = [each for each in critical if isinstance(each, Code)]
        if reruns:
            return list(reruns)
        return planned if isinstance(planned, list) else critical or planned

    def _is_over(self, state: CampaignState) -> bool:
        """Whether no round begins any more and nothing but the critic's work is in flight."""
        works = (each.work for each in state.works.in_flight())
        return _end_of_rounds(state, self.settings) is not None and all(map(is_of_critic, works))

    def _plan_round(self, state: CampaignState) -> Decision:
        """Plan attempts at waiting drafts for free slots; when none waits, the next thought.

        Thinking needs no core, so it begins before a slot is free.
        """
        pool = pool_of(state)
        works = [attempt.work for attempt in state.works.attempts()]
        planned = sum(not (each.is_baseline or is_last(each) or is_rerun(each)) for each in works)
        waiting = pool.drafts[planned:]
        if waiting:
            attempts = [self._attempt(state, pool, draft) for draft in waiting[: state.free_slots()]]
            if not attempts:
                return Wait()
            later = len(waiting) > len(attempts) or _end_of_rounds(state, self.settings) is None
            return [*attempts, *(self._preparation(state) if later else ())]
        stages = [
            record
            for record in state.works
            if isinstance(record.work, Think) and record.work.purpose not in _BESIDE_ROUNDS
        ]
        if any(thought.in_flight for thought in stages):
            return Wait()
        return self._next_thought(state, pool, stages[-1] if stages else None)

    def remainder(self, state: CampaignState) -> Sequence[Code]:
        """Extend the best solutions while there is no time for another round that would begin."""
        planned = self._plan_round(state)
        if not (isinstance(planned, list) and isinstance(planned[0], Think)):
            return []
        return [self._told(state, pool_of(state), work) for work in last_attempts(state)]

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
            case OPEN.name:
                facts = OPEN.facts_of(work)
                return coordinate(self.problem, self.community, facts, context, opening=True)
            case PREPARE.name:
                return prepare(self.problem, PREPARE.facts_of(work), context)
            case CRITICIZE.name:
                return criticize(self.problem, CRITICIZE.facts_of(work), context)
            case _:
                return super().think(work, context)

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Implement one draft, or run a program without what the critic found."""
        if is_rerun(work):
            return rerun(work, context)
        return implement(self.problem, work, context, self.settings)

    def rejections(self, state: CampaignState) -> Mapping[str, str]:
        """Return the programs that score as well without a leak that the critic found."""
        return rejected_by_critic(state)

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

    def _told(self, state: CampaignState, pool: Pool, work: Code) -> Code:
        """Add to an attempt what it is compared with, and what it is told of others."""
        return told(
            state,
            pool,
            work,
            lessons=self.settings.lessons and not self.settings.isolation,
            shared=not self.settings.isolation,
        )

    def _with_lessons(self, state: CampaignState, facts: FactsT) -> FactsT:
        """Add what attempts gained over their parents to the facts of a thought."""
        if not self.settings.lessons:
            return facts
        return facts.model_copy(update={"lessons": lessons_of(state)})

    def _next_thought(self, state: CampaignState, pool: Pool, last: WorkRecord | None) -> Decision:
        """Continue the round, or begin the next one.

        A failed stage does not end the round; the next stage has nothing new from it.
        """
        stage = last.work.purpose if last is not None and isinstance(last.work, Think) else None
        rounds = rounds_of(state)
        empty = _empty_rounds(rounds)
        if stage == ANALYZE.name:
            return self._ideas(state, pool, empty.reason)
        if stage == PROPOSE.name:
            return self._drafts(state, pool, empty.reason)
        end = _end_of_rounds(state, self.settings)
        if end is not None:
            return Wait() if state.works.in_flight() else end
        news = bool(rounds) and _finished(state) > rounds[-1].facts.finished
        if news or not _busy(state):
            return self._reading(state, pool) or self._ideas(state, pool, empty.reason)
        return Wait()

    def _in_one_call(self, state: CampaignState) -> bool:
        """Whether one call writes a round's ideas and drafts, as time is short.

        In the first round that is a matter of the campaign's time; in later ones of what is left, which
        is at most half of it.
        """
        limit = state.budget.seconds
        if limit is None:
            return False
        most: float = 60 * self.settings.one_call_minutes
        if not rounds_of(state):
            return limit <= most
        return state.seconds_left() <= min(most, LATE_SHARE * limit)

    def _reading(self, state: CampaignState, pool: Pool) -> list[Think | Code]:
        """Return what the readers of the next round do.

        A round in one call reads own solutions only beside the community: their reports are in the
        prompt for drafts.
        """
        readings = reading_facts(state, pool, self.community, self.settings)
        if self._in_one_call(state) and not any(each.sampled for each in readings):
            return []
        return [ANALYZE.work(each) for each in readings]

    def _ideas(self, state: CampaignState, pool: Pool, refused: str) -> Decision:
        """Propose ideas, or write ideas and drafts in one call."""
        if self._in_one_call(state):
            return self._drafts(state, pool, refused, opening=True)
        facts = proposing_facts(state, pool, refused, memory=self.settings.idea_memory)
        return [PROPOSE.work(self._with_lessons(state, facts))]

    def _drafts(
        self, state: CampaignState, pool: Pool, refused: str, *, opening: bool = False
    ) -> Decision:
        """Write drafts, after a comparison of errors from the second round on."""
        if rounds_of(state) and state.may_compare():
            return Compare()
        facts = drafting_facts(
            state, pool, self.community, refused, settings=self.settings, opening=opening
        )
        return [(OPEN if opening else COORDINATE).work(self._with_lessons(state, facts))]

    def _preparation(self, state: CampaignState) -> list[Think]:
        """Return the thought that writes the first preparation beside attempts, if one is due.

        It is due once, after a round in one call; the other rounds write preparations themselves.
        """
        rounds, asked = rounds_of(state), state.works.thoughts(PREPARE)
        opened = results_of(state, OPEN)
        if asked or not prepares(state, self.settings) or rounds[-1].id not in opened:
            return []
        if any(each.result and each.result.preparation for each in rounds):
            return []
        folds = state.split.folds if state.split else 0
        methods = tuple(d.method[:_METHOD_SHOWN] for d in opened[rounds[-1].id].drafts)
        work = PREPARE.work(Preparing(folds=folds, methods=methods))
        return [work.model_copy(update={"beside": True})]

    def _attempt(self, state: CampaignState, pool: Pool, draft: Draft) -> Code:
        """Plan an attempt; a fresh one begins with the preparation that was written meanwhile."""
        fresh = not draft.codebase and not draft.members
        if fresh and not draft.preparation and prepares(state, self.settings):
            draft = draft.model_copy(update={"preparation": latest_preparation(state)})
        known = {attempt.id for attempt in state.works.attempts()}
        operator = Operator.IMPROVE if draft.codebase else Operator.DRAFT
        rounds = rounds_of(state)
        work = Code(
            operator=Operator.ENSEMBLE if draft.members else operator,
            draft=draft,
            parents=tuple(source for source in draft.sources if source in known),
            inputs=draft.inputs,
            budget=attempt_budget(state, rounds[-1].facts.phase if rounds else "", draft),
        )
        return self._told(state, pool, work)


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
    rounds = rounds_since_news(state)
    empty = _empty_rounds(rounds)
    with_drafts = sum(bool(each.result and each.result.drafts) for each in rounds)
    if state.spec.iterations is not None and with_drafts >= state.spec.iterations:
        return Done(reason=f"all {state.spec.iterations} rounds of ideation are over")
    if empty.number >= settings.max_empty_rounds:
        return Done(reason=f"{empty.number} rounds in a row brought no draft, the last: {empty.reason}")
    return None


def _busy(state: CampaignState) -> bool:
    """Whether attempts or stages of a round are in flight."""
    return any(
        not (isinstance(each.work, Think) and each.work.purpose in _BESIDE_ROUNDS)
        for each in state.works.in_flight()
    )


def _finished(state: CampaignState) -> int:
    attempts = state.works.attempts()
    return sum(each.outcome is not None and not is_rerun(each.work) for each in attempts)
