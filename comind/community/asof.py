"""A community as it was: nothing posted, edited or voted later has any influence.

What is not known to be from before the moment is treated as if it were from after it. So a notebook
without a time is not used, a total of votes counts nothing unless the votes have times or somebody wrote
down when it was the total, and the tier of an author is told as it was observed by then, or not at all.
What comes later leaves no trace, not even a remark that there was something.
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

_REMARKS = 100
_COMMENTS = 1000

_Item = TypeVar("_Item", NotebookItem, DiscussionItem, DatasetItem, CommentItem)


def as_of(items: CommunityItems, moment: datetime | None) -> CommunityView:
    """Return everything that was there at `moment`, unranked, each notebook and dataset once.

    Without a moment, everything is there as it is, with or without a time.
    """
    seen = _Moment(moment)
    notebooks = seen.newest("notebook", items.notebooks, lambda item: item.ref)
    discussions = seen.newest("discussion", items.discussions, lambda item: item.id)
    datasets = seen.newest("dataset", items.datasets, lambda item: item.ref)
    view = CommunityView(
        as_of=moment,
        notebooks=tuple(seen.notebook(item) for item in notebooks),
        discussions=tuple(seen.discussion(item) for item in discussions),
        datasets=tuple(_dataset(item) for item in datasets),
    )
    return view.model_copy(update={"left_out": seen.left_out(items.remarks)})


def _dataset(item: DatasetItem) -> Dataset:
    return Dataset(
        ref=item.ref,
        version=item.version,
        title=item.title,
        published_at=item.created_at,
        files=item.path is not None,
        licence=item.licence,
    )


class _Moment:
    """A moment, and what has to be said about the items seen from it."""

    def __init__(self, moment: datetime | None) -> None:
        self._moment = moment
        self._said: list[str] = []
        self._undated_votes = False

    def _there(self, at: datetime | None) -> bool:
        return self._moment is None or (at is not None and at <= self._moment)

    def newest(self, kind: str, items: Iterable[_Item], identity: Callable[[_Item], str]) -> list[_Item]:
        """Return of every item the version that was current, in the order of their names."""
        current: dict[str, _Item] = {}
        for item in items:
            name = identity(item)
            if self._moment is not None and item.at is None:
                self._say(f"{kind} {name}: has no time, so it is not used under an as-of time")
                continue
            if not self._there(item.at):
                continue
            before = current.setdefault(name, item)
            if before is item:
                continue
            if _age(before) == _age(item):
                self._say(f"{kind} {name}: is there twice in the same version; the first is used")
            elif _age(before) < _age(item):
                current[name] = item
        return [current[name] for name in sorted(current)]

    def notebook(self, item: NotebookItem) -> Notebook:
        seen = {
            "author_tier": self._tier(item),
            "created_at": item.created_at or item.updated_at,
            "votes": self._votes(item),
            "public_score": self._score(item),
        }
        return Notebook(**item.model_dump(include=set(Notebook.model_fields)) | seen)

    def discussion(self, item: DiscussionItem) -> Discussion:
        comments = self.newest("comment", item.comments, lambda comment: comment.id)
        comments = sorted(comments, key=lambda comment: (comment.order, comment.id))[:_COMMENTS]
        kept = {comment.id for comment in comments}
        return Discussion(
            id=item.id,
            title=item.title,
            author=item.author,
            author_tier=self._tier(item),
            posted_at=item.created_at or item.updated_at,
            votes=self._votes(item),
            body=item.body,
            comments=tuple(
                Comment(
                    id=comment.id,
                    parent=comment.parent if comment.parent in kept - {comment.id} else None,
                    author=comment.author,
                    posted_at=comment.created_at or comment.updated_at,
                    votes=self._votes(comment),
                    body=comment.body,
                )
                for comment in comments
            ),
        )

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
        """Return what had been observed by then, the latest last."""
        there = (each for each in item.observed if self._there(each.at))
        return sorted(there, key=lambda each: each.at or NEVER)

    def _say(self, text: str) -> None:
        self._said.append(text)

    def left_out(self, remarks: tuple[Remark, ...]) -> tuple[str, ...]:
        """Return what has to be said, each thing once, and no more than can be read."""
        lines = [
            remark.text(numbered=self._moment is None)
            for remark in remarks
            if remark.at is None or self._there(remark.at)
        ]
        if self._undated_votes:
            lines.append("votes that are only known as totals, without times, count as none")
        said = list(dict.fromkeys([*lines, *self._said]))
        if len(said) > _REMARKS:
            said = [*said[:_REMARKS], f"and {len(said) - _REMARKS} more"]
        return tuple(said)


def _age(item: NotebookItem | DiscussionItem | DatasetItem | CommentItem) -> tuple[datetime, int]:
    return item.order, getattr(item, "version", 0)
