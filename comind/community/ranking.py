"""Rank a community's notebooks and discussions by expected usefulness.

Votes alone mislead: highly voted notebooks are often blends of other people's outputs that teach
nothing (CoMind paper, appendix H), and over half of all notebooks have fewer than ten votes (figure 9).
So a notebook's score is a sum of three parts, each between 0 and 1, and every choice after the first
is penalized for its similarity to earlier choices (maximal marginal relevance).

    0.5  public score   the only measured property; by rank and not by value, so that one absurd claim
                        moves nothing but its own place; unknown counts 0
    0.3  votes          by logarithm: the hundredth vote counts less than the first
    0.2  freshness      by rank of time: later work builds on earlier work
    0.5  similarity     subtracted, times the greatest similarity to an earlier choice: ten forks of the
                        best notebook contain one idea

With `by_votes` the order is that of votes alone, without penalty, and forks stay: the rule of the
papers' agents that read the most voted items.

Discussions have no score: 0.4 votes, 0.4 comments (what others found worth answering), 0.2 freshness,
and the same for similarity, which is the Jaccard index of three-word shingles.

A notebook whose program is nearly that of a better one is a fork with a few lines changed; it is left
out, with a note.

The items that rank next, up to a hundred of each kind and 4 million characters, are kept as further
ones: an agent that samples in each round draws from them, the others never see them.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple, TypeVar

from comind.domain.community import NEVER, CommunityView, Dataset, Discussion, Notebook
from comind.domain.value import Value

_SCORE, _VOTES, _FRESHNESS, _SIMILARITY = 0.5, 0.3, 0.2, 0.5
_DISCUSSION_VOTES, _DISCUSSION_COMMENTS, _DISCUSSION_FRESHNESS = 0.4, 0.4, 0.2
_CANDIDATES = 20
"""Candidates compared with each other, as a multiple of the limit; comparing all would take hours."""
_RUN = 3
_SAME = 0.85
"""Similarity from which a program counts as a copy."""
_COMPARED = 50_000
_MAX_NAMED, _MAX_COPIES = 3, 20
_FURTHER, _FURTHER_TEXT = 100, 4_000_000
"""Number and characters of the further items of a kind."""

_WORD = re.compile(r"\w+")
_Read = TypeVar("_Read", Notebook, Discussion)
_Ordered = TypeVar("_Ordered", float, datetime)


class Selection(Value):
    """What is read of a community: how many items of each kind, in which order, and whether datasets."""

    notebooks: int
    discussions: int
    by_votes: bool = False
    """Whether the order is that of votes alone."""
    datasets: bool = True


class _Text(NamedTuple):
    """Text of an item for comparison; `body` alone decides on copies."""

    title: str
    body: str


def rank(
    view: CommunityView,
    selection: Selection,
    *,
    maximize: bool,
    source_of: Callable[[Notebook], str | None] | None = None,
) -> CommunityView:
    """Return the most useful notebooks and discussions, best first, and all datasets that are read.

    Those that come next are the view's further ones; of a kind that is not read there are none.

    Datasets are ordered by the number of chosen notebooks that use them, then by time, newest first.

    Args:
        view: the unranked view.
        selection: how many are returned, and in which order.
        maximize: whether a higher public score is better.
        source_of: loads the code of candidates without one; None for code that is not available.
    """
    of_notebooks, of_discussions = (
        (_votes, _votes)
        if selection.by_votes
        else (
            _sum_of(notebook_parts(view.notebooks, maximize=maximize)),
            _sum_of(discussion_parts(view.discussions)),
        )
    )
    by_ref = _best_first(sorted(view.notebooks, key=lambda each: each.ref), of_notebooks)
    by_id = _best_first(sorted(view.discussions, key=lambda each: each.id), of_discussions)
    candidates, unread = _readable(by_ref, source_of, _CANDIDATES * selection.notebooks)
    choose = _first if selection.by_votes else _choose
    ordered, copies = choose(
        candidates, lambda each: _Text(each.title, each.source), selection.notebooks + _FURTHER
    )
    threads, _ = choose(
        by_id[: _CANDIDATES * selection.discussions],
        lambda each: _Text(f"{each.title}\n{each.body}", ""),
        selection.discussions + _FURTHER,
    )
    chosen = ordered[: selection.notebooks]
    notes = [
        f"notebook {copy.ref}: is nearly the same as {kept.ref}, which is read in its place"
        for copy, kept in copies[:_MAX_COPIES]
    ]
    if len(copies) > _MAX_COPIES:
        notes.append(f"and {len(copies) - _MAX_COPIES} more copies of notebooks that are read")
    return view.model_copy(
        update={
            "left_out": view.left_out + tuple(unread) + tuple(notes),
            "notebooks": chosen,
            "discussions": threads[: selection.discussions],
            "datasets": _by_use(view.datasets, chosen) if selection.datasets else (),
            "further_notebooks": _fitting(ordered[selection.notebooks :], lambda each: len(each.source)),
            "further_discussions": _fitting(threads[selection.discussions :], _thread_length),
        }
    )


def _fitting(items: Sequence[_Read], length: Callable[[_Read], int]) -> tuple[_Read, ...]:
    """Return the first items, as many as the text of further items may have characters."""
    total = accumulate(map(length, items))
    return tuple(each for each, so_far in zip(items, total, strict=True) if so_far <= _FURTHER_TEXT)


def _thread_length(thread: Discussion) -> int:
    return len(thread.body) + sum(len(each.body) for each in thread.comments)


def _votes(each: Notebook | Discussion) -> float:
    return each.votes


def notebook_parts(
    notebooks: Sequence[Notebook], *, maximize: bool
) -> Callable[[Notebook], dict[str, float]]:
    """Return a function that gives the weighted parts of a notebook's worth among these by name."""
    sign = 1 if maximize else -1
    scores = rank_shares(sign * each.public_score for each in notebooks if each.public_score is not None)
    times = rank_shares(each.created_at or NEVER for each in notebooks)
    most = max((each.votes for each in notebooks), default=0)

    def parts(each: Notebook) -> dict[str, float]:
        score = 0.0 if each.public_score is None else scores[sign * each.public_score]
        return {
            "public score": _SCORE * score,
            "votes": _VOTES * log_share(each.votes, most),
            "freshness": _FRESHNESS * times[each.created_at or NEVER],
        }

    return parts


def discussion_parts(discussions: Sequence[Discussion]) -> Callable[[Discussion], dict[str, float]]:
    """Return a function that gives the weighted parts of a discussion's worth among these by name."""
    times = rank_shares(each.posted_at or NEVER for each in discussions)
    votes = max((each.votes for each in discussions), default=0)
    comments = max((len(each.comments) for each in discussions), default=0)

    def parts(each: Discussion) -> dict[str, float]:
        return {
            "votes": _DISCUSSION_VOTES * log_share(each.votes, votes),
            "comments": _DISCUSSION_COMMENTS * log_share(len(each.comments), comments),
            "freshness": _DISCUSSION_FRESHNESS * times[each.posted_at or NEVER],
        }

    return parts


def _sum_of(parts: Callable[[_Read], dict[str, float]]) -> Callable[[_Read], float]:
    return lambda each: sum(parts(each).values())


def _best_first(items: Sequence[_Read], worth: Callable[[_Read], float]) -> list[tuple[_Read, float]]:
    """Return items with their scores, highest first; ties keep their order."""
    return sorted(((each, worth(each)) for each in items), key=lambda pair: -pair[1])


def _readable(
    candidates: Sequence[tuple[Notebook, float]],
    source_of: Callable[[Notebook], str | None] | None,
    limit: int,
) -> tuple[list[tuple[Notebook, float]], list[str]]:
    """Return the first candidates whose code is available, with it, and a note on those without."""
    if source_of is None:
        return list(candidates[:limit]), []
    found: list[tuple[Notebook, float]] = []
    without: list[str] = []
    for notebook, worth in candidates:
        if len(found) == limit:
            break
        source = notebook.source or source_of(notebook)
        if source is None:
            without.append(notebook.ref)
        else:
            found.append((notebook.model_copy(update={"source": source}), worth))
    if not without:
        return found, []
    names = ", ".join(without[:_MAX_NAMED]) + (", ..." if len(without) > _MAX_NAMED else "")
    note = f"notebooks that cannot be read, as their code is not there: {len(without)} ({names})"
    return found, [note]


def _first(
    candidates: Sequence[tuple[_Read, float]], text: Callable[[_Read], _Text], limit: int
) -> tuple[tuple[_Read, ...], list[tuple[_Read, _Read]]]:
    """Choose the first, as `_choose` would if none was like another."""
    del text
    return tuple(each for each, _ in candidates[:limit]), []


def _choose(
    candidates: Sequence[tuple[_Read, float]], text: Callable[[_Read], _Text], limit: int
) -> tuple[tuple[_Read, ...], list[tuple[_Read, _Read]]]:
    """Choose greedily by score minus similarity penalty; returns also pairs of copy and original."""
    items = [each for each, _ in candidates]
    worths = [worth for _, worth in candidates]
    order = list(range(len(items)))
    texts = [text(each) for each in items]
    runs = [_shingles(f"{each.title}\n{each.body}") for each in texts]
    bodies = [_shingles(code) if (code := _uncommented(each.body)) else frozenset() for each in texts]
    similarity = dict.fromkeys(order, 0.0)
    chosen: list[_Read] = []
    copies: list[tuple[_Read, _Read]] = []
    while order and len(chosen) < limit:
        best = max(order, key=lambda index: worths[index] - _SIMILARITY * similarity[index])
        order.remove(best)
        chosen.append(items[best])
        alike = [index for index in order if _is_copy(bodies[index], bodies[best])]
        copies += [(items[index], items[best]) for index in alike]
        order = [index for index in order if index not in set(alike)]
        for index in order:
            similarity[index] = max(similarity[index], _jaccard(runs[index], runs[best]))
    return tuple(chosen), copies


def _by_use(datasets: Sequence[Dataset], notebooks: Sequence[Notebook]) -> tuple[Dataset, ...]:
    uses = [ref for notebook in notebooks for ref in set(notebook.datasets)]
    by_name = sorted(datasets, key=lambda each: each.ref)
    newest = sorted(by_name, key=lambda each: each.published_at or NEVER, reverse=True)
    return tuple(sorted(newest, key=lambda each: -uses.count(each.ref)))


def _shingles(text: str) -> frozenset[int]:
    """Return the hashes of the three-word shingles of a text; hashes take less memory than words."""
    words = _WORD.findall(text[:_COMPARED].lower())
    runs = zip(*(words[start:] for start in range(_RUN)), strict=False)
    return frozenset(map(hash, runs)) or frozenset({hash(tuple(words))})


def _uncommented(source: str) -> str:
    lines = (line for line in source.splitlines() if not line.lstrip().startswith("#"))
    return "\n".join(lines).strip()


def _is_copy(one: frozenset[int], other: frozenset[int]) -> bool:
    """Whether two programs are nearly the same; the sizes alone often rule it out."""
    small, large = sorted((len(one), len(other)))
    return small > _SAME * large and _jaccard(one, other) >= _SAME


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def rank_shares(values: Iterable[_Ordered]) -> dict[_Ordered, float]:
    """Return the rank of each value among the distinct ones, scaled so that the greatest has 1."""
    distinct = sorted(set(values))
    return {value: place / len(distinct) for place, value in enumerate(distinct, start=1)}


def log_share(count: int, most: int) -> float:
    """Return log(1 + count) / log(1 + most); negative counts as 0."""
    return math.log1p(max(0, count)) / math.log1p(most) if most > 0 else 0.0
