"""Imports of community folders, whoever filled them, and of listings, which know no code."""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from comind.community.files import copy_files
from comind.community.folder import read_community
from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Remark,
)
from comind.community.lines import NotebookLine
from comind.community.store.code import Programs
from comind.community.store.engine import Engine
from comind.community.store.importing import Source, Staged
from comind.community.store.manifest import Dropped
from comind.community.store.schema import KINDS
from comind.errors import CommunityError, SubmissionError
from comind.system.files import hash_file, hash_tree, read_untrusted

__all__ = ["folder_source", "listing_source"]

_LISTING_BYTES = 1 << 30
_NO_CODE = "has no code, so it can be counted and not read"

Rows = dict[str, dict[str, dict[str, Any]]]
"""Rows by kind, each once: under a key that tells them apart."""


def folder_source(folder: Path, competition: str, root: Path) -> Source:
    """Return a community folder as something to import into the store in `root`.

    Raises:
        CommunityError: the folder, or one of its files as a whole, is not what it should be.
    """
    items = read_community(folder)
    digest = hashlib.sha256(f"folder {competition} {hash_tree(folder)}".encode()).hexdigest()

    def stage(engine: Engine, staging: Path) -> Staged:
        reader = _Records(competition, root, folder)
        reader.take(items)
        return _staged(engine, staging, reader)

    return Source("folder", digest, stage, competition)


def listing_source(file: Path, competition: str, root: Path) -> Source:
    """Return a listing of notebooks as something to import into the store in `root`.

    Raises:
        CommunityError: the file is no list of notebooks.
    """
    items = _listed(file)
    digest = hashlib.sha256(f"listing {competition} {hash_file(file)}".encode()).hexdigest()

    def stage(engine: Engine, staging: Path) -> Staged:
        reader = _Records(competition, root, file.parent)
        reader.take(items)
        if items.notebooks:
            reader.drop("notebooks.code", _NO_CODE, len(items.notebooks))
        return _staged(engine, staging, reader)

    return Source("listing", digest, stage, competition)


def _staged(engine: Engine, staging: Path, reader: "_Records") -> Staged:
    for kind, described in KINDS.items():
        path = staging / f"{kind}.jsonl"
        rows = reader.rows[kind].values()
        path.write_text("".join(json.dumps(row, default=_told) + "\n" for row in rows))
        columns = described.columns | {"since": "TIMESTAMP", "seen_at": "TIMESTAMP"}
        engine.json(f"new_{kind}", path, columns)
    return Staged(tuple(KINDS), tuple(reader.dropped), reader.observed_at)


def _told(value: datetime) -> str:
    return value.replace(tzinfo=None).isoformat(sep=" ")


class _Records:
    """Collects the records of one folder."""

    def __init__(self, competition: str, root: Path, folder: Path) -> None:
        self._competition = competition
        self._root = root
        self._folder = folder
        self._programs = Programs(root, None)
        self.rows: Rows = {kind: {} for kind in KINDS}
        self.dropped: list[Dropped] = []
        self.observed_at: datetime | None = None

    def take(self, items: CommunityItems) -> None:
        """Collect the records of all items."""
        for remark in items.remarks:
            self._remark(remark)
        for notebook in items.notebooks:
            self._notebook(notebook)
        for discussion in items.discussions:
            self._discussion(discussion)
        for dataset in items.datasets:
            self._dataset(dataset)

    def drop(self, what: str, reason: str, count: int = 1) -> None:
        """Note what was not taken."""
        self.dropped.append(Dropped(what=what, reason=reason, count=count))

    def _remark(self, remark: Remark) -> None:
        place = remark.name or ("" if remark.line is None else f"line {remark.line}")
        self.drop(f"{remark.file}, {place}" if place else remark.file, remark.reason)

    def _notebook(self, item: NotebookItem) -> None:
        row = {
            "competition": self._competition,
            "ref": item.ref,
            "version": item.version,
            "title": item.title,
            "author": item.author,
            "created_at": item.created_at,
            "language": item.language,
            "code": self._programs.keep(item.source) if item.source else None,
            "datasets": item.datasets,
            "notebooks": item.notebooks,
            "forked_from": item.forked_from,
        }
        if self._once("notebooks", (item.ref, item.version), item, row):
            self._known("notebook:" + item.ref, item, item.author_tier)
            scored = f"score:{self._competition}/{item.ref}"
            if item.public_score is not None:
                self._observe(scored, item.at, version=item.version, score=item.public_score)
            for seen in item.observed:
                if seen.public_score is not None:
                    self._observe(scored, seen.at, version=item.version, score=seen.public_score)

    def _discussion(self, item: DiscussionItem) -> None:
        row = {
            "competition": self._competition,
            "id": item.id,
            "title": item.title,
            "author": item.author,
            "created_at": item.created_at,
            "body": item.body,
        }
        if self._once("discussions", (item.id,), item, row):
            self._known(f"discussion:{self._competition}/{item.id}", item, item.author_tier)
            for comment in item.comments:
                self._comment(item.id, comment)

    def _comment(self, discussion: str, item: CommentItem) -> None:
        row = {
            "competition": self._competition,
            "discussion": discussion,
            "id": item.id,
            "parent": item.parent,
            "author": item.author,
            "created_at": item.created_at,
            "body": item.body,
        }
        if self._once("comments", (discussion, item.id), item, row):
            self._known(f"comment:{self._competition}/{discussion}/{item.id}", item, "")

    def _dataset(self, item: DatasetItem) -> None:
        row = {
            "competition": self._competition,
            "ref": item.ref,
            "version": item.version,
            "title": item.title,
            "path": self._files(item),
            "licence": item.licence,
            "since": item.at,
            "seen_at": None,
        }
        self._put("datasets", (item.ref, item.version, item.at), row)

    def _files(self, item: DatasetItem) -> str | None:
        """Copy a dataset's files into the store; returns where they lie below it."""
        if item.path is None:
            return None
        staged = self._root / "files" / "staged"
        reason = copy_files(self._folder, item.path, staged)
        if reason:
            self.drop(f"datasets.jsonl, {item.ref}", f"its files are left out: {reason}")
            return None
        name = hash_tree(staged)
        target = staged.with_name(name)
        try:
            staged.rename(target)
        except OSError:  # they are there already
            for path in sorted(staged.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            staged.rmdir()
        # A single file is mounted as a folder that holds it.
        return f"files/{name}"

    def _once(
        self,
        kind: str,
        identity: tuple[object, ...],
        item: NotebookItem | DiscussionItem | CommentItem,
        row: dict[str, Any],
    ) -> bool:
        row["votes_dated"] = item.vote_times is not None
        row["since"] = item.at
        seen = max((each.at for each in item.observed if each.at), default=None)
        row["seen_at"] = seen
        self.observed_at = max((t for t in (self.observed_at, seen, item.at) if t), default=None)
        return self._put(kind, (*identity, item.at), row)

    def _put(self, kind: str, key: tuple[object, ...], row: dict[str, Any]) -> bool:
        """Keep a row; the first of two about the same thing at the same time is the one."""
        rows = self.rows[kind]
        name = repr(key)
        if name in rows:
            self.drop(f"{kind}, {key[0]}", "is there twice in the same version; the first is used")
            return False
        rows[name] = row
        return True

    def _known(self, target: str, item: NotebookItem | DiscussionItem | CommentItem, tier: str) -> None:
        """Keep votes and tiers, each from the time on that it has."""
        counted: dict[datetime, int] = {}
        for time in item.vote_times or ():
            counted[time] = counted.get(time, 0) + 1
            vote = {"target": target, "voter": f"{_told(time)} #{counted[time]}", "since": time}
            self.rows["votes"][repr(vote)] = vote
        if tier or (item.vote_times is None and item.votes):
            self._observe(target, None, votes=item.votes or None, tier=tier or None)
        for seen in item.observed:
            if seen.votes is not None or seen.author_tier:
                self._observe(target, seen.at, votes=seen.votes, tier=seen.author_tier or None)

    def _observe(self, target: str, at: datetime | None, **seen: object) -> None:
        row = {"target": target, "since": at, **seen}
        self.rows["observations"][repr(row)] = row


def _listed(file: Path) -> CommunityItems:
    try:
        entries = TypeAdapter(list[dict[str, Any]]).validate_json(
            read_untrusted(file.parent, file.name, limit=_LISTING_BYTES)
        )
    except (SubmissionError, OSError, ValueError):
        raise CommunityError(
            f"{file}: is no list of notebooks", hint="a JSON list of objects with ref and last_run_time"
        ) from None
    notebooks, remarks = [], []
    for number, entry in enumerate(entries, start=1):
        try:
            line = NotebookLine.model_validate(dict(_named(entry)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            reason = f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
            remarks.append(Remark(file=file.name, line=number, reason=reason))
        else:
            notebooks.append(line.item(""))
    return CommunityItems(notebooks=tuple(notebooks), remarks=tuple(remarks))


def _named(entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a listing tells, by our names; it does not know which version it is about."""
    names = {
        "ref": "ref",
        "title": "title",
        "author": "author",
        "last_run_time": "created_at",
        "total_votes": "votes",
        "language": "language",
        "observed_at": "observed_at",
    }
    yield "version", 0
    for key, ours in names.items():
        if entry.get(key) is not None:
            yield ours, entry[key]
