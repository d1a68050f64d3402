"""Build the provenance graph of a campaign: community items, drafts and solutions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt, WorkRecord
from comind.community.provenance import Graph, Node, NodeKind, graph_of, node_id
from comind.domain.community import CommunityView

_SOURCES = (NodeKind.IDEA, NodeKind.SOLUTION, NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)
"""Kinds of a draft's sources, in the order in which a plain name is looked up; then come drafts."""


def graph_of_campaign(
    state: CampaignState,
    view: CommunityView,
    nodes_of: Callable[[WorkRecord], Iterable[Node]] = lambda _record: (),
) -> Graph:
    """Return the community's graph with the campaign's drafts and solutions added.

    Parents of a draft had ended when it was planned, so they precede it. A draft based on a failed
    attempt has that attempt's draft as its parent. `nodes_of` returns an agent's own nodes for a
    thought, such as ideas, with parents by plain name.
    """
    graph = graph_of(view)
    attempts = {attempt.id: attempt for attempt in state.works.rankable()}
    for record in state.works:
        found = _draft_and_solution(attempts[record.id]) if record.id in attempts else nodes_of(record)
        for node in found:
            known = dict[str, None]()
            for name in node.parents:
                ids = [name, *(node_id(kind, name) for kind in (*_SOURCES, NodeKind.DRAFT))]
                known |= dict.fromkeys([each for each in ids if each in graph][:1])
            graph = graph.add(node.model_copy(update={"parents": tuple(known)}))
    return graph


class _Titled(Protocol):
    """An idea, or an entry of knowledge."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...


def ideas_of(found: Mapping[str, Iterable[_Titled]]) -> Callable[[WorkRecord], Iterable[Node]]:
    """Return a function for `nodes_of`; `found` has the ideas by the thought that found them."""

    def nodes_of(record: WorkRecord) -> Iterator[Node]:
        for idea in found.get(record.id, ()):
            yield Node(kind=NodeKind.IDEA, name=idea.id, title=idea.title)

    return nodes_of


def _draft_and_solution(attempt: Attempt) -> Iterator[Node]:
    draft, parents = attempt.work.draft, (*attempt.work.draft.sources, *attempt.work.parents)
    yield Node(kind=NodeKind.DRAFT, name=attempt.id, title=draft.title, parents=parents)
    if attempt.submitted is not None:
        own = (node_id(NodeKind.DRAFT, attempt.id),)
        yield Node(kind=NodeKind.SOLUTION, name=attempt.id, title=attempt.title, parents=own)
