"""Manners towards Kaggle: one request at a time, pauses between them, patience that ends.

    request ──ok──► answer
       │
       └─ busy ──► wait (what it asks for, else twice as long as before, less up to a half) ──► again

What is refused is not asked again. A submission that may have been taken is never sent again.
"""

import random
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from comind.domain.value import Value
from comind.errors import KaggleBusyError
from comind.kaggle.clock import Clock, WallClock
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
from comind.kaggle.port import Kaggle

__all__ = ["Manners", "PoliteKaggle", "walk"]

T = TypeVar("T")


class Manners(Value):
    """How Kaggle is asked."""

    pause_seconds: float = Field(default=1, ge=0)
    """Between two requests."""
    tries: int = Field(default=6, ge=1)
    """Of one request, before it counts as down."""
    back_off_seconds: float = Field(default=2, ge=0)
    """Before the second try, doubled with each; what Kaggle asks for goes first."""
    longest_wait_seconds: float = Field(default=300, gt=0)
    """Of one wait; whoever is asked to wait longer gives up."""


class PoliteKaggle:
    """The port again, with manners; safe to share between threads, which then wait for each other."""

    def __init__(
        self,
        kaggle: Kaggle,
        manners: Manners = Manners(),  # noqa: B008 - frozen
        *,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Stand before `kaggle`.

        Args:
            kaggle: what does the requests.
            manners: how it is asked.
            clock: what waits.
            jitter: gives numbers from 0 to 1.
        """
        self._kaggle = kaggle
        self._manners = manners
        self._clock = clock or WallClock()
        self._jitter = jitter
        self._lane = threading.Lock()
        self._free_at: datetime | None = None

    def account(self) -> str:
        """Return the name of whoever the credentials belong to."""
        return self._ask(self._kaggle.account)

    def competition(self, slug: str) -> CompetitionFacts:
        """Return the facts of a competition."""
        return self._ask(lambda: self._kaggle.competition(slug))

    def pages(self, slug: str) -> tuple[Page, ...]:
        """Return a competition's pages."""
        return self._ask(lambda: self._kaggle.pages(slug))

    def files(self, slug: str, at: str | None = None) -> Chunk[DataFile]:
        """Return a part of the list of data files."""
        return self._ask(lambda: self._kaggle.files(slug, at))

    def download(self, slug: str, name: str | None, target: Path) -> Received:
        """Write a data file to `target`; each try goes on where the last one stopped."""
        return self._ask(lambda: self._kaggle.download(slug, name, target))

    def leaderboard(self, slug: str, at: str | None = None) -> Chunk[LeaderboardRow]:
        """Return a part of the public leaderboard, best first."""
        return self._ask(lambda: self._kaggle.leaderboard(slug, at))

    def notebooks(self, slug: str, order: NotebookOrder, at: str | None = None) -> Chunk[NotebookFacts]:
        """Return a part of the list of public notebooks."""
        return self._ask(lambda: self._kaggle.notebooks(slug, order, at))

    def notebook(self, ref: str) -> NotebookFacts:
        """Return the newest version of a notebook, with its source."""
        return self._ask(lambda: self._kaggle.notebook(ref))

    def topics(self, slug: str, order: TopicOrder, at: str | None = None) -> Chunk[TopicFacts]:
        """Return a part of the list of discussions."""
        return self._ask(lambda: self._kaggle.topics(slug, order, at))

    def topic(self, number: int) -> TopicFacts:
        """Return a discussion with its body."""
        return self._ask(lambda: self._kaggle.topic(number))

    def comments(self, number: int, at: str | None = None) -> Chunk[CommentFacts]:
        """Return a part of a discussion's comments, answers after what they answer."""
        return self._ask(lambda: self._kaggle.comments(number, at))

    def datasets(self, words: str, at: str | None = None) -> Chunk[DatasetFacts]:
        """Return a part of the public datasets that are found by these words."""
        return self._ask(lambda: self._kaggle.datasets(words, at))

    def limits(self, slug: str) -> Limits:
        """Return how many submissions are left."""
        return self._ask(lambda: self._kaggle.limits(slug))

    def submissions(self, slug: str, at: str | None = None) -> Chunk[SubmissionFacts]:
        """Return a part of our own submissions, newest first."""
        return self._ask(lambda: self._kaggle.submissions(slug, at))

    def submit(self, slug: str, file: Path, message: str) -> str:
        """Hand in a file; what may have been taken is not sent again."""
        return self._ask(lambda: self._kaggle.submit(slug, file, message), twice=False)

    def _ask(self, request: Callable[[], T], *, twice: bool = True) -> T:
        """Make a request, again while Kaggle is busy; `twice` tells whether it may be done twice."""
        with self._lane:
            for failures in range(1, self._manners.tries + 1):
                self._pause()
                try:
                    return request()
                except KaggleBusyError as error:
                    if failures == self._manners.tries or (error.perhaps_done and not twice):
                        raise
                    wait = self._wait(error, failures)
                    if wait > self._manners.longest_wait_seconds:
                        raise
                finally:
                    pause = timedelta(seconds=self._manners.pause_seconds)
                    self._free_at = self._clock.now() + pause
                self._clock.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _pause(self) -> None:
        now = self._clock.now()
        if self._free_at is not None and self._free_at > now:
            longest = self._manners.pause_seconds  # however the clock on the wall was set meanwhile
            self._clock.sleep(min((self._free_at - now).total_seconds(), longest))

    def _wait(self, error: KaggleBusyError, failures: int) -> float:
        """Return the seconds before the next try; more than the longest wait where that is asked for."""
        if error.retry_after is not None:
            return max(0.0, error.retry_after)
        doubled: float = self._manners.back_off_seconds * 2.0 ** (failures - 1)
        return min(doubled, self._manners.longest_wait_seconds) * (1 - self._jitter() / 2)


def walk(ask: Callable[[str | None], Chunk[T]], *, chunks: int) -> Iterator[T]:
    """Yield the items of a list, of at most so many chunks.

    Args:
        ask: gives the chunk at a place, the first for None.
        chunks: the limit; lists of Kaggle can be very long.
    """
    at: str | None = None
    seen: set[str] = set()
    for _ in range(chunks):
        chunk = ask(at)
        yield from chunk.items
        at = chunk.following
        if at is None or at in seen:  # a list that leads back to itself would never end
            return
        seen.add(at)
