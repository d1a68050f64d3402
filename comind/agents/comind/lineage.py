"""What came from what in one campaign: community items, ideas, drafts, solutions, and back again."""

from collections.abc import Iterator
from itertools import chain, islice, zip_longest

from comind.agents.comind.pool import Pool
from comind.agents.comind.thoughts import PROPOSE, Complement, Report
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import BASELINE_ROLE
from comind.campaign.log.work_items import WorkRecord
from comind.campaign.reports.provenance import graph_of_campaign
from comind.community.provenance import Graph, Node, NodeKind, node_id
from comind.domain.community import CommunityView

__all__ = ["complements", "graph_with_ideas"]

_TITLE_LENGTH, _PART_LENGTH = 120, 200
_OF_EACH_KIND, _IN_ALL = 2, 5


def graph_with_ideas(state: CampaignState, view: CommunityView) -> Graph:
    """Return the community's graph with the campaign's ideas, drafts and solutions in it.

    A round's ideas come from attempts that had ended by then, and its drafts from its ideas, so both
    follow the order in which the work was planned.
    """
    found = {each.id: each.result.ideas for each in state.works.thoughts(PROPOSE) if each.result}

    def nodes(record: WorkRecord) -> Iterator[Node]:
        for idea in found.get(record.id, ()):
            title = idea.text[:_TITLE_LENGTH]
            yield Node(kind=NodeKind.IDEA, name=idea.id, title=title, parents=idea.sources)

    return graph_of_campaign(state, view, nodes)


def complements(state: CampaignState, view: CommunityView, pool: Pool) -> tuple[Complement, ...]:
    """Return what the best solution did not come from: solutions, community items and ideas.

    The best scored, best rated and most valued come first, the kinds in turns. Ideas of the latest round
    are left out, as whoever writes drafts sees them anyway.
    """
    graph = graph_with_ideas(state, view)
    best = node_id(NodeKind.SOLUTION, state.best.work_id) if state.best else ""
    if best not in graph:
        return ()
    inside = {best, *(node.id for node in graph.ancestors(best))}
    kinds = (_solutions(state, pool, inside), _items(pool, inside), _ideas(state, pool, inside))
    turns = chain.from_iterable(zip_longest(*(islice(kind, _OF_EACH_KIND) for kind in kinds)))
    return tuple(each for each in turns if each is not None)[:_IN_ALL]


def _solutions(state: CampaignState, pool: Pool, inside: set[str]) -> Iterator[Complement]:
    reports = {report.item: report for report in pool.reports}
    for attempt in state.works.best_first():
        if attempt.work.role == BASELINE_ROLE or node_id(NodeKind.SOLUTION, attempt.id) in inside:
            continue
        yield Complement(
            id=attempt.id,
            kind=NodeKind.SOLUTION.value,
            title=attempt.title[:_TITLE_LENGTH],
            result=attempt.result,
            parts=_parts(reports.get(attempt.id)),
        )


def _items(pool: Pool, inside: set[str]) -> Iterator[Complement]:
    latest = {report.item: report for report in pool.reports if report.kind != NodeKind.SOLUTION}
    for report in sorted(latest.values(), key=lambda each: -(each.effectiveness + each.confidence)):
        if f"{report.kind}:{report.item}" not in inside:
            yield Complement(
                id=report.item,
                kind=report.kind,
                title=report.title[:_TITLE_LENGTH],
                result=f"effectiveness {report.effectiveness}, confidence {report.confidence}",
                parts=_parts(report),
            )


def _ideas(state: CampaignState, pool: Pool, inside: set[str]) -> Iterator[Complement]:
    for idea in sorted(pool.ideas, key=lambda each: -each.value):
        if idea.id not in pool.latest and node_id(NodeKind.IDEA, idea.id) not in inside:
            used = "; ".join(pool.uses_of(idea.id, state)) or "not tried"
            yield Complement(
                id=idea.id,
                kind=NodeKind.IDEA.value,
                title=idea.text[: 2 * _PART_LENGTH],
                result=f"value {idea.value}, {used}"[:_PART_LENGTH],
            )


def _parts(report: Report | None) -> tuple[str, ...]:
    """Return the components of a report, the most effective first, each in a line."""
    components = sorted(report.components, key=lambda each: -each.effectiveness) if report else ()
    return tuple(
        " ".join(f"{each.name} ({each.takes or '?'} -> {each.gives or '?'})".split())[:_PART_LENGTH]
        for each in components
    )
