"""Collect the reports, ideas and drafts of all rounds, and the graph of what came from what.

The pool only grows: memory is the union of all rounds, with the sources of each idea and the results of
the attempts that used it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, TypeVar

from comind.agents.comind.memos import Idea
from comind.agents.comind.thoughts import (
    ANALYZE,
    COORDINATE,
    OPEN,
    PREPARE,
    PROPOSE,
    Complement,
    Drafting,
    Ratings,
    Report,
    Reports,
    RoundDrafts,
)
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Purpose, Thought, WorkRecord
from comind.campaign.reports.campaign_graph import graph_of_campaign
from comind.community.provenance import Graph, Node, NodeKind, node_id
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from comind.domain.spend import WorkBudget
from comind.domain.value import Value

ResultT = TypeVar("ResultT", bound=Value)

_TITLE_LENGTH, _PART_LENGTH = 120, 200
_OF_EACH_KIND, _IN_ALL = 2, 5


@dataclass(frozen=True, slots=True)
class Pool:
    """All reports, ideas and drafts of a campaign, oldest first."""

    reports: tuple[Report, ...] = ()
    ideas: tuple[Idea, ...] = ()
    latest: tuple[str, ...] = ()
    """Ids of the ideas that the last round selected."""
    drafts: tuple[Draft, ...] = ()
    best: str = ""
    """Id of the best attempt."""

    def of_latest_round(self) -> "Pool":
        """Return a copy with the ideas of the last round alone."""
        return replace(self, ideas=tuple(idea for idea in self.ideas if idea.id in self.latest))

    def uses_of(self, idea: str, state: CampaignState) -> list[str]:
        """Return the results of the attempts that used an idea, in words."""
        attempts = (a for a in state.works.attempts() if idea in a.work.draft.sources)
        return [f"{attempt.id}: {attempt.result}" for attempt in attempts]


def runs_of(item: str, state: CampaignState) -> list[str]:
    """Return the scores of attempts that started from a community item, in words."""
    found = []
    for attempt in state.works.attempts():
        if item in attempt.work.draft.sources and attempt.outcome and attempt.outcome.score:
            first = attempt.outcome.opening_score
            as_it_is = f"as it is {first}, then " if first else ""
            found.append(f"{attempt.id}: {as_it_is}{attempt.outcome.score}")
    return found


def pool_of(state: CampaignState) -> Pool:
    """Collect the results of finished thoughts."""
    selected = [tuple(idea.id for idea in ideas) for ideas in _proposed(state).values() if ideas]
    return Pool(
        reports=tuple(r for each in results_of(state, ANALYZE).values() for r in each.reports),
        ideas=tuple(chain.from_iterable(ideas_by_thought(state).values())),
        latest=selected[-1] if selected else (),
        drafts=tuple(d for each in rounds_of(state) if each.result for d in each.result.drafts),
        best=state.best.work_id if state.best else "",
    )


def rounds_of(state: CampaignState) -> list[Thought[Drafting, RoundDrafts]]:
    """Return the thoughts that wrote a round's drafts, oldest first."""
    found = [*state.works.thoughts(COORDINATE), *state.works.thoughts(OPEN)]
    return sorted(found, key=lambda each: state.works.number(each.id))


def rounds_since_news(state: CampaignState) -> list[Thought[Drafting, RoundDrafts]]:
    """Return the rounds since the community was read last, which a followed campaign counts anew."""
    newest = state.communities[::-1]
    return [each for each in rounds_of(state) if state.known_to(each.id) == newest]


def round_budget(state: CampaignState) -> WorkBudget:
    """Return the limits of an attempt in a round, which has a draft for each coder."""
    return state.work_budget(waves=math.ceil(state.spec.coders / state.attempts_at_once()))


def latest_preparation(state: CampaignState) -> str:
    """Return the preparation that ran without error in the latest attempt that has ended.

    If none did, it is the one that was written beside attempts, unless it has failed; else empty.
    """
    ended = [each for each in state.works.attempts() if each.outcome is not None]
    ran = {each.work.draft.preparation: each.outcome.prepared for each in ended if each.outcome}
    for attempt in reversed(ended):
        if attempt.outcome is not None and attempt.outcome.prepared:
            return attempt.work.draft.preparation
    written = [each.preparation for each in results_of(state, PREPARE).values()]
    return next((each for each in reversed(written) if ran.get(each) is not False), "")


def ideas_by_thought(state: CampaignState) -> dict[str, tuple[Idea, ...]]:
    """Return the ideas of each finished thought by work id, in the order of the log.

    Ideas of discussions go straight into the pool (paper, section 4.2), numbered on from those before;
    the Idea Proposer numbers its own on from all that are known.
    """
    read, proposed = results_of(state, ANALYZE), _proposed(state)
    found, known = dict[str, tuple[Idea, ...]](), 0
    for record in state.works:
        if record.id in read:
            found[record.id] = tuple(_discussed(read[record.id], known))
        elif record.id in proposed:
            found[record.id] = proposed[record.id]
        known += len(found.get(record.id, ()))
    return found


def _proposed(state: CampaignState) -> dict[str, tuple[Idea, ...]]:
    """Return the ideas of the Idea Proposer, and of rounds in one call, by work id, oldest first."""
    found = {name: each.ideas for name, each in results_of(state, PROPOSE).items()}
    found |= {name: each.ideas for name, each in results_of(state, OPEN).items()}
    return {name: found[name] for name in sorted(found, key=state.works.number)}


def _discussed(read: Reports, known: int) -> Iterator[Idea]:
    """Yield the ideas of a reader's discussions, valued by effectiveness and feasibility."""
    reports = [each for each in read.reports if each.item_type == NodeKind.DISCUSSION and read.pooled]
    pairs = ((report, text) for report in reports for text in report.ideas if text.strip())
    for number, (report, text) in enumerate(pairs, start=known):
        yield Idea(
            id=f"idea-{number:03d}",
            text=" ".join(text.split()),
            value=(report.effectiveness + report.feasibility) // 2,
            sources=(report.item,),
        )


def results_of(state: CampaignState, purpose: Purpose[Any, ResultT]) -> dict[str, ResultT]:
    """Return the results of finished thoughts of one purpose by work id, oldest first."""
    return {each.id: each.result for each in state.works.thoughts(purpose) if each.result is not None}


def graph_with_ideas(state: CampaignState, view: CommunityView) -> Graph:
    """Return the community's graph with the campaign's ideas, drafts and solutions.

    Ideas come from attempts that ended before their round, and drafts from ideas, so both follow the
    order in which work was planned.
    """
    found = ideas_by_thought(state)

    def nodes(record: WorkRecord) -> Iterator[Node]:
        for idea in found.get(record.id, ()):
            title = idea.text[:_TITLE_LENGTH]
            yield Node(kind=NodeKind.IDEA, name=idea.id, title=title, parents=idea.sources)

    return graph_of_campaign(state, view, nodes)


def lineage_of(graph: Graph, work_id: str) -> set[str]:
    """Return the ids of an attempt's solution and of all nodes that it came from."""
    name = node_id(NodeKind.SOLUTION, work_id)
    return {name, *(node.id for node in graph.ancestors(name))} if name in graph else {name}


def complements(
    state: CampaignState, graph: Graph, pool: Pool, candidates: Sequence[str]
) -> tuple[Complement, ...]:
    """Return what some of the candidates did not come from: solutions, community items and ideas.

    Each names the candidates whose lineage lacks it. The best scored, best rated and most valued come
    first, the kinds in turns. Ideas of the latest round are omitted, as the prompt for drafts has them
    already.
    """
    known = (name for name in candidates if node_id(NodeKind.SOLUTION, name) in graph)
    lineages = {name: lineage_of(graph, name) for name in known}
    kinds = (_solutions(state, pool), _items(pool), _ideas(state, pool))
    turns = chain.from_iterable(zip_longest(*(_outside(lineages, kind) for kind in kinds)))
    return tuple(each for each in turns if each is not None)[:_IN_ALL]


def _outside(
    lineages: Mapping[str, set[str]], complements_of_kind: Iterable[Complement]
) -> list[Complement]:
    """Return what some lineages lack, with their solutions; what the first one lacks comes first."""
    found = []
    for each in complements_of_kind:
        name = node_id(NodeKind(each.item_type), each.id)
        lacking = tuple(candidate for candidate, inside in lineages.items() if name not in inside)
        if lacking:
            found.append(each.model_copy(update={"outside": lacking}))
    places = {candidate: place for place, candidate in enumerate(lineages)}
    return sorted(found, key=lambda each: places[each.outside[0]])[:_OF_EACH_KIND]


def _order(report: Report) -> tuple[int, int]:
    """Return the order of a report by its merit, which has all axes, then by its best component."""
    return -report.merit, -max(map(_axes, report.components), default=0)


def ratings_in_words(report: Report) -> str:
    """Return all axes of a report with their reasons."""
    rated = (
        f"novelty {report.novelty}, feasibility {report.feasibility}, effectiveness "
        f"{report.effectiveness}, efficiency {report.efficiency}, confidence {report.confidence}"
    )
    return f"{rated}: {report.reasons.rstrip('. ')}" if report.reasons else rated


def _axes(rated: Ratings) -> int:
    return rated.novelty + rated.feasibility + rated.effectiveness + rated.efficiency


def _solutions(state: CampaignState, pool: Pool) -> Iterator[Complement]:
    reports = {report.item: report for report in pool.reports}
    for attempt in state.works.best_first():
        if not attempt.work.is_baseline:
            yield Complement(
                id=attempt.id,
                item_type=NodeKind.SOLUTION.value,
                title=attempt.title[:_TITLE_LENGTH],
                result=attempt.result,
                parts=_parts(reports.get(attempt.id)),
            )


def _items(pool: Pool) -> Iterator[Complement]:
    latest = {report.item: report for report in pool.reports if report.item_type != NodeKind.SOLUTION}
    for report in sorted(latest.values(), key=_order):
        yield Complement(
            id=report.item,
            item_type=report.item_type,
            title=report.title[:_TITLE_LENGTH],
            result=" ".join(ratings_in_words(report).split())[:_PART_LENGTH],
            parts=_parts(report),
        )


def _ideas(state: CampaignState, pool: Pool) -> Iterator[Complement]:
    for idea in sorted(pool.ideas, key=lambda each: -each.value):
        if idea.id not in pool.latest:
            used = "; ".join(pool.uses_of(idea.id, state)) or "not tried"
            yield Complement(
                id=idea.id,
                item_type=NodeKind.IDEA.value,
                title=idea.text[: 2 * _PART_LENGTH],
                result=f"{idea.rated}, {used}"[:_PART_LENGTH],
            )


def _parts(report: Report | None) -> tuple[str, ...]:
    """Return the components of a report in one line each, the best rated and proven first."""
    components = sorted(
        report.components if report else (), key=lambda each: -_axes(each) - (each.confidence or 0)
    )
    return tuple(
        " ".join(f"{each.name} ({each.takes or '?'} -> {each.gives or '?'})".split())[:_PART_LENGTH]
        for each in components
    )
