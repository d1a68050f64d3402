"""Serve discussions through the client's competition and forum services, as of the simulated time."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from comind.domain.community import NEVER, Comment, Discussion
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import build, competitions, discussions, response, stable_id
from comind.live.routes import (
    Catalog,
    RequestContext,
    RouteError,
    RouteResponse,
    RouteTable,
    hotness,
    paginate,
)

__all__ = ["DiscussionRoutes"]

_MAX_DEPTH = 10

_Thread = tuple[Comment, Sequence["_Thread"]]
"""A comment, and the threads of its replies."""


@dataclass(frozen=True)
class DiscussionRoutes:
    """Handlers for discussions of the client's competition and forum services."""

    _catalog: Catalog

    def _list_of_competition(self, request: Any, _context: RequestContext) -> RouteResponse:
        hosted = self._catalog.find(request.competition_name)
        found = sorted(hosted.world.view().discussions, key=_sort_key(request.sort_by.name, hosted))
        page, _ = paginate(found, request)
        listed = [_competition_topic(hosted.id, topic) for topic in page]
        return response("ListCompetitionTopics", topics=listed, total_count=len(found))

    def _messages(self, request: Any, _context: RequestContext) -> RouteResponse:
        hosted, topic = self._find(request.topic_id, request.competition_name)
        page, _ = paginate(_threads(topic.comments, request.sort_by.name), request)
        first = _message(hosted.id, "topic", topic, [])
        messages = [first, *(_message_thread(hosted.id, thread) for thread in page)]
        return response("ListTopicMessages", messages=messages)

    def _list(self, request: Any, _context: RequestContext) -> RouteResponse:
        words = (request.search_query or "").lower().split()
        found = [
            (hosted, topic)
            for hosted in self._catalog.hosted.values()
            if request.forum_slug in ("", None, hosted.id)
            for topic in hosted.world.view().discussions
            if all(word in f"{topic.title} {topic.body}".lower() for word in words)
        ]
        found.sort(key=lambda pair: _sort_key(request.sort_by.name, pair[0])(pair[1]))
        page, token = paginate(found, request)
        listed = [_topic(h.id, topic) for h, topic in page]
        return response("ListTopics", topics=listed, total_count=len(found), next_page_token=token)

    def _get(self, request: Any, _context: RequestContext) -> RouteResponse:
        hosted, topic = self._find(request.id)
        return response("GetTopic", topic=_topic(hosted.id, topic))

    def _comments(self, request: Any, _context: RequestContext) -> RouteResponse:
        hosted, topic = self._find(request.topic_id)
        page, token = paginate(_threads(topic.comments, ""), request)
        listed = [_comment(hosted.id, thread) for thread in page]
        return response("ListComments", comments=listed, next_page_token=token)

    def _find(self, topic_id: int, competition: str = "") -> tuple[HostedCompetition, Discussion]:
        """Return a discussion by its numeric id; `RouteError` 404 if it is not visible."""
        hosts = [self._catalog.find(competition)] if competition else self._catalog.hosted.values()
        for hosted in hosts:
            for topic in hosted.world.community.view(hosted.world.clock.moment).discussions:
                if stable_id(hosted.id, "topic", topic.id) == topic_id:
                    return hosted, topic
        raise RouteError(404, "Topic not found")

    ROUTES: ClassVar[RouteTable] = {
        "competitions.CompetitionApiService/ListCompetitionTopics": _list_of_competition,
        "competitions.CompetitionApiService/ListTopicMessages": _messages,
        "discussions.DiscussionApiService/ListTopics": _list,
        "discussions.DiscussionApiService/GetTopic": _get,
        "discussions.DiscussionApiService/ListComments": _comments,
    }


def _last_post(topic: Discussion) -> datetime | None:
    times = (topic.posted_at, *(comment.posted_at for comment in topic.comments))
    return max((time for time in times if time), default=None)


def _competition_topic(competition: str, topic: Discussion) -> Any:
    """Serialize a discussion for the list of a competition."""
    identity = stable_id(competition, "topic", topic.id)
    return build(
        competitions.ApiCompetitionTopic,
        id=identity,
        title=topic.title,
        topic_url=f"/competitions/{competition}/discussion/{identity}",
        author_name=topic.author,
        comment_count=len(topic.comments),
        votes=topic.votes,
        post_date=topic.posted_at,
        last_comment_post_date=_last_post(topic),
    )


def _topic(competition: str, topic: Discussion) -> Any:
    """Serialize a discussion with its text."""
    identity = stable_id(competition, "topic", topic.id)
    return build(
        discussions.ApiDiscussionTopic,
        id=identity,
        title=topic.title,
        url=f"/competitions/{competition}/discussion/{identity}",
        post_date=topic.posted_at,
        last_comment_date=_last_post(topic),
        author_name=topic.author,
        author_url=f"/{topic.author}",
        votes=topic.votes,
        comment_count=len(topic.comments),
        forum_name=competition,
        forum_id=stable_id(competition, "forum", competition),
        content=topic.body,
    )


def _message_thread(competition: str, thread: _Thread) -> Any:
    comment, replies = thread
    return _message(
        competition, "comment", comment, [_message_thread(competition, each) for each in replies]
    )


def _message(competition: str, kind: str, post: Discussion | Comment, replies: list[Any]) -> Any:
    return build(
        competitions.ApiTopicMessage,
        id=stable_id(competition, kind, post.id),
        post_date=post.posted_at,
        content=post.body,
        raw_markdown=post.body,
        author_name=post.author,
        votes=post.votes,
        replies=replies,
    )


def _comment(competition: str, thread: _Thread) -> Any:
    comment, replies = thread
    return build(
        discussions.ApiDiscussionComment,
        id=stable_id(competition, "comment", comment.id),
        author_name=comment.author,
        author_url=f"/{comment.author}",
        post_date=comment.posted_at,
        content=comment.body,
        votes=comment.votes,
        replies=[_comment(competition, each) for each in replies],
    )


def _sort_key(sort_by: str, hosted: HostedCompetition) -> Callable[[Discussion], tuple[Any, ...]]:
    def key(topic: Discussion) -> tuple[Any, ...]:
        last = (_last_post(topic) or NEVER).timestamp()
        score = {
            "TOPIC_LIST_SORT_BY_TOP": topic.votes,
            "TOPIC_LIST_SORT_BY_NEW": (topic.posted_at or NEVER).timestamp(),
            "TOPIC_LIST_SORT_BY_RECENT": last,
            "TOPIC_LIST_SORT_BY_ACTIVE": last,
        }.get(sort_by)
        if score is None:
            score = hotness(topic.votes + len(topic.comments), topic.posted_at, hosted)
        return (-score, hosted.id, topic.id)

    return key


def _threads(comments: Sequence[Comment], sort_by: str) -> list[_Thread]:
    """Return comments as trees of replies; comments that only reply to each other become roots.

    The client never receives more than ten levels: deeper replies become siblings of their parent.
    """
    replies: dict[str | None, list[Comment]] = {}
    for comment in comments:
        replies.setdefault(comment.parent, []).append(comment)
    placed: set[str] = set()

    def grow(roots: Sequence[Comment], depth: int) -> list[_Thread]:
        grown: list[_Thread] = []
        queue = deque(roots)
        while queue:
            comment = queue.popleft()
            if comment.id in placed:
                continue
            placed.add(comment.id)
            below = replies.get(comment.id, ())
            if depth < _MAX_DEPTH:
                grown.append((comment, grow(below, depth + 1)))
            else:
                grown.append((comment, ()))
                queue.extend(below)
        return grown

    found = [*grow(replies.get(None, ()), 1), *grow(comments, 1)]
    if sort_by.endswith("NEW"):
        found.reverse()
    elif sort_by.endswith(("TOP", "HOT")):
        found.sort(key=lambda pair: -pair[0].votes)
    return found
