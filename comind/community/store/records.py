"""Convert a community's items into records: content once, and observations with their times."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comind.community.copying import copy_files
from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Remark,
)
from comind.community.lines_of_one import Voted, comments_of, observations_of, votes_of
from comind.community.store.manifest import Dropped
from comind.community.store.schema import RECORD_KINDS
from comind.community.store.source_code import SourceCodeStore
from comind.domain.value import Value
from comind.system.files import hash_tree

_Rows = dict[str, dict[str, dict[str, Any]]]
"""Rows by kind and deduplication key."""


class RecordCollector:
    """Collects the records of one folder, to which paths of datasets are relative.

    Source code and files of datasets are copied into the store in `root` at once.
    """

    def __init__(self, competition: str, root: Path, folder: Path) -> None:
        self._competition = competition
        self._root = root
        self._folder = folder
        self._source_code = SourceCodeStore(root, None)
        self._rows: _Rows = {kind: {} for kind in RECORD_KINDS}
        self.dropped: list[Dropped] = []
        self.observed_at: datetime | None = None
        """The latest time of an item; one that is still to come was not observed."""
        self._now = datetime.now(UTC)

    def add(self, items: CommunityItems) -> None:
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
        """Report something as dropped."""
        self.dropped.append(Dropped(what=what, reason=reason, count=count))

    def write(self, kind: str, path: Path) -> None:
        """Write the records of a kind as JSON Lines."""
        rows = self._rows[kind].values()
        path.write_text("".join(json.dumps(row, default=_timestamp) + "\n" for row in rows))

    def _remark(self, remark: Remark) -> None:
        place = remark.name or ("" if remark.line is None else f"line {remark.line}")
        self.drop(f"{remark.file}, {place}" if place else remark.file, remark.reason)

    def _notebook(self, item: NotebookItem) -> None:
        row = self._row("notebooks", item)
        row["code"] = self._source_code.add(item.source) if item.source else None
        self._put_voted("notebooks", (item.ref, item.version), item, row)
        scored = f"score:{self._competition}/{item.ref}"
        self._votes_and_tiers("notebook:" + item.ref, item)
        for seen in observations_of(item):
            if seen.public_score is not None:
                self._observe(scored, seen.at, version=item.version, score=seen.public_score)

    def _discussion(self, item: DiscussionItem) -> None:
        self._put_voted("discussions", (item.id,), item, self._row("discussions", item))
        self._votes_and_tiers(f"discussion:{self._competition}/{item.id}", item)
        for comment in comments_of(item):
            self._comment(item.id, comment)

    def _comment(self, discussion: str, item: CommentItem) -> None:
        row = self._row("comments", item) | {"discussion": discussion}
        self._put_voted("comments", (discussion, item.id), item, row)
        self._votes_and_tiers(f"comment:{self._competition}/{discussion}/{item.id}", item)

    def _dataset(self, item: DatasetItem) -> None:
        row = self._row("datasets", item)
        row |= {"path": self._files(item), "since": item.at, "seen_at": None}
        self._put("datasets", (item.ref, item.version, item.at), row)

    def _row(self, kind: str, item: Value) -> dict[str, Any]:
        """Return the columns of a kind of record that are fields of an item."""
        return item.model_dump(include=set(RECORD_KINDS[kind].columns)) | {
            "competition": self._competition
        }

    def _files(self, item: DatasetItem) -> str | None:
        """Copy a dataset's files into the store; returns their path below it."""
        if item.path is None:
            return None
        staged = self._root / "files" / "staged"
        shutil.rmtree(staged, ignore_errors=True)  # left by a killed import
        reason = copy_files(self._folder, item.path, staged)
        if reason:
            self.drop(f"datasets.jsonl, {item.ref}", f"its files are left out: {reason}")
            return None
        name = hash_tree(staged)
        target = staged.with_name(name)
        try:
            staged.rename(target)
        except OSError:  # the same content exists
            shutil.rmtree(staged)
        # A single file is mounted as a folder that holds it.
        return f"files/{name}"

    def _put_voted(
        self, kind: str, identity: tuple[object, ...], item: Voted, row: dict[str, Any]
    ) -> None:
        """Collect a row with its times."""
        row["votes_dated"] = item.vote_times is not None
        row["since"] = item.at
        seen = max((each.at for each in item.observed if each.at), default=None)
        row["seen_at"] = seen
        times = (time for time in (self.observed_at, seen, item.at) if time and time <= self._now)
        self.observed_at = max(times, default=None)
        self._put(kind, (*identity, item.at), row)

    def _put(self, kind: str, key: tuple[object, ...], row: dict[str, Any]) -> None:
        """Collect a row; duplicates of the same thing at the same time are dropped."""
        rows = self._rows[kind]
        name = repr(key)
        if name in rows:
            self.drop(f"{kind}, {key[0]}", "is there twice in the same version; the first is used")
        rows.setdefault(name, row)

    def _votes_and_tiers(self, target: str, item: Voted) -> None:
        """Collect votes and tiers, each with the time from which it counts."""
        for voter, since in votes_of(item):
            vote = {"target": target, "voter": voter, "since": since}
            self._rows["votes"][repr(vote)] = vote
        for seen in observations_of(item):
            if seen.votes is not None or seen.author_tier:
                self._observe(target, seen.at, votes=seen.votes, tier=seen.author_tier or None)

    def _observe(self, target: str, at: datetime | None, **seen: object) -> None:
        row = {"target": target, "since": at, **seen}
        self._rows["observations"][repr(row)] = row


def _timestamp(value: datetime) -> str:
    """Return a UTC time as an SQL timestamp."""
    return value.replace(tzinfo=None).isoformat(sep=" ")
