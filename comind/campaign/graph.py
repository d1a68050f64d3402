"""What came from what in one campaign: community items, drafts, solutions, and back again."""

from collections.abc import Callable, Iterable, Iterator

from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt, WorkRecord
from comind.community.provenance import Graph, Node, NodeKind, graph_of, node_id
from comind.domain.community import CommunityView

__all__ = ["graph_of_campaign"]

_SOURCES = (NodeKind.IDEA, NodeKind.SOLUTION, NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)


def graph_of_campaign(
    state: CampaignState,
    view: CommunityView,
    nodes_of: Callable[[WorkRecord], Iterable[Node]] = lambda _record: (),
) -> Graph:
    """Return the community's graph with the campaign's drafts and solutions in it.

    What a draft came from had ended when the draft was planned, so parents come first in the order of
    planning. A draft on a failed attempt comes from that attempt's draft. `nodes_of` gives what an agent
    adds for a thought, such as ideas; their parents are plain names.
    """
    graph = graph_of(view)
    attempts = {attempt.id: attempt for attempt in state.works.rankable()}
    for record in state.works:
        found = _draft_and_solution(attempts[record.id]) if record.id in attempts else nodes_of(record)
        for node in found:
            known = tuple(parent for name in node.parents for parent in _named(name, graph))
            graph = graph.add(node.model_copy(update={"parents": tuple(dict.fromkeys(known))}))
    return graph


def _draft_and_solution(attempt: Attempt) -> Iterator[Node]:
    draft, parents = attempt.work.draft, (*attempt.work.draft.sources, *attempt.work.parents)
    yield Node(kind=NodeKind.DRAFT, name=attempt.id, title=draft.title, parents=parents)
    if attempt.submitted is not None:
        own = (node_id(NodeKind.DRAFT, attempt.id),)
        yield Node(kind=NodeKind.SOLUTION, name=attempt.id, title=attempt.title, parents=own)


def _named(name: str, graph: Graph) -> Iterator[str]:
    """Yield the node that a source's name stands for, if it is known."""
    ids = [name, *(node_id(kind, name) for kind in (*_SOURCES, NodeKind.DRAFT))]
    yield from [each for each in ids if each in graph][:1]
