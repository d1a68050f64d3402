"""Fetch notebooks, discussions and datasets on a competition into a community folder, incrementally.

Files of the datasets that notebooks use follow, and the submissions that the best notebooks wrote
(`community_files.py`).

Every line has the time of its observation (`observed_at`), as Kaggle has only totals of votes. A
notebook is fetched again only after a new run, a discussion only after a new comment.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from comind.domain.community import is_reference
from comind.domain.value import Value
from comind.errors import KaggleBusyError, KaggleRefusedError, KaggleUnknownError
from comind.kaggle.community_files import CommunityFiles
from comind.kaggle.port import (
    CommentFacts,
    DatasetFacts,
    Kaggle,
    NotebookFacts,
    NotebookOrder,
    TopicFacts,
)
from comind.kaggle.rate_limit import paginate
from comind.kaggle.settings import FetchLimits
from comind.system.files import write_atomically
from comind.system.timing import Clock

_CHUNKS = 2
"""Pages of a list that are read for each order."""
_COMMENT_CHUNKS = 20

Line = dict[str, Any]


class CommunityNews(Value):
    """Counts of new or changed items; `stopped` is the error that ended the fetch early, if any."""

    notebooks: int = 0
    discussions: int = 0
    datasets: int = 0
    files: int = 0
    """Datasets and notebooks with files that were fetched."""
    stopped: str = ""


def fetch_community(
    kaggle: Kaggle, slug: str, folder: Path, *, limits: FetchLimits, clock: Clock, lower: bool | None
) -> CommunityNews:
    """Update a community folder; what was fetched before a failure is kept.

    `lower` is whether lower scores are better, None: unknown.
    """
    fetch = _Fetch(kaggle, slug, folder, clock)
    counts: dict[str, int] = {}
    steps: dict[str, Callable[[], int]] = {
        "notebooks": lambda: fetch.notebooks(limits.notebooks, lower=lower),
        "discussions": lambda: fetch.discussions(limits.discussions),
        "datasets": lambda: fetch.datasets(limits.datasets),
        "files": lambda: fetch.files(limits),
    }
    stopped = ""
    for name, step in steps.items():
        try:
            counts[name] = step()
        except (KaggleBusyError, KaggleRefusedError, KaggleUnknownError) as error:
            stopped = stopped or str(error)
    return CommunityNews(**counts, stopped=stopped)


class _Lines:
    """The lines of a JSONL file by their key; changes are written on exit, also after an exception."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.by_key: dict[str, Line] = {}
        for text in path.read_text(encoding="utf-8").split("\n") if path.is_file() else ():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # a torn line; its item is fetched again
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


class _Fetch:
    """One update of the community folder of a competition."""

    def __init__(self, kaggle: Kaggle, slug: str, folder: Path, clock: Clock) -> None:
        self._kaggle = kaggle
        self._slug = slug
        self._folder = folder
        self._clock = clock
        self._listed: list[tuple[str, int]] = []
        """Notebooks with the version that the list says is the newest, in its order.

        Where it says neither version nor time, the output that Kaggle has now may be of a later run
        than the one that is known.
        """

    def notebooks(self, most: int, *, lower: bool | None) -> int:
        orders: list[NotebookOrder] = ["votes", "newest"]
        if lower is not None:  # the list has no scores, but can be sorted by them
            orders.insert(0, "score-ascending" if lower else "score-descending")
        lists = [list(self._notebooks(order)) for order in orders]
        new = 0
        with _Lines(self._folder / "notebooks.jsonl") as lines:
            for listed in _round_robin(lists, lambda each: each.ref):
                known = _same_run(lines.versions(listed.ref), listed)
                if known is not None:
                    self._update_votes(known, max(0, listed.votes), lines)
                elif new < most and listed.language in ("", "python"):
                    new += self._pull(listed, lines)
                known = _same_run(lines.versions(listed.ref), listed)
                if known is not None and (listed.version or listed.last_run):
                    self._listed.append((listed.ref, known.get("version", 1)))
        return new

    def _update_votes(self, known: Line, votes: int, lines: _Lines) -> None:
        """Record a changed total of votes with the time of its observation."""
        if known.get("votes") != votes:
            lines.put(known | {"votes": votes, "observed_at": self._now()})

    def _notebooks(self, order: NotebookOrder) -> Iterator[NotebookFacts]:
        listed = paginate(partial(self._kaggle.notebooks, self._slug, order), chunks=_CHUNKS)
        return (each for each in listed if is_reference(each.ref))

    def _pull(self, listed: NotebookFacts, lines: _Lines) -> bool:
        """Fetch a notebook with its source; return whether it still exists."""
        try:
            facts = self._kaggle.notebook(listed.ref)
        except (KaggleUnknownError, KaggleRefusedError):
            return False
        newest = max((line.get("version", 0) for line in lines.versions(listed.ref)), default=0)
        version = facts.version or listed.version or newest + 1
        at = _timestamp(facts.last_run or listed.last_run)
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
                "models": list(facts.models or listed.models),
                "competitions": list(facts.competitions or listed.competitions),
            }
        )
        return True

    def discussions(self, most: int) -> int:
        recent = list(paginate(partial(self._kaggle.topics, self._slug, "recent"), chunks=_CHUNKS))
        top = list(paginate(partial(self._kaggle.topics, self._slug, "top"), chunks=_CHUNKS))
        new = 0
        with _Lines(self._folder / "discussions.jsonl") as lines, self._seen() as seen:
            for listed in _round_robin([recent, top], lambda each: str(each.id)):
                known = lines.by_key.get(_key({"id": str(listed.id)}))
                if known is not None and seen.get(str(listed.id)) == _state(listed):
                    self._update_votes(known, listed.votes, lines)
                elif new < most and self._read(listed, lines):
                    new += 1
                    seen[str(listed.id)] = _state(listed)
        return new

    @contextlib.contextmanager
    def _seen(self) -> Iterator[dict[str, Any]]:
        """Load the state of each discussion in the list when it was last read; save it on exit."""
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
        """Fetch a discussion with its comments; return whether it still exists."""
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
                "posted_at": _timestamp(listed.posted or topic.posted),
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
            "posted_at": _timestamp(facts.posted),
            "votes": facts.votes,
            "observed_at": self._now(),
            "body": facts.body,
        }

    def datasets(self, most: int) -> int:
        """Fetch the datasets that match the slug, and those that notebooks use, most used first."""
        found = self._datasets_named(self._slug)
        used = self._used_datasets()
        new = 0
        with _Lines(self._folder / "datasets.jsonl") as lines:
            there = {each.ref for each in found} | {
                str(line.get("ref")) for line in lines.by_key.values()
            }
            for ref in [ref for ref in used if ref not in there][:most]:
                found += self._datasets_named(ref.split("/")[-1], ref)
            for each in found:
                line = self._dataset(each)
                known = lines.by_key.get(_key(line), {})
                new += not known
                lines.put(line | {name: known[name] for name in ("path",) if name in known})
        return new

    def _datasets_named(self, words: str, ref: str | None = None) -> list[DatasetFacts]:
        """Return the datasets that match a search; with `ref`, this one alone."""
        found = paginate(partial(self._kaggle.datasets, words), chunks=1)
        return [each for each in found if is_reference(each.ref) and ref in (None, each.ref)]

    def _used_datasets(self) -> list[str]:
        """Return the datasets that notebooks use, most used first."""
        notebooks = _Lines(self._folder / "notebooks.jsonl").by_key.values()
        named = (ref for line in notebooks for ref in set(line.get("datasets", ())))
        used = Counter(ref for ref in named if is_reference(ref))
        return sorted(used, key=lambda ref: (-used[ref], ref))

    def files(self, limits: FetchLimits) -> int:
        """Fetch submissions of the notebooks that the list has first, and files of used datasets."""
        store, fetched = CommunityFiles(self._kaggle, self._folder, limits.files_mb), 0
        for ref, version in self._listed[: limits.outputs]:
            if not store.knows_output(ref, version):
                fetched += bool(store.output(ref, version))
        with _Lines(self._folder / "datasets.jsonl") as lines:
            for ref in self._used_datasets()[: limits.datasets]:
                newest = max(lines.versions(ref), key=lambda line: line.get("version", 1), default=None)
                if newest is None or newest.get("path"):
                    continue
                if not store.refused_dataset(ref, newest.get("version", 1)):
                    fetched += self._files_of(ref, store, lines)
        store.close()
        return fetched

    def _files_of(self, ref: str, store: CommunityFiles, lines: _Lines) -> bool:
        """Fetch the files of a dataset; they are of the version that it has now."""
        for facts in self._datasets_named(ref.rsplit("/", maxsplit=1)[-1], ref):
            line = self._dataset(facts)
            path = store.dataset(ref, line["version"])
            if path:
                lines.put(line | {"path": path})
            return bool(path)
        return False

    def _dataset(self, facts: DatasetFacts) -> Line:
        return {
            "ref": facts.ref,
            "version": facts.version or 1,
            "title": facts.title,
            "published_at": _timestamp(facts.updated),
            "licence": facts.licence,
            "observed_at": self._now(),
        }

    def _now(self) -> str | None:
        return _timestamp(self._clock.now().replace(microsecond=0))


def _round_robin(lists: list[list[Any]], name: Callable[[Any], str]) -> Iterator[Any]:
    """Yield the first of each list, then the second of each, without duplicates."""
    seen = set()
    for place in range(max(map(len, lists), default=0)):
        for each in (items[place] for items in lists if place < len(items)):
            if name(each) not in seen:
                seen.add(name(each))
                yield each


def _same_run(lines: Iterable[Line], listed: NotebookFacts) -> Line | None:
    """Return the line of the run that is listed, if there is one."""
    for line in lines:
        same_version = listed.version is None or line.get("version") == listed.version
        same_time = listed.last_run is None or line.get("created_at") == _timestamp(listed.last_run)
        if same_version and same_time:
            return line
    return None


def _state(listed: TopicFacts) -> list[Any]:
    """Return what changes in the list when a discussion gets a comment."""
    return [_timestamp(listed.last_comment), listed.comments]


def _key(line: Line) -> str:
    return f"{line['ref']} {line.get('version', 1):09}" if "ref" in line else str(line.get("id", ""))


def _timestamp(moment: datetime | None) -> str | None:
    """Format a time so that texts sort as times do."""
    if moment is None:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
