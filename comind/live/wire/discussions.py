"""What is answered about discussions, in the client's types."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from comind.domain.community import Comment, Discussion
from comind.live.wire.types import Json, competitions, discussions, made, number, written

__all__ = [
    "Branch",
    "comments",
    "competition_topics",
    "last_word",
    "messages",
    "one_topic",
    "topic",
    "topics",
]


def _comment_count(found: Discussion) -> int:
    return len(found.comments)


def last_word(found: Discussion) -> datetime | None:
    """Return when somebody last wrote in a discussion."""
    times = (found.posted_at, *(comment.posted_at for comment in found.comments))
    return max((time for time in times if time), default=None)


def competition_topics(name: str, found: Iterable[Discussion], total: int) -> Json:
    """Return a page of a competition's discussions."""
    listed = [
        made(
            competitions.ApiCompetitionTopic,
            id=number(name, "topic", topic.id),
            title=topic.title,
            topic_url=f"/competitions/{name}/discussion/{number(name, 'topic', topic.id)}",
            author_name=topic.author,
            comment_count=_comment_count(topic),
            votes=topic.votes,
            post_date=topic.posted_at,
            last_comment_post_date=last_word(topic),
        )
        for topic in found
    ]
    return written(competitions.ApiListCompetitionTopicsResponse, topics=listed, total_count=total)


def messages(name: str, topic: Discussion | None, tree: Sequence["Branch"]) -> Json:
    """Return a discussion as a tree of messages, its own text first where `topic` is given."""
    first = []
    if topic is not None:
        kept = Comment(
            id=topic.id,
            author=topic.author,
            posted_at=topic.posted_at,
            votes=topic.votes,
            body=topic.body,
        )
        first = [_message(name, "topic", kept, [])]
    listed = [_messages(name, branch) for branch in tree]
    return written(competitions.ApiListTopicMessagesResponse, messages=[*first, *listed])


Branch = tuple[Comment, Sequence["Branch"]]
"""A comment, and the answers to it."""


def _messages(name: str, branch: Branch) -> Any:
    comment, answers = branch
    return _message(name, "comment", comment, [_messages(name, answer) for answer in answers])


def _message(name: str, kind: str, comment: Comment, answers: list[Any]) -> Any:
    return made(
        competitions.ApiTopicMessage,
        id=number(name, kind, comment.id),
        post_date=comment.posted_at,
        content=comment.body,
        raw_markdown=comment.body,
        author_name=comment.author,
        votes=comment.votes,
        replies=answers,
    )


def topic(name: str, found: Discussion) -> Any:
    """Return a discussion with its text, an object."""
    identity = number(name, "topic", found.id)
    return made(
        discussions.ApiDiscussionTopic,
        id=identity,
        title=found.title,
        url=f"/competitions/{name}/discussion/{identity}",
        post_date=found.posted_at,
        last_comment_date=last_word(found),
        author_name=found.author,
        author_url=f"/{found.author}",
        votes=found.votes,
        comment_count=_comment_count(found),
        forum_name=name,
        forum_id=number(name, "forum", name),
        content=found.body,
    )


def one_topic(found: Any) -> Json:
    """Return the answer that holds one discussion."""
    return written(discussions.ApiGetTopicResponse, topic=found)


def topics(found: Sequence[Any], total: int, token: str) -> Json:
    """Return a page of discussions."""
    kind = discussions.ApiListTopicsResponse
    return written(kind, topics=list(found), total_count=total, next_page_token=token)


def comments(name: str, tree: Sequence[Branch], token: str) -> Json:
    """Return a page of comments with the answers to them."""
    kind = discussions.ApiListCommentsResponse
    listed = [_discussion_comment(name, branch) for branch in tree]
    return written(kind, comments=listed, next_page_token=token)


def _discussion_comment(name: str, branch: Branch) -> Any:
    comment, answers = branch
    return made(
        discussions.ApiDiscussionComment,
        id=number(name, "comment", comment.id),
        author_name=comment.author,
        author_url=f"/{comment.author}",
        post_date=comment.posted_at,
        content=comment.body,
        votes=comment.votes,
        replies=[_discussion_comment(name, answer) for answer in answers],
    )
