"""Plan MLE-STAR's search and attempts from the campaign's state."""

from collections.abc import Sequence
from typing import ClassVar

from comind.agents.mlestar.model_search import SEARCH, Candidate, FoundModels, SearchFacts, search_models
from comind.agents.mlestar.program_writer import ProgramWriter
from comind.agents.mlestar.refinement_loops import combine, refine_block
from comind.agents.mlestar.solution_chain import CODING, Phase, Place, SolutionChain, chains_of
from comind.agents.mlestar.star_requests import (
    CHECKER,
    CODER,
    PLANNER,
    PROMPTS,
    RETRIEVER,
    SEARCHER,
    MleStarParameters,
)
from comind.campaign.agent import Agent, Role, Samples
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Think, Wait
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.call_costs import Expected, ExpectedCalls
from comind.campaign.reports.campaign_graph import graph_of_campaign, ideas_of
from comind.campaign.reports.campaign_journal import journal_of, plain
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.community.provenance import Graph
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.value import Payload, Value, one_line
from comind.errors import ReplyError, UsageError
from comind.knowledge.knowledge_base import NO_KNOWLEDGE
from comind.llm.model_ports import Usage
from comind.llm.settings import ModelSettings
from comind.system.plurals import quantity

_TITLE_LENGTH = 120
_SETTINGS = ModelSettings(temperature=0.5)
_SHORT = Usage(prompt_tokens=4_000, completion_tokens=300)
_LONG = Usage(prompt_tokens=4_500, completion_tokens=1_500)
_OPERATORS = {Phase.CANDIDATE: Operator.DRAFT, Phase.ENSEMBLE: Operator.ENSEMBLE}


class MleStar(Agent):
    """Search for models, merge them, refine the block that matters, combine solutions (MLE-STAR)."""

    parameters = MleStarParameters
    roles: ClassVar = {
        RETRIEVER: Role("chooses candidate models from what was found", _SETTINGS),
        SEARCHER: Role("searches the web, if its model can (web_search)", _SETTINGS),
        PLANNER: Role("plans refinements and ensembles", _SETTINGS),
        CODER: Role("writes programs, ablation studies and blocks", _SETTINGS),
        CHECKER: Role("checks leakage and data usage", ModelSettings(temperature=0.0)),
    }
    purposes = (SEARCH,)
    prompts = ("comind.agents.mlestar", "comind.knowledge")
    samples = Samples(
        parameters=(
            {"models": 2, "outer": 2, "inner": 2, "ensemble_rounds": 2, "debug_rounds": 1}
            | {"web_search": True},
        ),
        replies={
            "AblationStudy.code": [
                "print(feature, labels)",
                'print({"component": "all", "score": 0.8})',
            ],
            "Target.block": ["model.fit(features, labels)", "    return chosen"],
        },
    )

    def plan(self, state: CampaignState) -> Decision:
        """Search once; then build and refine the solutions side by side, and combine them."""
        searches = state.works.thoughts(SEARCH)
        if not searches:
            return [SEARCH.work(self._search_facts(state))]
        if any(each.result is None and each.failure is None for each in searches):
            return Wait()
        found = searches[0].result
        candidates = (found.candidates if found else ()) or (self._from_memory(),)
        chains = chains_of(state.works.attempts(), self.settings.solutions)
        refinements = self.settings.outer if _has_time(state, self.settings.ensemble_time) else 0
        places = [
            (chain.length + later, chain, place)
            for chain in chains
            for later, place in enumerate(chain.next(len(candidates), refinements))
        ]
        if places or state.works.in_flight():
            places.sort(key=lambda each: each[0])  # the solutions take turns
            free = places[: state.free_slots()]
            return [self._attempt(state, each, place, candidates) for _, each, place in free] or Wait()
        return self._ending(state, chains)

    def think(self, work: Think, context: ThinkContext) -> Value:
        """Search for candidate models."""
        return search_models(self.problem, self.community, SEARCH.facts_of(work), context)

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Implement one attempt; the report has what the checks found and changed."""
        writer, parts = ProgramWriter(self.problem, work, self.settings, context), []
        try:
            parts.append(self._implement(writer, work))
        except ReplyError as error:
            parts.append(f"Ended early: {error}.")
        parts += [f"- {note}" for note in writer.notes]
        return CodeResult(report="\n\n".join(filter(None, parts)))

    def _implement(self, writer: ProgramWriter, work: Code) -> str:
        draft, place = work.draft, CODING.facts_of(work)
        assert place is not None, "this agent has planned it"
        if place.phase is Phase.ENSEMBLE:
            return combine(writer)
        if place.phase is not Phase.REFINE:
            writer.run(draft.title, writer.write(place.phase.value))
            return ""
        program = draft.codebase
        if place.number == 1 and self.settings.usage_check and not self.problem.program:
            program = writer.use_all_data(program)
        return refine_block(writer, program, draft.codebase_result)

    @classmethod
    def check(cls, spec: CampaignSpec) -> None:
        """Refuse a web search under an as-of time, which it cannot respect.

        Raises:
            UsageError: both are set.
        """
        parameters = MleStarParameters.model_validate(spec.parameters)
        if parameters.web_search and spec.cutoff is not None:
            raise UsageError(
                f"agents.mlestar.web_search: content is visible {spec.visible_until()}, "
                "and the web shows what was published later",
                hint="set it to false, or --as-of none",
            )

    @classmethod
    def journal(cls, state: CampaignState, community: CommunityView) -> str:
        """Return the attempts, the candidate models, and the report of each attempt, as Markdown."""
        del community
        lines = [journal_of(state), "## Candidate models", ""]
        for each in state.works.thoughts(SEARCH):
            found = each.result or FoundModels(web=each.failure.message if each.failure else "")
            for model in found.candidates:
                lines += [f"- {plain(str(model))} (from {plain(', '.join(model.sources)) or 'memory'})"]
            lines += [f"- search failed: {plain(found.web)}"] if found.web else []
        lines += ["", "## Reports", ""]
        for attempt in state.works.attempts():
            if attempt.work.role == CODER and attempt.outcome and attempt.outcome.report:
                lines += [f"### {attempt.id}: {plain(attempt.title)}", ""]
                lines += [f"Score: {plain(attempt.result)}", "", attempt.outcome.report, ""]
        return "\n".join([*lines, ""])

    @classmethod
    def graph(cls, state: CampaignState, community: CommunityView) -> Graph:
        """Return the provenance graph, in which knowledge leads to candidates."""
        found = {t.id: t.result.entries for t in state.works.thoughts(SEARCH) if t.result}
        return graph_of_campaign(state, community, ideas_of(found))

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected:
        """Return the expected model calls, if every program is scored at once and all merges gain."""
        parameters = MleStarParameters.model_validate(spec.parameters)
        each, blocks = parameters.solutions, parameters.solutions * parameters.outer
        rounds = parameters.ensemble_rounds * (parameters.ensemble and each > 1)
        programs = each * (2 * parameters.models - 1) + blocks * parameters.inner + rounds
        checks = programs * parameters.leakage_check + each * parameters.usage_check * bool(blocks)
        calls = (
            ExpectedCalls(RETRIEVER, _SHORT, 3 if parameters.search else 1),
            ExpectedCalls(SEARCHER, _SHORT, int(parameters.search and parameters.web_search)),
            ExpectedCalls(PLANNER, _SHORT, blocks * parameters.inner + rounds),
            ExpectedCalls(CODER, _LONG, programs - rounds + blocks * parameters.ablation),
            ExpectedCalls(CHECKER, _SHORT, checks),
        )
        return Expected(f"{quantity(programs, 'program')} of {quantity(each, 'solution')}", calls)

    def _from_memory(self) -> Candidate:
        method = "algorithm" if self.problem.program else "model"
        return Candidate(name=f"the {method} that fits best", description="Choose it yourself.")

    def _search_facts(self, state: CampaignState) -> SearchFacts:
        given = self.settings
        named = (given.knowledge, given.cards) if given.search else ()
        return SearchFacts(
            bases=tuple(each for each in named if each != NO_KNOWLEDGE),
            as_of=state.spec.cutoff,
            models=given.models,
            community=given.search,
            web=given.search and given.web_search,
        )

    def _attempt(
        self, state: CampaignState, chain: SolutionChain, place: Place, found: Sequence[Candidate]
    ) -> Code:
        """Return the attempt at a place."""
        if place.phase is Phase.CANDIDATE:
            return _code(state, place, _draft_candidate(place, found[place.number - 1]))
        best = chain.best
        assert best is not None, "nothing follows without a score"
        if place.phase is Phase.MERGE:
            other = chain.unmerged()[0]
            title = f"Solution {place.solution}, with {other.title}"
            draft = _draft_on(place, best, title, _shown(other), (other,))
            return _code(state, place, draft, (best, other))
        title = f"Solution {place.solution}, refinement {place.number}"
        draft = _draft_on(place, best, title, "Refine the block with the largest effect.", ())
        history = "\n\n".join(map(_report, chain.of(Phase.REFINE)))
        return _code(state, place, draft.model_copy(update={"codebase_result": history}), (best,))

    def _ending(self, state: CampaignState, chains: Sequence[SolutionChain]) -> Decision:
        """Combine the solutions once, then end."""
        found = list({chain.best.id: chain.best for chain in chains if chain.best is not None}.values())
        members = [each for each in found if not each.rejected] or found
        done = state.works.codes(Operator.ENSEMBLE) or not self.settings.ensemble
        if not done and len(members) > 1:
            names, place = tuple(each.id for each in members), Place(phase=Phase.ENSEMBLE)
            draft = Draft(
                title=f"Ensemble of {len(members)} solutions",
                strategy=str(place),
                method="\n\n".join(f"## {each.id}\n\n{_shown(each)}" for each in members),
                members=names,
                sources=names,
                inputs=names,
            )
            return [_code(state, place, draft, members)]
        return Done(reason=f"{len(members)} of {len(chains)} solutions are refined and combined")


def _has_time(state: CampaignState, share: float) -> bool:
    """Return whether more than this share of the campaign's time is left for attempts."""
    limit = state.budget.seconds
    return limit is None or state.open_seconds() > share * limit


def _code(state: CampaignState, place: Place, draft: Draft, parents: Sequence[Attempt] = ()) -> Code:
    return Code(
        operator=_OPERATORS.get(place.phase, Operator.IMPROVE),
        draft=draft,
        facts=Payload.of(place),
        role=CODER,
        parents=tuple(each.id for each in parents),
        inputs=draft.inputs,
        session="script",
        budget=state.work_budget(),
    )


def _draft_candidate(place: Place, candidate: Candidate) -> Draft:
    example = f"\n\nExample:\n\n{candidate.example}" if candidate.example.strip() else ""
    return Draft(
        title=one_line(candidate.name, _TITLE_LENGTH),
        strategy=str(place),
        method=f"{candidate}{example}",
        sources=candidate.sources,
    )


def _draft_on(place: Place, best: Attempt, title: str, method: str, others: Sequence[Attempt]) -> Draft:
    """Return a draft that starts from the best program of a solution."""
    assert best.outcome is not None
    return Draft(
        title=one_line(title, _TITLE_LENGTH),
        strategy=str(place),
        method=method,
        codebase=best.outcome.code,
        codebase_seconds=best.outcome.code_seconds,
        codebase_result=_result(best),
        sources=tuple(each.id for each in (best, *others)),
    )


def _report(attempt: Attempt) -> str:
    """Return the report of an attempt; of one whose time was over, its plans and their results."""
    assert attempt.outcome is not None
    plans = (f"- {cell.goal} Result: {cell.result}" for cell in attempt.outcome.cells)
    return attempt.outcome.report or "\n".join(plans)


def _result(attempt: Attempt) -> str:
    """Return score and output of an attempt, truncated."""
    return PROMPTS.render("result", attempt=attempt, room=PROMPTS.limits())


def _shown(attempt: Attempt) -> str:
    """Return title, score, output and program of an attempt, truncated."""
    return PROMPTS.render("solution", attempt=attempt, room=PROMPTS.limits())
