"""The port to Kaggle: a request a method, values and errors of ours; behind it a client or a double."""

import math
from datetime import datetime
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from comind.domain.value import Value

__all__ = [
    "Chunk",
    "CommentFacts",
    "CompetitionFacts",
    "DataFile",
    "DatasetFacts",
    "Kaggle",
    "LeaderboardRow",
    "Limits",
    "NotebookFacts",
    "NotebookOrder",
    "Page",
    "Received",
    "SubmissionFacts",
    "TopicFacts",
    "TopicOrder",
    "number",
]

T = TypeVar("T")


def number(score: str) -> float | None:
    """Return a score, which Kaggle has as text, as a finite number; None where it is none."""
    try:
        value = float(score)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


NotebookOrder = Literal["votes", "score-ascending", "score-descending", "newest"]
TopicOrder = Literal["top", "recent"]


class Chunk(Value, Generic[T]):
    """One page of a list; `following` is what to ask for next, None at the end."""

    items: tuple[T, ...]
    following: str | None = None


class CompetitionFacts(Value):
    """A competition as Kaggle describes it."""

    slug: str
    title: str
    url: str
    summary: str = ""
    category: str = ""
    metric: str = ""
    """In Kaggle's words; see `metrics.py`."""
    deadline: datetime | None = None
    opened: datetime | None = None
    daily_submissions: int = 0
    """0 where it is not said."""
    teams: int = 0
    entered: bool = False
    """Whether the rules were accepted by whoever the credentials belong to."""
    code_only: bool = False
    """Whether only code that runs on Kaggle is taken, no file."""
    submissions_closed: bool = False

    @property
    def rules_url(self) -> str:
        """Where the rules are accepted."""
        return f"{self.url.rstrip('/')}/rules"

    def is_over(self, now: datetime) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and now > self.deadline


class Page(Value):
    """One of a competition's pages, such as `description`, `evaluation`, `rules`; Markdown or HTML."""

    name: str
    content: str


class DataFile(Value):
    """A file of the data, as the list has it; a changed size or date means other content."""

    name: str
    size: int
    created: datetime | None = None


class Received(Value):
    """A file that was downloaded."""

    path: Path
    name: str
    """As it was sent; a file may come as a zip of itself."""
    md5: str | None = None
    """What the sender says, in hexadecimal."""


class LeaderboardRow(Value):
    """One team; rows come best first."""

    team: str
    score: str
    submitted: datetime | None = None


class NotebookFacts(Value):
    """A public notebook as the list has it; `source` only where it was asked for itself."""

    ref: str
    title: str
    author: str
    version: int | None = None
    votes: int = 0
    last_run: datetime | None = None
    language: str = ""
    datasets: tuple[str, ...] = ()
    notebooks: tuple[str, ...] = ()
    competitions: tuple[str, ...] = ()
    source: str | None = None


class TopicFacts(Value):
    """A discussion; `body` only where it was asked for itself."""

    id: int
    title: str
    author: str
    votes: int = 0
    comments: int = 0
    posted: datetime | None = None
    last_comment: datetime | None = None
    body: str | None = None


class CommentFacts(Value):
    """An answer in a discussion; answers to it name it as their `parent`."""

    id: int
    author: str
    body: str
    parent: int | None = None
    votes: int = 0
    posted: datetime | None = None


class DatasetFacts(Value):
    """A public dataset."""

    ref: str
    title: str
    version: int | None = None
    updated: datetime | None = None
    licence: str = ""


class Limits(Value):
    """How many submissions there were, and how many are allowed now."""

    today: int
    total: int
    allowed_now: int
    limited_by_total: bool = False


class SubmissionFacts(Value):
    """A submission of ours; scores are text, as Kaggle has them, and empty until there are any."""

    ref: str
    status: Literal["pending", "complete", "error"]
    description: str = ""
    public_score: str = ""
    private_score: str = ""
    error: str = ""


class Kaggle(Protocol):
    """What is asked of Kaggle.

    Lists come in chunks: `at` is None for the first, then what the last one named as `following`.

    Every method raises a KaggleError: KaggleAccountError where credentials are missing or wrong,
    KaggleRefusedError where it refuses for good, KaggleBusyError where it may answer later; and
    KaggleUnknownError where it knows nothing of the name.
    """

    def account(self) -> str:
        """Return the name of whoever the credentials belong to."""

    def competition(self, slug: str) -> CompetitionFacts:
        """Return the facts of a competition."""

    def pages(self, slug: str) -> tuple[Page, ...]:
        """Return a competition's pages."""

    def files(self, slug: str, at: str | None = None) -> Chunk[DataFile]:
        """Return a part of the list of data files."""

    def download(self, slug: str, name: str | None, target: Path) -> Received:
        """Write a data file to `target`; a part of it that lies there is gone on with where possible.

        Args:
            slug: the competition.
            name: as the list has it; None for all files in one zip.
            target: the file to write; a failure leaves what has come so far.
        """

    def leaderboard(self, slug: str, at: str | None = None) -> Chunk[LeaderboardRow]:
        """Return a part of the public leaderboard, best first."""

    def notebooks(self, slug: str, order: NotebookOrder, at: str | None = None) -> Chunk[NotebookFacts]:
        """Return a part of the list of public notebooks."""

    def notebook(self, ref: str) -> NotebookFacts:
        """Return the newest version of a notebook, with its source."""

    def topics(self, slug: str, order: TopicOrder, at: str | None = None) -> Chunk[TopicFacts]:
        """Return a part of the list of discussions."""

    def topic(self, number: int) -> TopicFacts:
        """Return a discussion with its body."""

    def comments(self, number: int, at: str | None = None) -> Chunk[CommentFacts]:
        """Return a part of a discussion's comments, answers after what they answer."""

    def datasets(self, words: str, at: str | None = None) -> Chunk[DatasetFacts]:
        """Return a part of the public datasets that are found by these words."""

    def limits(self, slug: str) -> Limits:
        """Return how many submissions are left."""

    def submissions(self, slug: str, at: str | None = None) -> Chunk[SubmissionFacts]:
        """Return a part of our own submissions, newest first."""

    def submit(self, slug: str, file: Path, message: str) -> str:
        """Hand in a file; return the reference that `submissions` lists it by.

        After a KaggleBusyError that is `perhaps_done` only `submissions` can tell whether it was taken.
        """
