"""What came from what in one campaign: community items, ideas, drafts, solutions, and back again."""

from collections.abc import Iterator

from comind.agents.comind.pool import ideas_of
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.community.graph import Graph, Node, NodeKind, graph_of, node_id
from comind.domain.community import CommunityView

__all__ = ["graph_of_campaign"]

_TITLE_LENGTH = 120
_SOURCES = (NodeKind.IDEA, NodeKind.SOLUTION, NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)


def graph_of_campaign(state: CampaignState, view: CommunityView) -> Graph:
    """Return the community's graph with the campaign's ideas, drafts and solutions in it."""
    graph = graph_of(view)
    for node in _nodes(state):
        known = tuple(parent for name in node.parents for parent in _named(name, graph))
        graph = graph.add(node.model_copy(update={"parents": known}))
    return graph


def _nodes(state: CampaignState) -> Iterator[Node]:
    """Yield nodes whose parents are plain names, each after what it came from.

    A round's ideas come from attempts that had ended by then, and its drafts from its ideas, so both
    follow the order in which the work was planned.
    """
    attempts = {attempt.id: attempt for attempt in state.works.attempts()}
    for record in state.works:
        if record.id in attempts:
            yield from _draft_and_solution(attempts[record.id])
        elif record.outcome is not None and record.outcome.kind == "think":
            for idea in ideas_of(record.outcome):
                title = idea.text[:_TITLE_LENGTH]
                yield Node(kind=NodeKind.IDEA, name=idea.id, title=title, parents=idea.sources)


def _draft_and_solution(attempt: Attempt) -> Iterator[Node]:
    draft = attempt.work.draft
    yield Node(kind=NodeKind.DRAFT, name=attempt.id, title=draft.title, parents=draft.sources)
    if attempt.outcome is not None and attempt.outcome.submitted is not None:
        parents = (node_id(NodeKind.DRAFT, attempt.id),)
        yield Node(kind=NodeKind.SOLUTION, name=attempt.id, title=draft.title, parents=parents)


def _named(name: str, graph: Graph) -> Iterator[str]:
    """Yield the node that a source's name stands for, if it is known."""
    if name in graph:
        yield name
        return
    for kind in _SOURCES:
        if node_id(kind, name) in graph:
            yield node_id(kind, name)
            return
