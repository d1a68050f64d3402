"""List the community items that a campaign could read, each with the attempts that came from it."""

from collections.abc import Mapping

from comind.campaign.log.campaign_state import CampaignState
from comind.community.provenance import Graph, NodeKind
from comind.domain.community import ItemOutcome

_ITEMS = (NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)


def item_outcomes(
    state: CampaignState, graph: Graph, summaries: Mapping[str, str]
) -> tuple[ItemOutcome, ...]:
    """Return the items of a provenance graph in its order; `summaries` are by the item's name.

    Further items are left out that were neither summarized nor used.
    """
    scores = {each.id: each.score for each in state.works.best_first()}
    tried = {each.id for each in state.works.attempts()}
    found = []
    for node in graph:
        if node.kind not in _ITEMS:
            continue
        below = {each.name for each in graph.descendants(node.id) if each.kind is NodeKind.DRAFT} & tried
        if node.further and not below and node.name not in summaries:
            continue
        best = next((score for name, score in scores.items() if name in below), None)
        found.append(
            ItemOutcome(
                item_type=node.kind.value,
                name=node.name,
                title=node.title,
                summary=summaries.get(node.name, ""),
                attempts=tuple(sorted(below)),
                best=best.value.value if best is not None else None,
            )
        )
    return tuple(found)
