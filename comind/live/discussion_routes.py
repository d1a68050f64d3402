"""Serve discussions through the client's competition and forum services, as of the simulated time."""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from comind.domain.community import NEVER, Comment, Discussion
from comind.live.fault_injection import RouteError
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import build, competitions, discussions, response, stable_id
from comind.live.routes import (
    RequestContext,
    RouteResponse,
    RouteTable,
    hotness,
    matches,
    page_response,
    paginate,
)

_MAX_DEPTH = 10

_Thread = tuple[Comment, Sequence["_Thread"]]
"""A comment, and the threads of its replies."""


def _list_of_competition(request: Any, context: RequestContext) -> RouteResponse:
    hosted = context.catalog.find(request.competition_name)
    found = sorted(hosted.world.view().discussions, key=_sort_key(request.sort_by.name, hosted))
    page, _ = paginate(found, request)
    listed = [_topic(competitions.ApiCompetitionTopic, hosted.id, topic) for topic in page]
    return response("ListCompetitionTopics", topics=listed, total_count=len(found))


def _messages(request: Any, context: RequestContext) -> RouteResponse:
    hosted, topic = _find(context, request.topic_id, request.competition_name)
    page, _ = paginate(_threads(topic.comments, request.sort_by.name), request)
    message_type = competitions.ApiTopicMessage
    first = _post(message_type, stable_id(hosted.id, "topic", topic.id), topic, [])
    messages = [first, *(_thread(message_type, hosted.id, thread) for thread in page)]
    return response("ListTopicMessages", messages=messages)


def _list(request: Any, context: RequestContext) -> RouteResponse:
    found = [
        (hosted, topic)
        for hosted in context.catalog.hosted.values()
        if request.forum_slug in ("", None, hosted.id)
        for topic in hosted.world.view().discussions
        if matches(request.search_query, f"{topic.title} {topic.body}")
    ]
    found.sort(key=lambda pair: _sort_key(request.sort_by.name, pair[0])(pair[1]))
    return page_response(
        "ListTopics", "topics", found, request, lambda pair: _forum_topic(*pair), total_count=len(found)
    )


def _get(request: Any, context: RequestContext) -> RouteResponse:
    hosted, topic = _find(context, request.id)
    return response("GetTopic", topic=_forum_topic(hosted, topic))


def _forum_topic(hosted: HostedCompetition, topic: Discussion) -> Any:
    return _topic(discussions.ApiDiscussionTopic, hosted.id, topic)


def _comments(request: Any, context: RequestContext) -> RouteResponse:
    hosted, topic = _find(context, request.topic_id)
    threads = _threads(topic.comments, "")
    serialize = partial(_thread, discussions.ApiDiscussionComment, hosted.id)
    return page_response("ListComments", "comments", threads, request, serialize)


def _find(
    context: RequestContext, topic_id: int, competition: str = ""
) -> tuple[HostedCompetition, Discussion]:
    """Return a discussion by its numeric id; `RouteError` 404 if it is not visible."""
    for hosted in context.catalog.hosts(competition):
        for topic in hosted.world.community.view(hosted.world.clock.moment).discussions:
            if stable_id(hosted.id, "topic", topic.id) == topic_id:
                return hosted, topic
    raise RouteError(404, "Topic not found")


def _last_post(topic: Discussion) -> datetime | None:
    times = (topic.posted_at, *(comment.posted_at for comment in topic.comments))
    return max((time for time in times if time), default=None)


def _topic(message_type: Any, competition: str, topic: Discussion) -> Any:
    """Serialize a discussion for a competition's list or the forum, which has its text."""
    identity = stable_id(competition, "topic", topic.id)
    address = f"/competitions/{competition}/discussion/{identity}"
    last_post = _last_post(topic)
    return _build(
        message_type,
        id=identity,
        title=topic.title,
        topic_url=address,
        url=address,
        author_name=topic.author,
        author_url=f"/{topic.author}",
        comment_count=len(topic.comments),
        votes=topic.votes,
        post_date=topic.posted_at,
        last_comment_post_date=last_post,
        last_comment_date=last_post,
        forum_name=competition,
        forum_id=stable_id(competition, "forum", competition),
        content=topic.body,
    )


def _thread(message_type: Any, competition: str, thread: _Thread) -> Any:
    comment, replies = thread
    below = [_thread(message_type, competition, each) for each in replies]
    return _post(message_type, stable_id(competition, "comment", comment.id), comment, below)


def _post(message_type: Any, identity: int, post: Discussion | Comment, replies: list[Any]) -> Any:
    """Serialize a post for a competition's messages or the forum's comments."""
    return _build(
        message_type,
        id=identity,
        post_date=post.posted_at,
        content=post.body,
        raw_markdown=post.body,
        author_name=post.author,
        author_url=f"/{post.author}",
        votes=post.votes,
        replies=replies,
    )


def _build(message_type: Any, **fields: Any) -> Any:
    """Build a client object from those of the fields that its class has."""
    known = {name: value for name, value in fields.items() if hasattr(message_type, name)}
    return build(message_type, **known)


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


DISCUSSION_ROUTES: RouteTable = {
    "competitions.CompetitionApiService/ListCompetitionTopics": _list_of_competition,
    "competitions.CompetitionApiService/ListTopicMessages": _messages,
    "discussions.DiscussionApiService/ListTopics": _list,
    "discussions.DiscussionApiService/GetTopic": _get,
    "discussions.DiscussionApiService/ListComments": _comments,
}
