"""What of a community is worth reading first.

Votes alone mislead: highly voted notebooks are often blends of other people's outputs that teach
nothing (CoMind paper, appendix H), and over half of all notebooks have fewer than ten votes (figure 9).
So a notebook's worth is a sum of three parts, each between 0 and 1, and every choice after the first
also pays for being like one that was chosen before.

    0.5  public score   the one thing about a notebook that was measured; by rank and not by value, so
                        that one absurd claim moves nothing but its own place; unknown counts 0
    0.3  votes          by logarithm: the hundredth vote says less than the first
    0.2  freshness      by rank of time: later work has read the earlier
    0.5  likeness       taken away, times the greatest likeness to one chosen before: ten forks of the
                        best notebook hold one idea

Discussions have no score: 0.4 votes, 0.4 comments (what others found worth answering), 0.2 freshness,
and the same for likeness. Likeness is the share of three-word runs that two texts have in common.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from comind.domain.community import CommunityView, Dataset, Discussion, Notebook

__all__ = ["rank"]

_SCORE, _VOTES, _FRESHNESS, _LIKENESS = 0.5, 0.3, 0.2, 0.5
_DISCUSSION_VOTES, _DISCUSSION_COMMENTS, _DISCUSSION_FRESHNESS = 0.4, 0.4, 0.2
_CANDIDATES = 20
"""So many times the limit are compared with each other; comparing all would take hours."""
_RUN = 3
_COMPARED = 50_000
_NEVER = datetime.min.replace(tzinfo=UTC)

_WORD = re.compile(r"\w+")
_Read = TypeVar("_Read", Notebook, Discussion)
_Ordered = TypeVar("_Ordered", float, datetime)


def rank(view: CommunityView, *, maximize: bool, notebooks: int, discussions: int) -> CommunityView:
    """Return the notebooks and discussions most worth reading, best first, and all datasets.

    Datasets are ordered by the chosen notebooks that use them, then the newest first.

    Args:
        view: what was there.
        maximize: whether greater public scores are better.
        notebooks: how many of them at most.
        discussions: how many of them at most.
    """
    chosen = _choose(
        sorted(view.notebooks, key=lambda each: each.ref),
        _worth_of_notebooks(view.notebooks, maximize=maximize),
        lambda each: f"{each.title}\n{each.source}",
        notebooks,
    )
    discussed = _choose(
        sorted(view.discussions, key=lambda each: each.id),
        _worth_of_discussions(view.discussions),
        lambda each: f"{each.title}\n{each.body}",
        discussions,
    )
    return view.model_copy(
        update={
            "notebooks": chosen,
            "discussions": discussed,
            "datasets": _by_use(view.datasets, chosen),
        }
    )


def _worth_of_notebooks(notebooks: Sequence[Notebook], *, maximize: bool) -> Callable[[Notebook], float]:
    sign = 1 if maximize else -1
    scores = _ranks(sign * each.public_score for each in notebooks if each.public_score is not None)
    times = _ranks(each.created_at or _NEVER for each in notebooks)
    most = max((each.votes for each in notebooks), default=0)

    def worth(each: Notebook) -> float:
        score = 0.0 if each.public_score is None else scores[sign * each.public_score]
        return (
            _SCORE * score
            + _VOTES * _share(each.votes, most)
            + _FRESHNESS * times[each.created_at or _NEVER]
        )

    return worth


def _worth_of_discussions(discussions: Sequence[Discussion]) -> Callable[[Discussion], float]:
    times = _ranks(each.posted_at or _NEVER for each in discussions)
    votes = max((each.votes for each in discussions), default=0)
    comments = max((len(each.comments) for each in discussions), default=0)

    def worth(each: Discussion) -> float:
        return (
            _DISCUSSION_VOTES * _share(each.votes, votes)
            + _DISCUSSION_COMMENTS * _share(len(each.comments), comments)
            + _DISCUSSION_FRESHNESS * times[each.posted_at or _NEVER]
        )

    return worth


def _choose(
    items: Sequence[_Read],
    worth: Callable[[_Read], float],
    text: Callable[[_Read], str],
    limit: int,
) -> tuple[_Read, ...]:
    """Choose one after the other the best of what is left; among equals the first in `items`."""
    worths = [worth(each) for each in items]
    order = sorted(range(len(items)), key=lambda index: -worths[index])[: _CANDIDATES * limit]
    runs = {index: _runs(text(items[index])) for index in order}
    likeness = dict.fromkeys(order, 0.0)
    chosen: list[_Read] = []
    while order and len(chosen) < limit:
        best = max(order, key=lambda index: worths[index] - _LIKENESS * likeness[index])
        order.remove(best)
        chosen.append(items[best])
        for index in order:
            likeness[index] = max(likeness[index], _jaccard(runs[index], runs[best]))
    return tuple(chosen)


def _by_use(datasets: Sequence[Dataset], notebooks: Sequence[Notebook]) -> tuple[Dataset, ...]:
    uses = [ref for notebook in notebooks for ref in set(notebook.datasets)]
    by_name = sorted(datasets, key=lambda each: each.ref)
    newest = sorted(by_name, key=lambda each: each.published_at or _NEVER, reverse=True)
    return tuple(sorted(newest, key=lambda each: -uses.count(each.ref)))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text[:_COMPARED].lower())
    return frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False)) or frozenset(
        {tuple(words)}
    )


def _jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other)


def _ranks(values: Iterable[_Ordered]) -> dict[_Ordered, float]:
    """Return every value's place among the distinct ones, the greatest at 1, none at 0."""
    distinct = sorted(set(values))
    return {value: place / len(distinct) for place, value in enumerate(distinct, start=1)}


def _share(count: int, most: int) -> float:
    """Return a count as a share of the greatest, by logarithm; what is voted down counts as none."""
    return math.log1p(max(0, count)) / math.log1p(most) if most > 0 else 0.0
