"""Define the snapshot of a competition's community: notebooks, discussions, datasets."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import Field

from comind.domain.value import Value

T = TypeVar("T")

NEVER = datetime.min.replace(tzinfo=UTC)
"""Sort key of items without a time: before all others."""

OUTPUTS_AT = "outputs"
"""Folder of a community with the output files of notebooks, in `<owner>/<name>/<version>/`."""

SUBMISSION = "submission.csv"
"""Usual name of the submission that a notebook writes."""

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,99}(?<!\.)"
_REFERENCE = re.compile(f"{_PART}/{_PART}")


def is_reference(text: str) -> bool:
    """Whether `text` is `owner/name`, both safe as folder names."""
    return _REFERENCE.fullmatch(text) is not None


def submission_among(names: Iterable[str]) -> str | None:
    """Return which of the files that a notebook wrote is its submission, by their names.

    `submission.csv` if it is there, else the shortest name; None if there is no submission.
    """
    found = (
        name
        for name in names
        if "/" not in name and "submission" in name.lower() and name.lower().endswith(".csv")
    )
    return min(found, key=lambda name: (name != SUBMISSION, len(name), name), default=None)


class Notebook(Value):
    """A public notebook in its current version as of the snapshot, with its votes."""

    ref: str
    """`owner/name`."""
    version: int
    title: str
    author: str
    author_tier: str = ""
    created_at: datetime | None = None
    """None if unknown, as in all times here; never None in a snapshot with an as-of time."""
    votes: int = Field(default=0, ge=0)
    public_score: float | None = None
    language: str = "python"
    source: str
    """Its code as text, truncated; untrusted."""
    datasets: tuple[str, ...] = ()
    notebooks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Kaggle Models that it loads, by reference; their weights are not here."""
    forked_from: str | None = None
    output: str = ""
    """The submission for the test rows that its run on Kaggle wrote, relative to where it is mounted."""


class Comment(Value):
    """A comment in a discussion."""

    id: str
    parent: str | None = None
    author: str
    posted_at: datetime | None = None
    votes: int = 0
    body: str


class Discussion(Value):
    """A discussion with its comments."""

    id: str
    title: str
    author: str
    author_tier: str = ""
    posted_at: datetime | None = None
    votes: int = 0
    body: str
    comments: tuple[Comment, ...] = ()


class Dataset(Value):
    """A public dataset; `files` says whether its files can be mounted."""

    ref: str
    version: int
    title: str
    published_at: datetime | None = None
    files: bool = False
    licence: str = ""


class CommunityStatistics(Value):
    """Numbers of a competition's public items as of a moment."""

    notebooks: int
    discussions: int
    datasets: int
    lines: float | None
    """Mean lines of the notebooks whose code is known; None without any."""
    comments: float | None
    """Mean comments of the discussions; None without any."""
    votes: tuple[int, ...]
    """Notebooks with no votes, 1 to 9, 10 to 99, and more."""


class CommunityView(Value):
    """Everything visible as of one moment, each kind in ranked order."""

    as_of: datetime | None = None
    notebooks: tuple[Notebook, ...] = ()
    discussions: tuple[Discussion, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    left_out: tuple[str, ...] = ()
    """Items that could not be used, each with the reason in one line."""
    further_notebooks: tuple[Notebook, ...] = Field(default=(), exclude_if=lambda items: not items)
    """Those ranked below `notebooks`, which are read only by agents that sample in each round."""
    further_discussions: tuple[Discussion, ...] = Field(default=(), exclude_if=lambda items: not items)

    @property
    def all_notebooks(self) -> tuple[Notebook, ...]:
        """The notebooks, and the further ones after them."""
        return self.notebooks + self.further_notebooks

    @property
    def all_discussions(self) -> tuple[Discussion, ...]:
        """The discussions, and the further ones after them."""
        return self.discussions + self.further_discussions

    def merged_with(self, older: "CommunityView") -> "CommunityView":
        """Return this view followed by the items that only an older view has.

        An item is a further one only where neither view has it among the first.
        """
        notebooks = _added(self.notebooks, older.notebooks, _ref)
        discussions = _added(self.discussions, older.discussions, _id)
        further = (
            _added(self.further_notebooks, older.further_notebooks, _ref),
            _added(self.further_discussions, older.further_discussions, _id),
        )
        return self.model_copy(
            update={
                "notebooks": notebooks,
                "discussions": discussions,
                "datasets": _added(self.datasets, older.datasets, _ref),
                "further_notebooks": _added(notebooks, further[0], _ref)[len(notebooks) :],
                "further_discussions": _added(discussions, further[1], _id)[len(discussions) :],
            }
        )


def _ref(item: Notebook | Dataset) -> str:
    return item.ref


def _id(item: Discussion) -> str:
    return item.id


def _added(newer: tuple[T, ...], older: tuple[T, ...], name: Callable[[T], str]) -> tuple[T, ...]:
    known = {name(each) for each in newer}
    return newer + tuple(each for each in older if name(each) not in known)


class ItemOutcome(Value):
    """A community item that a campaign could read, and what came of it."""

    item_type: str = Field(alias="kind")
    """notebook, discussion or dataset."""
    name: str
    title: str
    summary: str = ""
    """A summary by a model; untrusted."""
    attempts: tuple[str, ...] = ()
    """Attempts that came from it, directly or through ideas and other attempts."""
    best: float | None = None
    """Their best validation score."""
