"""Define the port to Kaggle: one request per method, with our own values and errors."""

import math
from datetime import datetime
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from comind.domain.value import AnyText, Value

T = TypeVar("T")


def parse_score(score: str) -> float | None:
    """Return a score, which Kaggle sends as text, as a number; None where it is not a finite one."""
    try:
        value = float(score)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


NotebookOrder = Literal["votes", "score-ascending", "score-descending", "newest"]
TopicOrder = Literal["top", "recent"]


class Chunk(Value, Generic[T]):
    """A page of a list; `following` is the token of the next one, None at the end."""

    items: tuple[T, ...]
    following: str | None = None


class CompetitionFacts(Value):
    """A competition as Kaggle describes it."""

    slug: str
    title: AnyText
    url: str
    summary: AnyText = ""
    category: AnyText = ""
    metric: AnyText = ""
    """Kaggle's name; see `metric_names.py`."""
    deadline: datetime | None = None
    opened: datetime | None = None
    daily_submissions: int = 0
    """0: unknown."""
    teams: int = 0
    entered: bool = False
    """Whether the account has accepted the rules."""
    code_only: bool = False
    """Whether only notebooks that run on Kaggle are accepted, no files."""
    submissions_closed: bool = False

    @property
    def rules_url(self) -> str:
        """Page on which the rules are accepted."""
        return f"{self.url.rstrip('/')}/rules"

    def is_over(self, now: datetime) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and now > self.deadline


class Page(Value):
    """One of a competition's pages, such as `description`, `evaluation`, `rules`; Markdown or HTML."""

    name: str
    content: AnyText


class DataFile(Value):
    """A data file in the list; a changed size or date means changed content."""

    name: str
    size: int
    created: datetime | None = None


class LeaderboardRow(Value):
    """One team; rows come best first."""

    team: AnyText
    score: str
    submitted: datetime | None = None


class NotebookFacts(Value):
    """A public notebook; the list has it without `source`."""

    ref: str
    title: AnyText
    author: AnyText
    version: int | None = None
    votes: int = 0
    last_run: datetime | None = None
    language: str = ""
    datasets: tuple[str, ...] = ()
    notebooks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    competitions: tuple[str, ...] = ()
    source: AnyText | None = None


class TopicFacts(Value):
    """A discussion; the list has it without `body`."""

    id: int
    title: AnyText
    author: AnyText
    votes: int = 0
    comments: int = 0
    posted: datetime | None = None
    last_comment: datetime | None = None
    body: AnyText | None = None


class CommentFacts(Value):
    """A comment in a discussion; `parent` is the id of the comment that it replies to."""

    id: int
    author: AnyText
    body: AnyText
    parent: int | None = None
    votes: int = 0
    posted: datetime | None = None


class DatasetFacts(Value):
    """A public dataset."""

    ref: str
    title: AnyText
    version: int | None = None
    updated: datetime | None = None
    licence: AnyText = ""


class Limits(Value):
    """Numbers of submissions that were made, and that are allowed now."""

    today: int
    total: int
    allowed_now: int
    limited_by_total: bool = False


class SubmissionFacts(Value):
    """A submission of ours; scores are text, empty while pending."""

    ref: str
    status: Literal["pending", "complete", "error"]
    description: AnyText = ""
    public_score: str = ""
    private_score: str = ""
    error: AnyText = ""


class Kaggle(Protocol):
    """Requests to Kaggle.

    Lists are paginated: `at` is None for the first page, then `following` of the last one.

    Every method raises a KaggleError: KaggleAccountError for missing or wrong credentials,
    KaggleRefusedError for a refusal, KaggleBusyError where a retry may succeed; and KaggleUnknownError
    for an unknown name.
    """

    def account(self) -> str:
        """Return the name of the account."""

    def competition(self, slug: str) -> CompetitionFacts:
        """Return the facts of a competition."""

    def pages(self, slug: str) -> tuple[Page, ...]:
        """Return a competition's pages."""

    def files(self, slug: str, at: str | None = None) -> Chunk[DataFile]:
        """Return a page of the list of data files."""

    def download(self, slug: str, name: str | None, target: Path) -> str | None:
        """Download a data file, resuming a partial one where possible; return its MD5 if it is sent.

        Args:
            slug: the competition.
            name: in the list; None: all files in one zip.
            target: the file to write; after a failure it is partial.
        """

    def leaderboard(self, slug: str, at: str | None = None) -> Chunk[LeaderboardRow]:
        """Return a page of the public leaderboard, best first."""

    def notebooks(self, slug: str, order: NotebookOrder, at: str | None = None) -> Chunk[NotebookFacts]:
        """Return a page of the list of public notebooks."""

    def notebook(self, ref: str) -> NotebookFacts:
        """Return the newest version of a notebook, with its source."""

    def topics(self, slug: str, order: TopicOrder, at: str | None = None) -> Chunk[TopicFacts]:
        """Return a page of the list of discussions."""

    def topic(self, number: int) -> TopicFacts:
        """Return a discussion with its body."""

    def comments(self, number: int, at: str | None = None) -> Chunk[CommentFacts]:
        """Return a page of a discussion's comments, replies after their parents."""

    def datasets(self, words: str, at: str | None = None) -> Chunk[DatasetFacts]:
        """Return a page of the public datasets that match a search."""

    def dataset_files(self, ref: str, at: str | None = None) -> Chunk[DataFile]:
        """Return a page of the list of a dataset's files."""

    def download_dataset(self, ref: str, name: str, target: Path) -> str | None:
        """Download a file of a dataset, as `download`."""

    def output_files(self, ref: str, at: str | None = None) -> Chunk[DataFile]:
        """Return a page of the list of files that the newest run of a notebook wrote."""

    def download_output(self, ref: str, name: str, target: Path) -> str | None:
        """Download a file that the newest run of a notebook wrote, as `download`."""

    def limits(self, slug: str) -> Limits:
        """Return how many submissions are left."""

    def submissions(self, slug: str, at: str | None = None) -> Chunk[SubmissionFacts]:
        """Return a page of our own submissions, newest first."""

    def submit(self, slug: str, file: Path, message: str) -> str:
        """Submit a file; return its reference in `submissions`. Not idempotent.

        After a KaggleBusyError with `may_have_succeeded`, `submissions` shows whether it was accepted.
        """
