"""Compute what of a community was visible at a moment, without leakage from later times.

What is not known to be earlier than the moment counts as later: a notebook without a time is not used, a
total of votes counts only if the votes have times or the total was observed by then, and so does an
author's tier. Later items leave no trace, not even in the list of what was left out.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Observation,
    Remark,
)
from comind.domain.community import NEVER, Comment, CommunityView, Dataset, Discussion, Notebook

__all__ = ["as_of"]

_MAX_NOTES = 100
_MAX_COMMENTS = 1000

_Item = TypeVar("_Item", NotebookItem, DiscussionItem, DatasetItem, CommentItem)


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
        notebooks=tuple(cutoff.notebook(item) for item in notebooks),
        discussions=tuple(cutoff.discussion(item) for item in discussions),
        datasets=tuple(_dataset(item) for item in datasets),
    )
    return view.model_copy(update={"left_out": cutoff.left_out(items.remarks)})


def _dataset(item: DatasetItem) -> Dataset:
    own = {"published_at": item.created_at, "files": item.path is not None}
    return Dataset(**item.model_dump(include=set(Dataset.model_fields)) | own)


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
    ) -> list[_Item]:
        """Return the current version of each item, sorted by name."""
        versions: dict[str, _Item] = {}
        for item in items:
            name = identity(item)
            if self._moment is not None and item.at is None:
                self._note(f"{kind} {name}: has no time, so it is not used under an as-of time")
                continue
            if not self._visible(item.at):
                continue
            before = versions.setdefault(name, item)
            if before is item:
                continue
            if _age(before) == _age(item):
                self._note(f"{kind} {name}: is there twice in the same version; the first is used")
            elif _age(before) < _age(item):
                versions[name] = item
        return [versions[name] for name in sorted(versions)]

    def notebook(self, item: NotebookItem) -> Notebook:
        seen = {
            "author_tier": self._tier(item),
            "created_at": item.created_at or item.updated_at,
            "votes": self._votes(item),
            "public_score": self._score(item),
        }
        return Notebook(**item.model_dump(include=set(Notebook.model_fields)) | seen)

    def discussion(self, item: DiscussionItem) -> Discussion:
        comments = self.current("comment", item.comments, lambda comment: comment.id)
        comments = sorted(comments, key=lambda comment: (comment.order, comment.id))[:_MAX_COMMENTS]
        kept = {comment.id for comment in comments}
        seen = {
            "author_tier": self._tier(item),
            "posted_at": item.created_at or item.updated_at,
            "votes": self._votes(item),
            "comments": tuple(self._comment(comment, kept) for comment in comments),
        }
        return Discussion(**item.model_dump(include={"id", "title", "author", "body"}) | seen)

    def _comment(self, item: CommentItem, kept: set[str]) -> Comment:
        seen = {
            "parent": item.parent if item.parent in kept - {item.id} else None,
            "posted_at": item.created_at or item.updated_at,
            "votes": self._votes(item),
        }
        return Comment(**item.model_dump(include={"id", "author", "body"}) | seen)

    def _votes(self, item: NotebookItem | DiscussionItem | CommentItem) -> int:
        totals = [each.votes for each in self._observed(item) if each.votes is not None]
        if self._moment is None:
            counted = () if item.vote_times is None else item.vote_times
            return totals[-1] if totals and not counted else max(item.votes, len(counted))
        if item.vote_times is not None:
            counted = tuple(time for time in item.vote_times if time <= self._moment)
            return max([len(counted), *totals[-1:]])
        self._undated_votes |= not totals
        return totals[-1] if totals else 0

    def _tier(self, item: NotebookItem | DiscussionItem) -> str:
        known = [each.author_tier for each in self._observed(item) if each.author_tier]
        return known[-1] if known else item.author_tier if self._moment is None else ""

    def _score(self, item: NotebookItem) -> float | None:
        known = [each.public_score for each in self._observed(item) if each.public_score is not None]
        return known[-1] if known else item.public_score

    def _observed(self, item: NotebookItem | DiscussionItem | CommentItem) -> list[Observation]:
        """Return the observations made by the moment, oldest first."""
        visible = (each for each in item.observed if self._visible(each.at))
        return sorted(visible, key=lambda each: each.at or NEVER)

    def _note(self, text: str) -> None:
        self._notes.append(text)

    def left_out(self, remarks: tuple[Remark, ...]) -> tuple[str, ...]:
        """Return the distinct notes, at most 100."""
        lines = [
            remark.text(numbered=self._moment is None)
            for remark in remarks
            if remark.at is None or self._visible(remark.at)
        ]
        if self._undated_votes:
            lines.append("votes that are only known as totals, without times, count as none")
        notes = list(dict.fromkeys([*lines, *self._notes]))
        if len(notes) > _MAX_NOTES:
            notes = [*notes[:_MAX_NOTES], f"and {len(notes) - _MAX_NOTES} more"]
        return tuple(notes)


def _age(item: NotebookItem | DiscussionItem | DatasetItem | CommentItem) -> tuple[datetime, int]:
    return item.order, getattr(item, "version", 0)
