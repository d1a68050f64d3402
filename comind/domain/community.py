"""What a community knows of a competition at one moment: notebooks, discussions, datasets."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import Field

from comind.domain.value import Value

__all__ = ["NEVER", "Comment", "CommunityView", "Dataset", "Discussion", "Notebook"]

T = TypeVar("T")

NEVER = datetime.min.replace(tzinfo=UTC)
"""For sorting: what has no time comes before everything that has one."""


class Notebook(Value):
    """A public notebook in the version that was current, with the votes it had by then."""

    ref: str
    """`owner/name`."""
    version: int
    title: str
    author: str
    author_tier: str = ""
    created_at: datetime | None = None
    """None where nobody knows; never under an as-of time. The same holds for every other time."""
    votes: int = Field(default=0, ge=0)
    public_score: float | None = None
    language: str = "python"
    source: str
    """Its code as text, bounded in length; untrusted."""
    datasets: tuple[str, ...] = ()
    notebooks: tuple[str, ...] = ()
    forked_from: str | None = None


class Comment(Value):
    """An answer in a discussion."""

    id: str
    parent: str | None = None
    author: str
    posted_at: datetime | None = None
    votes: int = 0
    body: str


class Discussion(Value):
    """A thread, with the comments that were there."""

    id: str
    title: str
    author: str
    author_tier: str = ""
    posted_at: datetime | None = None
    votes: int = 0
    body: str
    comments: tuple[Comment, ...] = ()


class Dataset(Value):
    """A public dataset; `files` says whether it can be mounted."""

    ref: str
    version: int
    title: str
    published_at: datetime | None = None
    files: bool = False
    licence: str = ""


class CommunityView(Value):
    """All that may be known as of a moment, each kind ranked, the most worth reading first."""

    as_of: datetime | None = None
    notebooks: tuple[Notebook, ...] = ()
    discussions: tuple[Discussion, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    left_out: tuple[str, ...] = ()
    """Items that could not be used, and why, in one line each."""

    def merged_with(self, older: "CommunityView") -> "CommunityView":
        """Return this, and behind it what only an older view has; items are as they are now."""
        return self.model_copy(
            update={
                "notebooks": _added(self.notebooks, older.notebooks, lambda each: each.ref),
                "discussions": _added(self.discussions, older.discussions, lambda each: each.id),
                "datasets": _added(self.datasets, older.datasets, lambda each: each.ref),
            }
        )


def _added(newer: tuple[T, ...], older: tuple[T, ...], name: Callable[[T], str]) -> tuple[T, ...]:
    known = {name(each) for each in newer}
    return newer + tuple(each for each in older if name(each) not in known)
