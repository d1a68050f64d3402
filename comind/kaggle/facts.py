"""What Kaggle says, as values of ours; nothing of the client's own types leaves its module."""

from datetime import datetime
from pathlib import Path
from typing import Generic, Literal, TypeVar

from comind.domain.value import Value

__all__ = [
    "Chunk",
    "CommentFacts",
    "CompetitionFacts",
    "DataFile",
    "DatasetFacts",
    "LeaderboardRow",
    "Limits",
    "NotebookFacts",
    "NotebookOrder",
    "Page",
    "Received",
    "SubmissionFacts",
    "TopicFacts",
    "TopicOrder",
]

T = TypeVar("T")

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
    team_id: int | None = None
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
    kind: str = ""
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
    size: int = 0


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
    file_name: str = ""
    submitted: datetime | None = None
    public_score: str = ""
    private_score: str = ""
    error: str = ""
