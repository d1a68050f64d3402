"""The items of one competition, as far as they were there at a moment: rows of queries made items.

The queries leave out everything later; the items then go the way of every other community, through
`asof` and `ranking`. Of each notebook and dataset there is the one version that was current.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Observation,
)
from comind.community.markup import plain
from comind.community.store.engine import Engine
from comind.community.text import (
    BODY_LENGTH,
    COMMENT_LENGTH,
    NAME_LENGTH,
    TITLE_LENGTH,
    clean_line,
    is_reference,
    prose,
)

__all__ = ["TIERS", "items_of"]

TIERS = ("novice", "contributor", "expert", "master", "grandmaster", "staff")
"""Kaggle's tiers, in the order of its numbers."""

_FIRST = datetime(2000, 1, 1)  # noqa: DTZ001 - what is earlier stands for no time


def items_of(engine: Engine, competition: str, as_of: datetime | None) -> CommunityItems:
    """Return what is known of a competition.

    Args:
        engine: has the store's views.
        competition: slug.
        as_of: nothing later has any influence; None for everything.
    """
    engine.let(tiers=list(TIERS))
    asked = {
        "competition": competition,
        "until": datetime.max if as_of is None else as_of.astimezone(UTC).replace(tzinfo=None),  # noqa: DTZ901
        "undated": as_of is None,
    }
    comments: dict[str, list[CommentItem]] = defaultdict(list)
    for row in engine.rows("comments", **asked):
        comments[row["discussion"]].append(_comment(row))
    return CommunityItems(
        notebooks=tuple(_notebooks(engine.rows("notebooks", **asked))),
        discussions=tuple(
            _discussion(row, tuple(comments[row["id"]])) for row in engine.rows("discussions", **asked)
        ),
        datasets=tuple(_datasets(engine.rows("datasets", **asked))),
    )


def _notebooks(rows: list[dict[str, Any]]) -> Iterator[NotebookItem]:
    for row in rows:
        if is_reference(row["ref"]):
            yield NotebookItem(
                **_dated(row),
                ref=row["ref"],
                version=row["version"],
                title=clean_line(row["title"] or "", TITLE_LENGTH) or row["ref"],
                author=clean_line(row["author"] or "", NAME_LENGTH),
                language=clean_line(row["language"] or "", NAME_LENGTH) or "python",
                source="",
                code=row["code"] or "",
                datasets=tuple(filter(is_reference, row["datasets"] or ())),
                notebooks=tuple(filter(is_reference, row["notebooks"] or ())),
                forked_from=row["forked_from"] if is_reference(row["forked_from"] or "") else None,
            )


def _discussion(row: dict[str, Any], comments: tuple[CommentItem, ...]) -> DiscussionItem:
    return DiscussionItem(
        **_dated(row),
        id=row["id"],
        title=clean_line(row["title"] or "", TITLE_LENGTH),
        author=clean_line(row["author"] or "", NAME_LENGTH),
        body=prose(_text(row), BODY_LENGTH),
        comments=comments,
    )


def _comment(row: dict[str, Any]) -> CommentItem:
    return CommentItem(
        **_dated(row),
        id=row["id"],
        parent=row["parent"],
        author=clean_line(row["author"] or "", NAME_LENGTH),
        body=prose(_text(row), COMMENT_LENGTH),
    )


def _text(row: dict[str, Any]) -> str:
    body = row["body"] or ""
    return plain(body) if row["form"] == "html" else body


def _datasets(rows: list[dict[str, Any]]) -> Iterator[DatasetItem]:
    for row in rows:
        if is_reference(row["ref"]):
            yield DatasetItem(
                ref=row["ref"],
                version=row["version"],
                title=clean_line(row["title"] or "", TITLE_LENGTH) or row["ref"],
                created_at=_time(row["since"]),
                path=PurePosixPath(row["path"]) if row["path"] else None,
                licence=clean_line(row["licence"] or "", NAME_LENGTH),
            )


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    """Return times, and what was known of the thing."""
    at, created = _time(row["since"]), _time(row["created_at"])
    known = Observation(
        at=_time(row["known_at"]),
        votes=row["votes"],
        author_tier=row.get("tier") or "",
        public_score=row.get("score"),
    )
    return {
        "created_at": created or at,
        "updated_at": None if at == created else at,
        "vote_times": () if row["votes_dated"] else None,
        "observed": () if known == Observation(at=known.at) else (known,),
    }


def _time(value: datetime | None) -> datetime | None:
    return None if value is None or value < _FIRST else value.replace(tzinfo=UTC)
