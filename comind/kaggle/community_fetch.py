"""What the community says of a competition, kept as a community folder that only news is added to.

Every line says when it was seen (`observed_at`): votes are totals of that time, as Kaggle tells no more.
A notebook is asked for only when it ran anew, a discussion only when it was answered since.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from pydantic import Field

from comind.domain.value import Value
from comind.errors import KaggleBusyError, KaggleRefusedError, KaggleUnknownError
from comind.kaggle.port import (
    CommentFacts,
    DatasetFacts,
    Kaggle,
    NotebookFacts,
    NotebookOrder,
    TopicFacts,
)
from comind.kaggle.rate_limit import paginate
from comind.system.files import write_atomically
from comind.system.timing import Clock

__all__ = ["CommunityNews", "Wanted", "fetch_community"]

_CHUNKS = 2
"""Parts of a list that are read for each order."""
_COMMENT_CHUNKS = 20

Line = dict[str, Any]


class Wanted(Value):
    """How many new ones are asked for at a time; the rest stays for the next time."""

    notebooks: int = Field(default=40, ge=0)
    discussions: int = Field(default=40, ge=0)
    datasets: int = Field(default=20, ge=0)


class CommunityNews(Value):
    """How many were new, or had changed; `stopped` says why it ended early, where it did."""

    notebooks: int = 0
    discussions: int = 0
    datasets: int = 0
    stopped: str = ""


def fetch_community(
    kaggle: Kaggle, slug: str, folder: Path, *, wanted: Wanted, clock: Clock, lower: bool | None
) -> CommunityNews:
    """Bring a community folder up to date; what came before a failure is kept.

    `lower` is whether lower scores are better, None where nobody knows.
    """
    visit = _Visit(kaggle, slug, folder, clock)
    counts: dict[str, int] = {}
    steps: dict[str, Callable[[], int]] = {
        "notebooks": lambda: visit.notebooks(wanted.notebooks, lower=lower),
        "discussions": lambda: visit.discussions(wanted.discussions),
        "datasets": lambda: visit.datasets(wanted.datasets),
    }
    stopped = ""
    for name, step in steps.items():
        try:
            counts[name] = step()
        except (KaggleBusyError, KaggleRefusedError, KaggleUnknownError) as error:
            stopped = stopped or str(error)
    return CommunityNews(**counts, stopped=stopped)


class _Lines:
    """One file of a community folder, by the names of its lines; written on leaving, however that is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.by_key: dict[str, Line] = {}
        for text in path.read_text(encoding="utf-8").split("\n") if path.is_file() else ():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # a torn line; what it said is asked for again
            if isinstance(line, dict):
                self.by_key[_key(line)] = line
        self._before = dict(self.by_key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.by_key != self._before:
            texts = [json.dumps(self.by_key[key], ensure_ascii=False) for key in sorted(self.by_key)]
            write_atomically(self._path, "".join(f"{text}\n" for text in texts))

    def put(self, line: Line) -> None:
        self.by_key[_key(line)] = line

    def versions(self, ref: str) -> list[Line]:
        return [line for line in self.by_key.values() if line.get("ref") == ref]


class _Visit:
    """One visit to a competition's community."""

    def __init__(self, kaggle: Kaggle, slug: str, folder: Path, clock: Clock) -> None:
        self._kaggle = kaggle
        self._slug = slug
        self._folder = folder
        self._clock = clock

    def notebooks(self, most: int, *, lower: bool | None) -> int:
        orders: list[NotebookOrder] = ["votes", "newest"]
        if lower is not None:  # the list tells no score, but it can be in the order of scores
            orders.insert(0, "score-ascending" if lower else "score-descending")
        lists = [list(self._notebooks(order)) for order in orders]
        new = 0
        with _Lines(self._folder / "notebooks.jsonl") as lines:
            for listed in _in_turn(lists, lambda each: each.ref):
                known = _same_run(lines.versions(listed.ref), listed)
                if known is not None:
                    self._count(known, max(0, listed.votes), lines)
                elif new < most and listed.language in ("", "python"):
                    new += self._pull(listed, lines)
        return new

    def _count(self, known: Line, votes: int, lines: _Lines) -> None:
        """Note a total of votes where it is another one; else it stands since it was first seen."""
        if known.get("votes") != votes:
            lines.put(known | {"votes": votes, "observed_at": self._now()})

    def _notebooks(self, order: NotebookOrder) -> Iterator[NotebookFacts]:
        return paginate(partial(self._kaggle.notebooks, self._slug, order), chunks=_CHUNKS)

    def _pull(self, listed: NotebookFacts, lines: _Lines) -> bool:
        """Ask for a notebook's source; one that is gone meanwhile is passed over."""
        try:
            facts = self._kaggle.notebook(listed.ref)
        except (KaggleUnknownError, KaggleRefusedError):
            return False
        newest = max((line.get("version", 0) for line in lines.versions(listed.ref)), default=0)
        version = facts.version or listed.version or newest + 1
        at = _told(facts.last_run or listed.last_run)
        lines.put(
            {
                "ref": listed.ref,
                "version": version,
                "title": listed.title,
                "author": listed.author,
                "created_at": at,
                "votes": max(0, listed.votes),
                "observed_at": self._now(),
                "language": facts.language or listed.language or "python",
                "source": facts.source or "",
                "datasets": list(facts.datasets or listed.datasets),
                "notebooks": list(facts.notebooks or listed.notebooks),
                "competitions": list(facts.competitions or listed.competitions),
            }
        )
        return True

    def discussions(self, most: int) -> int:
        recent = list(paginate(partial(self._kaggle.topics, self._slug, "recent"), chunks=_CHUNKS))
        top = list(paginate(partial(self._kaggle.topics, self._slug, "top"), chunks=_CHUNKS))
        new = 0
        with _Lines(self._folder / "discussions.jsonl") as lines, self._seen() as seen:
            for listed in _in_turn([recent, top], lambda each: str(each.id)):
                known = lines.by_key.get(_key({"id": str(listed.id)}))
                if known is not None and seen.get(str(listed.id)) == _state(listed):
                    self._count(known, listed.votes, lines)
                elif new < most and self._read(listed, lines):
                    new += 1
                    seen[str(listed.id)] = _state(listed)
        return new

    @contextlib.contextmanager
    def _seen(self) -> Iterator[dict[str, Any]]:
        """Lend what the list said of each discussion when it was read; kept on leaving."""
        path = self._folder / "seen.json"
        try:
            seen = json.loads(path.read_bytes())
        except (OSError, ValueError):
            seen = {}
        before = dict(seen)
        try:
            yield seen
        finally:
            if seen != before:
                write_atomically(path, json.dumps(seen, indent=1, sort_keys=True) + "\n")

    def _read(self, listed: TopicFacts, lines: _Lines) -> bool:
        """Ask for a discussion with its comments; one that is gone meanwhile is passed over."""
        try:
            topic = self._kaggle.topic(listed.id)
            comments = list(paginate(partial(self._kaggle.comments, listed.id), chunks=_COMMENT_CHUNKS))
        except (KaggleUnknownError, KaggleRefusedError):
            return False
        lines.put(
            {
                "id": str(listed.id),
                "title": listed.title,
                "author": listed.author,
                "posted_at": _told(listed.posted or topic.posted),
                "votes": listed.votes,
                "observed_at": self._now(),
                "body": topic.body or "",
                "comments": [self._comment(each) for each in comments],
            }
        )
        return True

    def _comment(self, facts: CommentFacts) -> Line:
        return {
            "id": str(facts.id),
            **({} if facts.parent is None else {"parent": str(facts.parent)}),
            "author": facts.author,
            "posted_at": _told(facts.posted),
            "votes": facts.votes,
            "observed_at": self._now(),
            "body": facts.body,
        }

    def datasets(self, most: int) -> int:
        """Ask for the datasets of this name, and for those that notebooks use, the most used first."""
        found = list(paginate(partial(self._kaggle.datasets, self._slug), chunks=1))
        used: dict[str, int] = {}
        with _Lines(self._folder / "notebooks.jsonl") as notebooks:
            for line in notebooks.by_key.values():
                for ref in line.get("datasets", ()):
                    used[ref] = used.get(ref, 0) + 1
        new = 0
        with _Lines(self._folder / "datasets.jsonl") as lines:
            there = {each.ref for each in found} | {
                str(line.get("ref")) for line in lines.by_key.values()
            }
            missing = [
                ref for ref in sorted(used, key=lambda ref: (-used[ref], ref)) if ref not in there
            ]
            for ref in missing[:most]:
                named = paginate(partial(self._kaggle.datasets, ref.split("/")[-1]), chunks=1)
                found += [each for each in named if each.ref == ref]
            for each in found:
                line = self._dataset(each)
                new += _key(line) not in lines.by_key
                lines.put(line)
        return new

    def _dataset(self, facts: DatasetFacts) -> Line:
        return {
            "ref": facts.ref,
            "version": facts.version or 1,
            "title": facts.title,
            "published_at": _told(facts.updated),
            "licence": facts.licence,
            "observed_at": self._now(),
        }

    def _now(self) -> str | None:
        return _told(self._clock.now().replace(microsecond=0))


def _in_turn(lists: list[list[Any]], name: Callable[[Any], str]) -> Iterator[Any]:
    """Yield the first of each list, then the second of each, and nothing twice."""
    seen = set()
    for place in range(max(map(len, lists), default=0)):
        for each in (items[place] for items in lists if place < len(items)):
            if name(each) not in seen:
                seen.add(name(each))
                yield each


def _same_run(lines: Iterable[Line], listed: NotebookFacts) -> Line | None:
    """Return the line of the very run that is listed."""
    for line in lines:
        same_version = listed.version is None or line.get("version") == listed.version
        same_time = listed.last_run is None or line.get("created_at") == _told(listed.last_run)
        if same_version and same_time:
            return line
    return None


def _state(listed: TopicFacts) -> list[Any]:
    """Return what the list says of how far a discussion has come."""
    return [_told(listed.last_comment), listed.comments]


def _key(line: Line) -> str:
    return f"{line['ref']} {line.get('version', 1):09}" if "ref" in line else str(line.get("id", ""))


def _told(moment: datetime | None) -> str | None:
    """Return a time as text; texts of times are in the order of the times."""
    if moment is None:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
