"""The port to Kaggle: a request a method, errors of ours; behind it the official client, or a double."""

from pathlib import Path
from typing import Protocol

from comind.kaggle.facts import (
    Chunk,
    CommentFacts,
    CompetitionFacts,
    DataFile,
    DatasetFacts,
    LeaderboardRow,
    Limits,
    NotebookFacts,
    NotebookOrder,
    Page,
    Received,
    SubmissionFacts,
    TopicFacts,
    TopicOrder,
)

__all__ = ["Kaggle"]


class Kaggle(Protocol):
    """What is asked of Kaggle.

    Lists come in chunks: `at` is None for the first, then what the last one named as `following`.

    Every method raises a KaggleError: KaggleAccountError where credentials are missing or wrong,
    KaggleRefusedError where it refuses for good, KaggleBusyError where it may answer later; and
    KaggleUnknownError where it knows nothing of the name.
    """

    def account(self) -> str:
        """Return the name of whoever the credentials belong to."""
        ...

    def competition(self, slug: str) -> CompetitionFacts:
        """Return the facts of a competition."""
        ...

    def pages(self, slug: str) -> tuple[Page, ...]:
        """Return a competition's pages."""
        ...

    def files(self, slug: str, at: str | None = None) -> Chunk[DataFile]:
        """Return a part of the list of data files."""
        ...

    def download(self, slug: str, name: str | None, target: Path) -> Received:
        """Write a data file to `target`; a part of it that lies there is gone on with where possible.

        Args:
            slug: the competition.
            name: as the list has it; None for all files in one zip.
            target: the file to write; a failure leaves what has come so far.
        """
        ...

    def leaderboard(self, slug: str, at: str | None = None) -> Chunk[LeaderboardRow]:
        """Return a part of the public leaderboard, best first."""
        ...

    def notebooks(self, slug: str, order: NotebookOrder, at: str | None = None) -> Chunk[NotebookFacts]:
        """Return a part of the list of public notebooks."""
        ...

    def notebook(self, ref: str) -> NotebookFacts:
        """Return the newest version of a notebook, with its source."""
        ...

    def topics(self, slug: str, order: TopicOrder, at: str | None = None) -> Chunk[TopicFacts]:
        """Return a part of the list of discussions."""
        ...

    def topic(self, number: int) -> TopicFacts:
        """Return a discussion with its body."""
        ...

    def comments(self, number: int, at: str | None = None) -> Chunk[CommentFacts]:
        """Return a part of a discussion's comments, answers after what they answer."""
        ...

    def datasets(self, words: str, at: str | None = None) -> Chunk[DatasetFacts]:
        """Return a part of the public datasets that are found by these words."""
        ...

    def limits(self, slug: str) -> Limits:
        """Return how many submissions are left."""
        ...

    def submissions(self, slug: str, at: str | None = None) -> Chunk[SubmissionFacts]:
        """Return a part of our own submissions, newest first."""
        ...

    def submit(self, slug: str, file: Path, message: str) -> str:
        """Hand in a file; return the reference that `submissions` lists it by.

        After a KaggleBusyError that is `perhaps_done` only `submissions` can tell whether it was taken.
        """
        ...
