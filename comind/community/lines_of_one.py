"""Merge the lines of one notebook, discussion or comment: whose votes count, and from when.

Votes and tiers belong to the notebook, the discussion or the comment, and a public score to its version,
whichever line states them. What a line states counts from the line's own time at the earliest, so that a
line which is not visible yet has no influence. Of two totals of the same time the larger counts.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TypeVar

from comind.community.items import CommentItem, DiscussionItem, NotebookItem, Observation
from comind.domain.community import NEVER

Voted = NotebookItem | DiscussionItem | CommentItem
_T = TypeVar("_T", int, float, str)


def _counts_from(stated: datetime | None, line: datetime | None) -> datetime | None:
    """Return the time from which a line's statement about a time counts; None if that has no time."""
    return stated if stated is None or line is None else max(stated, line)


def votes_of(item: Voted) -> Iterator[tuple[str, datetime]]:
    """Yield an identity of each dated vote of a line, and the time from which it counts.

    The identity is the time of the vote and its number among those of the same time, so that lines which
    repeat a vote count it once.
    """
    numbers: dict[datetime, int] = {}
    for time in item.vote_times or ():
        numbers[time] = numbers.get(time, 0) + 1
        counted = _counts_from(time, item.at)
        assert counted is not None
        yield f"{time.replace(tzinfo=None)} #{numbers[time]}", counted


def observations_of(item: Voted) -> Iterator[Observation]:
    """Yield what a line states: totals and tier without a time, its score, and what was observed."""
    tier = "" if isinstance(item, CommentItem) else item.author_tier
    score = item.public_score if isinstance(item, NotebookItem) else None
    if tier or item.votes:
        yield Observation(votes=item.votes or None, author_tier=tier)
    if score is not None:
        yield Observation(at=item.at, public_score=score)
    for seen in item.observed:
        counted = _counts_from(seen.at, item.at)
        yield seen if counted == seen.at else seen.model_copy(update={"at": counted})


def comments_of(item: DiscussionItem) -> Iterator[CommentItem]:
    """Yield the comments of a discussion's line, each with the time from which the line shows it."""
    for comment in item.comments:
        counted = _counts_from(comment.at, item.at)
        yield comment if counted == comment.at else comment.model_copy(update={"updated_at": counted})


def seen_of(lines: Iterable[Voted], visible: Callable[[datetime | None], bool]) -> list[Observation]:
    """Return what lines state that is visible."""
    return [seen for line in lines for seen in observations_of(line) if visible(seen.at)]


def count_votes(
    lines: Iterable[Voted], seen: list[Observation], visible: Callable[[datetime | None], bool]
) -> int | None:
    """Return the number of votes that are known at a time: dated ones or a total, the larger.

    None if neither is known.
    """
    dated = {vote for line in lines for vote, at in votes_of(line) if visible(at)}
    total = latest(seen, lambda each: each.votes)
    return total if not dated else max(len(dated), 0 if total is None else total)


def latest(seen: list[Observation], value_of: Callable[[Observation], _T | None]) -> _T | None:
    """Return the value that was observed last; None if there is none."""
    known: list[tuple[datetime, _T]] = [
        (each.at or NEVER, value) for each in seen if (value := value_of(each)) is not None
    ]
    return max(known)[1] if known else None
