"""Store submissions in an append-only event log: one record when accepted, one when graded.

<folder>/submissions.jsonl    the log; a torn last line is an unacknowledged submission, and dropped
<folder>/files/<ref>.csv      submitted files
"""

import shutil
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
from comind.live.scoring import GradingResult
from comind.system.files import atomic_file


class Submission(Value):
    """A submitted file; `marks` holds all scores, which the world redacts before the deadline."""

    ref: int
    competition: str
    user: str
    at: datetime
    """In simulated time."""
    file_name: str
    description: str = ""
    total_bytes: int = 0
    marks: GradingResult | None = None

    @property
    def status(self) -> Literal["pending", "complete", "error"]:
        """Kaggle's status of the submission."""
        if self.marks is None:
            return "pending"
        return "complete" if self.marks.valid else "error"


class SubmissionStore:
    """The submissions to all competitions of one server; thread-safe, locked against other processes."""

    def __init__(self, folder: Path) -> None:
        """Open the log, or create it.

        Raises:
            LiveError: another process has it open.
        """
        self._files = folder / "files"
        self._files.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._log = EventStore(folder / "submissions.jsonl", _SCHEMA)
        except CampaignError:
            raise LiveError(
                f"{folder}: another server stores its submissions there", hint="name another with --out"
            ) from None

    def path(self, ref: int) -> Path:
        """Return the path of a submitted file."""
        return self._files / f"{ref}.csv"

    def accept(self, submission: Submission, file: Path) -> Submission:
        """Store a new submission, whose file is copied; returns it with the next `ref`."""
        with self._lock:
            ref = max(self._log.state, default=0) + 1
            size = file.stat().st_size
            kept = submission.model_copy(update={"ref": ref, "total_bytes": size})
            with file.open("rb") as source, atomic_file(self.path(ref)) as target:
                shutil.copyfileobj(source, target)
            self._log.record(kept)
        return kept

    def grade(self, ref: int, marks: GradingResult) -> None:
        """Store the scores of a submission."""
        with self._lock:
            self._log.record(self._log.state[ref].model_copy(update={"marks": marks}))

    def select(self, competition: str, user: str | None = None) -> list[Submission]:
        """Return the submissions to a competition, oldest first, of one user or of all."""
        found = sorted(self._log.state.values(), key=lambda submission: submission.ref)
        return [s for s in found if s.competition == competition and user in (None, s.user)]

    def find(self, ref: int) -> Submission | None:
        """Return a submission by its `ref`, or None."""
        return self._log.state.get(ref)

    def close(self) -> None:
        """Close the log."""
        self._log.close()


def _apply(state: Map[int, Submission], record: Record[Submission]) -> Map[int, Submission]:
    return state.set(record.event.ref, record.event)


_SCHEMA = LogSchema(TypeAdapter(Submission), Map[int, Submission](), _apply, sealed=False)
