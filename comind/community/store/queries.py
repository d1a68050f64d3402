"""Query the items of one competition as of a moment.

The SQL leaves out everything later and selects the current version of each notebook and dataset; the
items then pass through `asof` and `ranking` like those of a folder.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
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
from comind.domain.community import is_reference
from comind.system.collection import paused_collection
from comind.system.markup import html_to_text

TIERS = ("novice", "contributor", "expert", "master", "grandmaster", "staff")
"""Kaggle's performance tiers, in the order of its numbers."""

_TAKEN_AS_IS = frozenset(("created_at", "version", "votes"))
_EARLIEST = datetime(2, 1, 1)  # noqa: DTZ001 - earlier values mean no time


@paused_collection()
def query_items(engine: Engine, competition: str, as_of: datetime | None) -> CommunityItems:
    """Return the items of a competition; nothing later than `as_of` has any influence."""
    engine.set_variables(tiers=list(TIERS))
    parameters = {
        "competition": competition,
        "until": datetime.max if as_of is None else as_of.astimezone(UTC).replace(tzinfo=None),  # noqa: DTZ901
        "undated": as_of is None,
    }
    comments: dict[str, list[CommentItem]] = defaultdict(list)
    for row in engine.rows("comments", **parameters):
        comments[row["discussion"]].append(_comment(row))
    return CommunityItems(
        notebooks=tuple(_notebooks(engine.rows("notebooks", **parameters))),
        discussions=tuple(
            _discussion(row, tuple(comments[row["id"]]))
            for row in engine.rows("discussions", **parameters)
        ),
        datasets=tuple(_datasets(engine.rows("datasets", **parameters))),
    )


def _notebooks(rows: list[dict[str, Any]]) -> Iterator[NotebookItem]:
    for row in rows:
        if is_reference(row["ref"]):
            line = NotebookLine.model_validate(_line_fields(row, NotebookLine))
            own = {"version": row["version"], "code": row["code"] or ""}
            yield line.item("", **own, **_dated_fields(row))


def _discussion(row: dict[str, Any], comments: tuple[CommentItem, ...]) -> DiscussionItem:
    line = DiscussionLine.model_validate(_line_fields(row, DiscussionLine))
    return line.item(comments, **_dated_fields(row))


def _comment(row: dict[str, Any]) -> CommentItem:
    line = CommentLine.model_validate(_line_fields(row, CommentLine))
    return line.item(**_dated_fields(row))


def _datasets(rows: list[dict[str, Any]]) -> Iterator[DatasetItem]:
    for row in rows:
        if is_reference(row["ref"]):
            item = DatasetLine.model_validate(_line_fields(row, DatasetLine)).item()
            own = {"version": row["version"], "created_at": _time(row["since"])}
            yield item.model_copy(update=own)


def _line_fields(row: dict[str, Any], kind: type[Line]) -> dict[str, Any]:
    """Return the fields of a line, to be sanitized like one; numbers and times need no validation."""
    fields = {name: row[name] for name in _names_of(kind) if name in row}
    if row.get("form") == "html":
        fields["body"] = html_to_text(row["body"] or "")
    return fields


@cache
def _names_of(kind: type[Line]) -> frozenset[str]:
    return frozenset(kind.model_fields) - _TAKEN_AS_IS


def _dated_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return the times of an item, and its observed values."""
    at, created = _time(row["since"]), _time(row["created_at"])
    votes, tier, score = row["votes"], row.get("tier") or "", row.get("score")
    nothing = votes is None and not tier and score is None
    return {
        "created_at": created or at,
        "updated_at": None if at == created else at,
        "vote_times": () if row["votes_dated"] else None,
        "observed": ()
        if nothing
        else (
            Observation(at=_time(row["known_at"]), votes=votes, author_tier=tier, public_score=score),
        ),
    }


def _time(value: datetime | None) -> datetime | None:
    return None if value is None or value < _EARLIEST else value.replace(tzinfo=UTC)
