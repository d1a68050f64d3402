"""Items of a community with all their times, as they are told; not yet seen from any moment."""

from datetime import datetime
from pathlib import PurePosixPath

from comind.domain.community import NEVER, Notebook
from comind.domain.value import Value

__all__ = [
    "CommentItem",
    "CommunityItems",
    "DatasetItem",
    "DiscussionItem",
    "NotebookItem",
    "Observation",
    "Remark",
]


class Remark(Value):
    """Something that could not be used, and why; `at` is that thing's own time, where it has one."""

    file: str
    reason: str
    name: str = ""
    line: int | None = None
    """Where in the file, for what has no name."""
    at: datetime | None = None

    def text(self, *, numbered: bool) -> str:
        """Return one line; without numbers it does not tell how many other lines there are."""
        place = self.name or ("" if self.line is None else "a line")
        if numbered and self.line is not None and not self.name:
            place = f"line {self.line}"
        return f"{self.file}, {place}: {self.reason}" if place else f"{self.file}: {self.reason}"


class _Item(Value):
    """What was posted, and perhaps edited; its content is that of the later time."""

    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def at(self) -> datetime | None:
        """Since when it has been as it is; None where it has no time."""
        return max((time for time in (self.created_at, self.updated_at) if time), default=None)

    @property
    def order(self) -> datetime:
        """The same for sorting: what has no time comes first."""
        return self.at or NEVER


class Observation(Value):
    """What was known of an item at a moment, and from then on until something newer is known.

    None, or no tier, says nothing about that part; without a time it is that of the day the data was
    collected, and counts under no as-of time.
    """

    at: datetime | None = None
    votes: int | None = None
    author_tier: str = ""
    public_score: float | None = None


class _Voted(_Item):
    """`vote_times` is None where only totals are known; `observed` is in no order."""

    votes: int = 0
    vote_times: tuple[datetime, ...] | None = None
    observed: tuple[Observation, ...] = ()


class NotebookItem(_Voted, Notebook):
    """One version of a notebook; `source` is empty where its code is only read when it is needed."""

    code: str = ""
    """Where a store keeps its code, for what was not read yet."""


class CommentItem(_Voted):
    """A comment."""

    id: str
    parent: str | None = None
    author: str
    body: str


class DiscussionItem(_Voted):
    """A thread with all its comments."""

    id: str
    title: str
    author: str
    author_tier: str = ""
    body: str
    comments: tuple[CommentItem, ...] = ()


class DatasetItem(_Item):
    """One version of a dataset; `path` lies below the community folder."""

    ref: str
    version: int
    title: str
    path: PurePosixPath | None = None
    licence: str = ""


class CommunityItems(Value):
    """All that a folder holds, in the order of its files."""

    notebooks: tuple[NotebookItem, ...] = ()
    discussions: tuple[DiscussionItem, ...] = ()
    datasets: tuple[DatasetItem, ...] = ()
    remarks: tuple[Remark, ...] = ()
