"""What came from what in one campaign: community items, ideas, drafts, solutions, and back again."""

from collections.abc import Iterator

from comind.agents.comind.thoughts import PROPOSE
from comind.campaign.graph import graph_of_campaign
from comind.campaign.state import CampaignState
from comind.campaign.works import WorkRecord
from comind.community.graph import Graph, Node, NodeKind
from comind.domain.community import CommunityView

__all__ = ["graph_with_ideas"]

_TITLE_LENGTH = 120


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
