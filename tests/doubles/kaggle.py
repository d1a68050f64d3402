"""Simulate Kaggle in memory."""

import hashlib
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from comind.errors import KaggleError, KaggleUnknownError
from comind.kaggle import port

__all__ = ["KaggleWorld", "ScriptedKaggle"]

T = TypeVar("T")

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass
class KaggleWorld:
    """One competition with its community and submissions; tests change it."""

    facts: port.CompetitionFacts
    pages: tuple[port.Page, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    dates: dict[str, datetime] = field(default_factory=dict)
    leaderboard: tuple[port.LeaderboardRow, ...] = ()
    notebooks: tuple[port.NotebookFacts, ...] = ()
    """With sources, best score first."""
    topics: tuple[port.TopicFacts, ...] = ()
    """With bodies."""
    comments: dict[int, tuple[port.CommentFacts, ...]] = field(default_factory=dict)
    datasets: tuple[port.DatasetFacts, ...] = ()
    item_files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of datasets, and those that notebooks wrote, by reference and name."""
    listed_sizes: dict[str, int] = field(default_factory=dict)
    """Sizes in lists of these files, by name, where they are not the true ones."""
    corrupt: set[str] = field(default_factory=set)
    """Names of these files that come with the MD5 of another content."""
    limits: port.Limits = field(default_factory=lambda: port.Limits(today=0, total=0, allowed_now=5))
    submissions: tuple[port.SubmissionFacts, ...] = ()


class ScriptedKaggle:
    """Serves one world; the errors in `failures` by method are raised first.

    `calls` holds every request as (method, argument), in order.
    """

    def __init__(self, world: KaggleWorld, *, account: str = "somebody", chunk: int = 3) -> None:
        """Serve `world` with pages of `chunk` items."""
        self.world = world
        self.failures: dict[str, list[KaggleError]] = {}
        self.calls: list[tuple[str, str]] = []
        self.nameless = False
        """Whether `submit` returns no reference."""
        self._account = account
        self._chunk = chunk

    def account(self) -> str:
        """Return the name of the account."""
        self._note("account", "")
        return self._account

    def competition(self, slug: str) -> port.CompetitionFacts:
        """Return the facts of the one competition."""
        self._request(slug, "competition")
        return self.world.facts

    def pages(self, slug: str) -> tuple[port.Page, ...]:
        """Return the pages."""
        self._request(slug, "pages")
        return self.world.pages

    def files(self, slug: str, at: str | None = None) -> port.Chunk[port.DataFile]:
        """Return a page of the list of data files."""
        self._request(slug, "files", at or "")
        listed = [
            port.DataFile(name=name, size=len(content), created=self.world.dates.get(name))
            for name, content in sorted(self.world.files.items())
        ]
        return self._part(listed, at)

    def download(self, slug: str, name: str | None, target: Path) -> str | None:
        """Write a data file, or all in one zip; return its MD5."""
        self._request(slug, "download", name or "*")
        content = self._all_in_one() if name is None else self.world.files[name]
        target.write_bytes(content)
        return hashlib.md5(content, usedforsecurity=False).hexdigest()

    def leaderboard(self, slug: str, at: str | None = None) -> port.Chunk[port.LeaderboardRow]:
        """Return a page of the leaderboard."""
        self._request(slug, "leaderboard", at or "")
        return self._part(self.world.leaderboard, at)

    def notebooks(
        self, slug: str, order: port.NotebookOrder, at: str | None = None
    ) -> port.Chunk[port.NotebookFacts]:
        """Return a page of the list of notebooks, without their sources."""
        self._request(slug, "notebooks", order)
        listed = [each.model_copy(update={"source": None}) for each in self.world.notebooks]
        if order == "votes":
            listed.sort(key=lambda each: -each.votes)
        elif order == "newest":
            listed.sort(key=lambda each: each.last_run or _LONG_AGO, reverse=True)
        return self._part(listed, at)

    def notebook(self, ref: str) -> port.NotebookFacts:
        """Return a notebook with its source."""
        self._note("notebook", ref)
        for each in self.world.notebooks:
            if each.ref == ref:
                return each
        raise KaggleUnknownError(f"{ref}: Kaggle has no such notebook")

    def topics(
        self, slug: str, order: port.TopicOrder, at: str | None = None
    ) -> port.Chunk[port.TopicFacts]:
        """Return a page of the list of discussions, without their bodies."""
        self._request(slug, "topics", order)
        listed = [each.model_copy(update={"body": None}) for each in self.world.topics]
        if order == "top":
            listed.sort(key=lambda each: -each.votes)
        else:
            listed.sort(key=lambda each: each.last_comment or each.posted or _LONG_AGO, reverse=True)
        return self._part(listed, at)

    def topic(self, number: int) -> port.TopicFacts:
        """Return a discussion with its body."""
        self._note("topic", str(number))
        for each in self.world.topics:
            if each.id == number:
                return each
        raise KaggleUnknownError(f"{number}: Kaggle has no such discussion")

    def comments(self, number: int, at: str | None = None) -> port.Chunk[port.CommentFacts]:
        """Return a page of a discussion's comments."""
        self._note("comments", str(number))
        return self._part(self.world.comments.get(number, ()), at)

    def datasets(self, words: str, at: str | None = None) -> port.Chunk[port.DatasetFacts]:
        """Return a page of the datasets whose name or title contains `words`."""
        self._note("datasets", words)
        return self._part([d for d in self.world.datasets if words in f"{d.ref} {d.title}"], at)

    def dataset_files(self, ref: str, at: str | None = None) -> port.Chunk[port.DataFile]:
        """Return a page of the list of a dataset's files."""
        return self._item_files("dataset_files", ref, at)

    def download_dataset(self, ref: str, name: str, target: Path) -> str | None:
        """Write a file of a dataset; return its MD5."""
        return self._item_file("download_dataset", ref, name, target)

    def output_files(self, ref: str, at: str | None = None) -> port.Chunk[port.DataFile]:
        """Return a page of the list of files that a notebook wrote."""
        return self._item_files("output_files", ref, at)

    def download_output(self, ref: str, name: str, target: Path) -> str | None:
        """Write a file that a notebook wrote; return its MD5."""
        return self._item_file("download_output", ref, name, target)

    def _item_files(self, method: str, ref: str, at: str | None) -> port.Chunk[port.DataFile]:
        self._note(method, ref)
        files = self.world.item_files.get(ref, {})
        sizes = {name: len(content) for name, content in files.items()} | self.world.listed_sizes
        return self._part([port.DataFile(name=name, size=sizes[name]) for name in sorted(files)], at)

    def _item_file(self, method: str, ref: str, name: str, target: Path) -> str | None:
        self._note(method, f"{ref} {name}")
        content = self.world.item_files[ref][name]
        target.write_bytes(content)
        if name in self.world.corrupt:
            return hashlib.md5(b"another", usedforsecurity=False).hexdigest()
        return hashlib.md5(content, usedforsecurity=False).hexdigest()

    def limits(self, slug: str) -> port.Limits:
        """Return how many submissions are left."""
        self._request(slug, "limits")
        return self.world.limits

    def submissions(self, slug: str, at: str | None = None) -> port.Chunk[port.SubmissionFacts]:
        """Return a page of our own submissions."""
        self._request(slug, "submissions", at or "")
        return self._part(self.world.submissions, at)

    def submit(self, slug: str, file: Path, message: str) -> str:
        """Accept a file; it is pending until the test scores it."""
        del file
        self._request(slug, "submit", message)
        ref = str(len(self.world.submissions) + 1)
        taken = port.SubmissionFacts(ref=ref, status="pending", description=message)
        self.world.submissions = (taken, *self.world.submissions)
        return "" if self.nameless else ref

    def _request(self, slug: str, method: str, argument: str = "") -> None:
        self._note(method, argument)
        if slug != self.world.facts.slug:
            raise KaggleUnknownError(f"{slug}: Kaggle has no such competition")

    def _note(self, method: str, argument: str) -> None:
        self.calls.append((method, argument))
        if self.failures.get(method):
            raise self.failures[method].pop(0)

    def _part(self, items: Sequence[T], at: str | None) -> port.Chunk[T]:
        start = int(at or 0)
        end = start + self._chunk
        return port.Chunk(
            items=tuple(items[start:end]), following=str(end) if end < len(items) else None
        )

    def _all_in_one(self) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as bundle:
            for name, content in sorted(self.world.files.items()):
                bundle.writestr(zipfile.ZipInfo(name), content)
        return packed.getvalue()
