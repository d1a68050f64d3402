"""The items of one competition, as far as they were there at a moment: rows of queries made items.

The queries leave out everything later; the items then go the way of every other community, through
`asof` and `ranking`. Of each notebook and dataset there is the one version that was current.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Observation,
)
from comind.community.lines import CommentLine, DatasetLine, DiscussionLine, Line, NotebookLine
from comind.community.store.engine import Engine
from comind.community.text import is_reference
from comind.system.markup import html_to_text

__all__ = ["TIERS", "items_of"]

TIERS = ("novice", "contributor", "expert", "master", "grandmaster", "staff")
"""Kaggle's tiers, in the order of its numbers."""

_RIGHT = frozenset(("created_at", "version", "votes"))
_FIRST = datetime(2000, 1, 1)  # noqa: DTZ001 - what is earlier stands for no time


def items_of(engine: Engine, competition: str, as_of: datetime | None) -> CommunityItems:
    """Return what is known of a competition; nothing later than `as_of` has any influence."""
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
            item = NotebookLine.model_validate(_said(row, NotebookLine)).item("")
            own = {"version": row["version"], "code": row["code"] or ""}
            yield item.model_copy(update=own | _dated(row))


def _discussion(row: dict[str, Any], comments: tuple[CommentItem, ...]) -> DiscussionItem:
    line = DiscussionLine.model_validate(_said(row, DiscussionLine))
    return line.item(comments).model_copy(update=_dated(row))


def _comment(row: dict[str, Any]) -> CommentItem:
    return CommentLine.model_validate(_said(row, CommentLine)).item().model_copy(update=_dated(row))


def _datasets(rows: list[dict[str, Any]]) -> Iterator[DatasetItem]:
    for row in rows:
        if is_reference(row["ref"]):
            item = DatasetLine.model_validate(_said(row, DatasetLine)).item()
            own = {"version": row["version"], "created_at": _time(row["since"])}
            yield item.model_copy(update=own)


def _said(row: dict[str, Any], kind: type[Line]) -> dict[str, Any]:
    """Return what a row has of a line, to be cleaned as a line is; numbers and times are right here."""
    said = {name: row[name] for name in row.keys() & kind.model_fields.keys() - _RIGHT}
    if row.get("form") == "html":
        said["body"] = html_to_text(row["body"] or "")
    return said


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
