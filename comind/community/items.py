"""Define the items of a community with all their times, not yet seen as of any moment."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from comind.domain.community import NEVER, Notebook
from comind.domain.value import Value


class Remark(Value):
    """Reason for which something was not used; `at` is its own time, if it has one."""

    file: str
    reason: str
    name: str = ""
    line: int | None = None
    """Line number in the file, for what has no name."""
    at: datetime | None = None

    def text(self, *, numbered: bool) -> str:
        """Return one line; unnumbered, it does not reveal how many other lines exist."""
        place = self.name or ("" if self.line is None else "a line")
        if numbered and self.line is not None and not self.name:
            place = f"line {self.line}"
        return f"{self.file}, {place}: {self.reason}" if place else f"{self.file}: {self.reason}"


class _Item(Value):
    """A post, perhaps edited; its content is that of the later time."""

    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def at(self) -> datetime | None:
        """When the current content was posted; None without a time."""
        created, updated = self.created_at, self.updated_at
        return max(created, updated) if created and updated else created or updated

    @property
    def order(self) -> datetime:
        """Sort key: items without a time first."""
        return self.at or NEVER


class Observation(Value):
    """Values of an item as observed at a time, valid until a newer observation.

    None, or an empty tier, is no observation of that value. Without a time, the values are those of the
    day of collection, and do not count under an as-of time.
    """

    at: datetime | None = None
    votes: int | None = None
    author_tier: str = ""
    public_score: float | None = None


class _Voted(_Item):
    """`vote_times` is None if only totals are known; `observed` is unsorted."""

    votes: int = 0
    vote_times: tuple[datetime, ...] | None = None
    observed: tuple[Observation, ...] = ()


class NotebookItem(_Voted, Notebook):
    """One version of a notebook; `source` is empty if its code is loaded on demand."""

    code: str = ""
    """Key of the code in a store, for code that is loaded on demand."""


class CommentItem(_Voted):
    """A comment."""

    id: str
    parent: str | None = None
    author: str
    body: str


class DiscussionItem(_Voted):
    """A discussion with all its comments."""

    id: str
    title: str
    author: str
    author_tier: str = ""
    body: str
    comments: tuple[CommentItem, ...] = ()


class DatasetItem(_Item):
    """One version of a dataset; `path` is relative to the community folder."""

    ref: str
    version: int
    title: str
    path: PurePosixPath | None = None
    licence: str = ""


class CommunityItems(Value):
    """All items of a source, in the order of its files."""

    notebooks: tuple[NotebookItem, ...] = ()
    discussions: tuple[DiscussionItem, ...] = ()
    datasets: tuple[DatasetItem, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def notebook_index(self) -> Callable[[Notebook], NotebookItem]:
        """Return a function that finds the item of a notebook as `as_of` shows it."""
        found = {
            (each.ref, each.version, each.created_at or each.updated_at): each
            for each in reversed(self.notebooks)
        }
        return lambda shown: found[shown.ref, shown.version, shown.created_at]


def shared_fields(value: Value, kind: type[Value]) -> dict[str, Any]:
    """Return the fields of a value that another class has, too."""
    return {name: getattr(value, name) for name in _shared_names(type(value), kind)}


@cache
def _shared_names(one: type[Value], other: type[Value]) -> tuple[str, ...]:
    return tuple(name for name in one.model_fields if name in other.model_fields)
