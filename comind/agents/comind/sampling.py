"""Sample what a round reads and is shown: notebooks, discussions and datasets (paper, section 4.2).

The weight of a notebook or discussion that was not read yet; what was read has none:

    weight = (0.1 + worth + 0.3 tier)² · (1 + used + gain)

    worth  of the ranking (community/ranking.py), from 0 to 1: for notebooks the public score (rank),
           votes (logarithm) and freshness, for discussions votes, comments and freshness
    tier   of the author on Kaggle: grandmaster 1, master 0.75, expert 0.5, contributor 0.25, others 0
    used   log(1 + n) / log(1 + most), where n notebooks, ideas, drafts and solutions came from the item
           in the dependency graph, directly or not, and `most` is the largest n of its kind
    gain   place of the best solution that came from it among the campaign's scored ones: the best 1, the
           last of m is 1/m; 0 without any

The 0.1 leaves a chance to everything, and the square makes the best of a community about five times as
likely as the middle. Of a round's items of a kind, the first round takes half, rounded up, from the top
of the ranking and draws the rest; later rounds draw all. Draws are without replacement, with
probabilities proportional to the weights; they depend on the campaign's seed, the round's number and
the log alone. So everything is read in the end, if there is time for enough rounds.

Datasets are drawn anew in each round, from those with files, as a draft may need one again. They have no
votes, scores or tiers:

    weight = (0.1 + 0.5 read + 0.2 freshness)² · (1 + used + gain)

    read   log(1 + n) / log(1 + most), where n notebooks that were read declare it as a source
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import Pool, graph_with_ideas, rounds_of, runs_of
from comind.agents.comind.thoughts import DatasetTitle, NotebookTitle, Sampled
from comind.campaign.log.campaign_state import CampaignState
from comind.community.provenance import Graph, NodeKind, node_id
from comind.community.ranking import discussion_parts, log_share, notebook_parts, rank_shares
from comind.domain.community import NEVER, CommunityView
from comind.system.plurals import quantity

TIERS = {"contributor": 0.25, "expert": 0.5, "master": 0.75, "grandmaster": 1.0}
"""Author tiers of Kaggle, and what they count; all others count nothing."""

_FLOOR, _TIER, _READ, _FRESHNESS = 0.1, 0.3, 0.5, 0.2
_POWER = 2
_NOTEBOOKS_OFFERED = 10
_TITLE_KEPT, _RESULT_KEPT = 120, 300  # characters


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An item that may be drawn."""

    name: str
    weight: float
    why: str
    """The parts of the weight, in words."""


def sample_round(
    state: CampaignState, pool: Pool, view: CommunityView, parameters: CoMindParameters
) -> list[Sampled]:
    """Return the unread notebooks and discussions that the next round reads."""
    draw, first = _draw(state), not rounds_of(state)
    graph = graph_with_ideas(state, view)
    scored = notebook_parts(view.all_notebooks, maximize=state.split.maximize if state.split else True)
    voted = discussion_parts(view.all_discussions)
    notebooks = {each.ref: scored(each) | _tier(each.author_tier) for each in view.all_notebooks}
    threads = {each.id: voted(each) | _tier(each.author_tier) for each in view.all_discussions}
    found = list[Sampled]()
    for kind, parts, count in (
        (NodeKind.NOTEBOOK, notebooks, parameters.notebooks_per_round),
        (NodeKind.DISCUSSION, threads, parameters.discussions_per_round),
    ):
        read = _read(pool, kind)
        candidates = _candidates(state, graph, kind, parts)
        unread = [each for each in candidates if each.name not in read]
        found += _sampled(kind, unread, count, draw, top=(count + 1) // 2 if first else 0)
    return found


def sample_datasets(
    state: CampaignState, pool: Pool, view: CommunityView, count: int
) -> tuple[DatasetTitle, ...]:
    """Return the datasets with files that the next drafts are offered, in the order of the view."""
    there = [each for each in view.datasets if each.files]
    read = _read(pool, NodeKind.NOTEBOOK)
    readers = (set(each.datasets) for each in view.all_notebooks if each.ref in read)
    declared = Counter(chain.from_iterable(readers))
    most = max((declared[each.ref] for each in there), default=0)
    times = rank_shares(each.published_at or NEVER for each in there)
    parts = {
        each.ref: {
            "read": _READ * log_share(declared[each.ref], most),
            "freshness": _FRESHNESS * times[each.published_at or NEVER],
        }
        for each in there
    }
    candidates = _candidates(state, graph_with_ideas(state, view), NodeKind.DATASET, parts)
    drawn = {each.name for each in _drawn(candidates, count, _draw(state))}
    return tuple(
        DatasetTitle(ref=each.ref, title=each.title[:_TITLE_KEPT]) for each in there if each.ref in drawn
    )


def notebooks_to_start_from(
    state: CampaignState, pool: Pool, view: CommunityView
) -> tuple[NotebookTitle, ...]:
    """Return the notebooks that drafts are offered to start from, in ranked order.

    If there are too many, those that were read come first.
    """
    read = _read(pool, NodeKind.NOTEBOOK)
    read_first = sorted(view.all_notebooks, key=lambda each: each.ref not in read)
    offered = {each.ref for each in read_first[:_NOTEBOOKS_OFFERED]}
    return tuple(
        NotebookTitle(
            ref=each.ref,
            title=each.title[:_TITLE_KEPT],
            result="; ".join(runs_of(each.ref, state))[:_RESULT_KEPT],
            output=each.output,
        )
        for each in view.all_notebooks
        if each.ref in offered
    )


def _draw(state: CampaignState) -> random.Random:
    """Return the random numbers of the next round, which follow from seed and round."""
    number = len(rounds_of(state))
    return random.Random(f"{state.spec.seed}:{number}")  # noqa: S311 - not for security


def _read(pool: Pool, kind: NodeKind) -> set[str]:
    return {report.item for report in pool.reports if report.item_type == kind}


def _tier(name: str) -> dict[str, float]:
    return {"author's tier": _TIER * TIERS.get(name.strip().lower(), 0.0)}


def _candidates(
    state: CampaignState, graph: Graph, kind: NodeKind, parts: Mapping[str, Mapping[str, float]]
) -> list[_Candidate]:
    """Return the items of a kind with their weights, by the parts that are summed in them."""
    ranked = [attempt.id for attempt in state.works.best_first()]
    below = {name: graph.descendants(node_id(kind, name)) for name in parts}
    most = max(map(len, below.values()), default=0)
    found = []
    for name, nodes in below.items():
        solutions = {each.name for each in nodes if each.kind is NodeKind.SOLUTION}
        place = next((n for n, attempt in enumerate(ranked) if attempt in solutions), None)
        gain = 0.0 if place is None else 1 - place / len(ranked)
        influence = 1 + log_share(len(nodes), most) + gain
        counted = [f"{part} {value:.2f}" for part, value in parts[name].items() if value]
        if nodes:
            counted.append(f"in the graph {len(nodes)} below it")
        if place is not None:
            counted.append(f"the best of these is solution {place + 1} of {len(ranked)}")
        weight = (_FLOOR + sum(parts[name].values())) ** _POWER * influence
        found.append(_Candidate(name, weight, ", ".join(counted)))
    return found


def _sampled(
    kind: NodeKind, unread: Sequence[_Candidate], count: int, draw: random.Random, *, top: int
) -> list[Sampled]:
    """Return the items of a kind that a round reads, the first `top` by rank, each with the reason."""
    first, rest = unread[:top], unread[top:]
    whole = sum(each.weight for each in rest)
    found = [
        (each, f"number {place} of {quantity(len(unread), f'unread {kind}')} by rank")
        for place, each in enumerate(first, start=1)
    ]
    found += (
        (each, f"drawn with weight {each.weight:.2f} of {whole:.2f}")
        for each in _drawn(rest, count - len(first), draw)
    )
    return [
        Sampled(id=each.name, item_type=kind.value, why=f"{how}: {each.why}" if each.why else how)
        for each, how in found
    ]


def _drawn(candidates: Sequence[_Candidate], count: int, draw: random.Random) -> list[_Candidate]:
    """Draw without replacement, each time with probabilities proportional to the weights."""
    left, found = list(candidates), list[_Candidate]()
    while left and len(found) < count:
        [chosen] = draw.choices(left, weights=[each.weight for each in left])
        left.remove(chosen)
        found.append(chosen)
    return found
