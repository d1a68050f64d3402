"""Compute what of a community was visible at a moment, without leakage from later times.

What is not known to be earlier than the moment counts as later: a notebook without a time is not used, a
total of votes counts only if the votes have times or the total was observed by then, and so does an
author's tier. Later items leave no trace, not even in the list of what was left out.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Generic, TypeVar

from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Observation,
    Remark,
    shared_fields,
)
from comind.community.lines_of_one import comments_of, count_votes, latest, seen_of
from comind.domain.community import NEVER, Comment, CommunityView, Dataset, Discussion, Notebook
from comind.system.collection import paused_collection

_MAX_NOTES = 100
_MAX_COMMENTS = 1000

_Item = TypeVar("_Item", NotebookItem, DiscussionItem, DatasetItem, CommentItem)


@paused_collection()
def as_of(items: CommunityItems, moment: datetime | None) -> CommunityView:
    """Return everything visible at `moment`, unranked, the current version of each item.

    Without a moment, everything is visible as it is now, with or without a time.
    """
    cutoff = _Cutoff(moment)
    notebooks = cutoff.current("notebook", items.notebooks, lambda item: item.ref)
    discussions = cutoff.current("discussion", items.discussions, lambda item: item.id)
    datasets = cutoff.current("dataset", items.datasets, lambda item: item.ref)
    view = CommunityView(
        as_of=moment,
        notebooks=tuple(cutoff.notebook(each) for each in notebooks),
        discussions=tuple(cutoff.discussion(each) for each in discussions),
        datasets=tuple(_dataset(each.current) for each in datasets),
    )
    return view.model_copy(update={"left_out": cutoff.left_out(items.remarks)})


def _dataset(item: DatasetItem) -> Dataset:
    own = {"published_at": item.created_at, "files": item.path is not None}
    return Dataset(**shared_fields(item, Dataset) | own)


class _Lines(Generic[_Item]):
    """The lines of one thing, in the order of the file, and the one that is current."""

    def __init__(self) -> None:
        self.all: list[_Item] = []
        self.visible: list[_Item] = []

    @property
    def current(self) -> _Item:
        """The latest visible line; the first of several of the same age."""
        return self.visible[0] if len(self.visible) == 1 else max(self.visible, key=_age)


class _Cutoff:
    """As-of time, and the notes on what was left out."""

    def __init__(self, moment: datetime | None) -> None:
        self._moment = moment
        self._notes: list[str] = []
        self._undated_votes = False

    def _visible(self, at: datetime | None) -> bool:
        return self._moment is None or (at is not None and at <= self._moment)

    def current(
        self, kind: str, items: Iterable[_Item], identity: Callable[[_Item], str]
    ) -> list[_Lines[_Item]]:
        """Return the lines of each thing that has a visible one, sorted by name."""
        things: dict[str, _Lines[_Item]] = {}
        for item in items:
            lines = things.setdefault(identity(item), _Lines())
            lines.all.append(item)
            if self._visible(item.at):
                lines.visible.append(item)
        ordered = [(name, things[name]) for name in sorted(things)]
        for name, lines in ordered:
            if self._moment is not None and any(line.at is None for line in lines.all):
                self._notes.append(f"{kind} {name}: has no time, so it is not used under an as-of time")
            count = len(lines.visible)
            if count > 1 and len({_age(line) for line in lines.visible}) < count:
                self._notes.append(
                    f"{kind} {name}: is there twice in the same version; the first is used"
                )
        return [lines for _, lines in ordered if lines.visible]

    def notebook(self, lines: _Lines[NotebookItem]) -> Notebook:
        item = lines.current
        seen = seen_of(lines.all, self._visible)
        same = [line for line in lines.all if line.version == item.version]
        scored = seen if len(same) == len(lines.all) else seen_of(same, self._visible)
        own = {
            "author_tier": _tier(seen),
            "created_at": _posted(item),
            "votes": self._votes(lines, seen),
            "public_score": latest(scored, lambda each: each.public_score),
        }
        return Notebook(**shared_fields(item, Notebook) | own)

    def discussion(self, lines: _Lines[DiscussionItem]) -> Discussion:
        item = lines.current
        every = [comment for line in lines.all for comment in comments_of(line)]
        comments = self.current("comment", every, lambda comment: comment.id)
        comments.sort(key=lambda each: (_posted(each.current) or NEVER, each.current.id))
        comments = comments[:_MAX_COMMENTS]
        kept = {comment.current.id for comment in comments}
        seen = seen_of(lines.all, self._visible)
        own = {
            "author_tier": _tier(seen),
            "posted_at": _posted(item),
            "votes": self._votes(lines, seen),
            "comments": tuple(self._comment(comment, kept) for comment in comments),
        }
        return Discussion(**shared_fields(item, Discussion) | own)

    def _comment(self, lines: _Lines[CommentItem], kept: set[str]) -> Comment:
        item = lines.current
        own = {
            "parent": item.parent if item.parent in kept and item.parent != item.id else None,
            "posted_at": _posted(item),
            "votes": self._votes(lines, seen_of(lines.all, self._visible)),
        }
        return Comment(**shared_fields(item, Comment) | own)

    def _votes(
        self,
        lines: _Lines[NotebookItem] | _Lines[DiscussionItem] | _Lines[CommentItem],
        seen: list[Observation],
    ) -> int:
        votes = count_votes(lines.all, seen, self._visible)
        self._undated_votes |= votes is None and lines.current.vote_times is None
        return votes or 0

    def left_out(self, remarks: tuple[Remark, ...]) -> tuple[str, ...]:
        """Return the distinct notes, at most 100."""
        lines = [
            remark.text(numbered=self._moment is None)
            for remark in remarks
            if remark.at is None or self._visible(remark.at)
        ]
        if self._undated_votes and self._moment is not None:
            lines.append("votes that are only known as totals, without times, count as none")
        notes = list(dict.fromkeys([*lines, *self._notes]))
        if len(notes) > _MAX_NOTES:
            notes = [*notes[:_MAX_NOTES], f"and {len(notes) - _MAX_NOTES} more"]
        return tuple(notes)


def _tier(seen: list[Observation]) -> str:
    return latest(seen, lambda each: each.author_tier or None) or ""


def _posted(item: NotebookItem | DiscussionItem | CommentItem) -> datetime | None:
    return item.created_at or item.updated_at


def _age(item: NotebookItem | DiscussionItem | DatasetItem | CommentItem) -> tuple[datetime, int]:
    return item.order, getattr(item, "version", 0)
