"""Count what a community has as of a moment (CoMind v2, table 6 and figure 9)."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from comind.community.access import open_community
from comind.community.asof import as_of as seen_from
from comind.domain.community import CommunityStatistics

_MOST_VOTES = (0, 9, 99)
"""Upper bounds of the groups of notebooks by votes; the last group has no bound."""


def community_statistics(folder: Path, competition: str, moment: datetime | None) -> CommunityStatistics:
    """Return the statistics of a competition's community folder or store as of a moment.

    Raises:
        CommunityError: it is invalid, or a store that has nothing of the competition.
    """
    community = open_community(folder)
    items = community.items(competition, moment)
    view, item_of = seen_from(items, moment), items.notebook_index()
    sources = (each.source or community.source_of(item_of(each)) for each in view.notebooks)
    votes = [sum(1 for most in _MOST_VOTES if each.votes > most) for each in view.notebooks]
    return CommunityStatistics(
        notebooks=len(view.notebooks),
        discussions=len(view.discussions),
        datasets=len(view.datasets),
        lines=_mean(len(source.splitlines()) for source in sources if source is not None),
        comments=_mean(len(each.comments) for each in view.discussions),
        votes=tuple(votes.count(group) for group in range(len(_MOST_VOTES) + 1)),
    )


def _mean(values: Iterable[int]) -> float | None:
    found = list(values)
    return round(sum(found) / len(found), 2) if found else None
