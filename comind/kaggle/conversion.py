"""Convert objects of the official client to values of the port; any attribute may be None."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from comind.kaggle import port

_STATUS: dict[str, Literal["pending", "complete", "error"]] = {
    "pending": "pending",
    "complete": "complete",
    "error": "error",
}


def last_part(address: str) -> str:
    """Return the last part of a URL; names are sent with and without one."""
    return address.rstrip("/").rsplit("/", 1)[-1]


def competition_of(given: Any) -> port.CompetitionFacts:
    """Return the facts of a competition."""
    slug = last_part(given.ref)
    url = given.url or f"https://www.kaggle.com/competitions/{slug}"
    return port.CompetitionFacts(
        slug=slug,
        title=given.title or slug,
        url=url,
        summary=given.description or "",
        category=given.category or "",
        metric=given.evaluation_metric or "",
        deadline=_time(given.deadline),
        opened=_time(given.enabled_date),
        daily_submissions=given.max_daily_submissions or 0,
        teams=given.team_count or 0,
        entered=bool(given.user_has_entered),
        code_only=bool(given.is_kernels_submissions_only),
        submissions_closed=bool(given.submissions_disabled),
    )


def page_of(given: Any) -> port.Page:
    """Return a page."""
    return port.Page(name=given.name or "", content=given.content or "")


def file_of(given: Any) -> port.DataFile:
    """Return a data file."""
    return port.DataFile(
        name=given.name, size=given.total_bytes or 0, created=_time(given.creation_date)
    )


def output_of(given: Any) -> port.DataFile:
    """Return a file that a notebook wrote; its time is not used, as each run has a version."""
    return port.DataFile(name=given.name, size=given.size or 0)


def row_of(given: Any) -> port.LeaderboardRow:
    """Return a row of the leaderboard."""
    return port.LeaderboardRow(
        team=given.team_name or "",
        score=str(given.score or ""),
        submitted=_time(given.submission_date),
    )


def notebook_of(given: Any, source: str | None = None) -> port.NotebookFacts:
    """Return a notebook; its reference may be `/code/owner/name`."""
    return port.NotebookFacts(
        ref="/".join(given.ref.strip("/").split("/")[-2:]),
        title=given.title or "",
        author=given.author or "",
        version=given.current_version_number or None,
        votes=given.total_votes or 0,
        last_run=_time(given.last_run_time),
        language=(given.language or "").lower(),
        datasets=_names(given.dataset_data_sources),
        notebooks=_names(given.kernel_data_sources),
        models=_names(given.model_data_sources),
        competitions=_names(given.competition_data_sources),
        source=source,
    )


def topic_of(given: Any) -> port.TopicFacts:
    """Return a discussion, from a list or a single one."""
    last = getattr(given, "last_comment_date", None) or getattr(given, "last_comment_post_date", None)
    return port.TopicFacts(
        id=given.id,
        title=given.title or "",
        author=given.author_name or "",
        votes=given.votes or 0,
        comments=given.comment_count or 0,
        posted=_time(given.post_date),
        last_comment=_time(last),
        body=getattr(given, "content", None),
    )


def comments_of(given: Iterable[Any], parent: int | None = None) -> Iterator[port.CommentFacts]:
    """Yield comments with all their replies, each after its parent."""
    for each in given or ():
        yield port.CommentFacts(
            id=each.id,
            author=each.author_name or "",
            body=each.content or "",
            parent=parent,
            votes=each.votes or 0,
            posted=_time(each.post_date),
        )
        yield from comments_of(each.replies, each.id)


def dataset_of(given: Any) -> port.DatasetFacts:
    """Return a dataset; its reference may be a URL."""
    return port.DatasetFacts(
        ref="/".join(given.ref.strip("/").split("/")[-2:]),
        title=given.title or "",
        version=given.current_version_number or None,
        updated=_time(given.last_updated),
        licence=given.license_name or "",
    )


def limits_of(given: Any) -> port.Limits:
    """Return how many submissions are left."""
    return port.Limits(
        today=given.num_today or 0,
        total=given.num_total or 0,
        allowed_now=given.num_allowed_now or 0,
        limited_by_total=bool(given.limited_by_total),
    )


def submission_of(given: Any) -> port.SubmissionFacts:
    """Return a submission of ours."""
    return port.SubmissionFacts(
        ref=str(given.ref or ""),
        status=_STATUS.get(getattr(given.status, "name", "").lower(), "pending"),
        description=given.description or "",
        public_score=str(given.public_score or ""),
        private_score=str(given.private_score or ""),
        error=given.error_description or "",
    )


def _time(given: datetime | None) -> datetime | None:
    """Return a time in UTC; those of the client without a time zone are in UTC."""
    if given is None:
        return None
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def _names(given: Iterable[Any] | None) -> tuple[str, ...]:
    return tuple(str(each) for each in given or () if each)
