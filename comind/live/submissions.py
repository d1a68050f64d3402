"""Submissions to worlds, kept as they came: a line when one is accepted, a line when it is graded.

<folder>/submissions.jsonl    only ever appended to; a torn last line is a submission that never was
<folder>/files/<ref>.csv      what was handed in
"""

import threading
from datetime import datetime
from pathlib import Path
from typing import Literal

from immutables import Map
from pydantic import TypeAdapter

from comind.domain.value import Value
from comind.errors import CampaignError, LiveError
from comind.eventlog.log import Record
from comind.eventlog.store import EventStore, LogSchema
from comind.live.scoring import Marks
from comind.system.files import write_atomically

__all__ = ["Submission", "SubmissionBook"]


class Submission(Value):
    """One file that somebody handed in; `marks` is the world's secret until it tells."""

    ref: int
    competition: str
    user: str
    at: datetime
    """By the world's clock."""
    file_name: str
    description: str = ""
    total_bytes: int = 0
    marks: Marks | None = None

    @property
    def status(self) -> Literal["pending", "complete", "error"]:
        """How far it is."""
        if self.marks is None:
            return "pending"
        return "complete" if self.marks.valid else "error"


class SubmissionBook:
    """All submissions in one folder, of many worlds; safe to use from many threads of one process."""

    def __init__(self, folder: Path) -> None:
        """Read what is there, or begin.

        Raises:
            LiveError: another process writes to this folder.
        """
        self._files = folder / "files"
        self._files.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._store = EventStore(folder / "submissions.jsonl", _BOOK)
        except CampaignError:
            raise LiveError(
                f"{folder}: another server keeps its submissions there", hint="name another with --out"
            ) from None

    def file_of(self, ref: int) -> Path:
        """Return where the file of a submission lies."""
        return self._files / f"{ref}.csv"

    def accept(self, submission: Submission, content: bytes) -> Submission:
        """Keep a new submission under the next number, which is put into it."""
        with self._lock:
            ref = max(self._store.state, default=0) + 1
            kept = submission.model_copy(update={"ref": ref, "total_bytes": len(content)})
            write_atomically(self.file_of(ref), content)
            self._store.record(kept)
        return kept

    def grade(self, ref: int, marks: Marks) -> None:
        """Note what a submission scores."""
        with self._lock:
            self._store.record(self._store.state[ref].model_copy(update={"marks": marks}))

    def of(self, competition: str, user: str | None = None) -> list[Submission]:
        """Return the submissions to a competition, oldest first, of one user or of all."""
        found = sorted(self._store.state.values(), key=lambda submission: submission.ref)
        return [s for s in found if s.competition == competition and user in (None, s.user)]

    def find(self, ref: int) -> Submission | None:
        """Return a submission by its number."""
        return self._store.state.get(ref)

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()


def _apply(state: Map[int, Submission], record: Record[Submission]) -> Map[int, Submission]:
    return state.set(record.event.ref, record.event)


_BOOK = LogSchema(TypeAdapter(Submission), Map[int, Submission](), _apply, sealed=False)
