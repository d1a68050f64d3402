"""Append-only logs: one JSON object a line, synced, each line sealed by a chained checksum.

A line is `{"seq", "at", "elapsed", "event", "check"}`. `check` covers the line and the check of the
line before it, so a changed, missing or reordered line is found when the log is read. What a kill
or a power cut can leave behind, an unfinished last line, is recognised and dropped.

A log that is not `sealed` holds the bare events: no numbers, no times, no checksums.
"""

import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from comind.errors import CampaignError, LogError
from comind.system.files import append_durably

__all__ = ["EventLog", "LogTail", "Record", "is_written", "read_log"]

E = TypeVar("E", bound=BaseModel)

_CHECK = ',"check":"'
_CHECK_DIGITS = 16
_NO_TIME = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Record(Generic[E]):
    """One line of a log.

    `elapsed` counts the seconds that the owner of the log has been running, over all its restarts.
    One that is read from a log of bare events has its line's number, `elapsed` 0 and the epoch as `at`.
    """

    seq: int
    at: datetime
    elapsed: float
    event: E


@dataclass(slots=True)
class LogTail(Generic[E]):
    """Reads a log that someone else may be writing, each record once."""

    path: Path
    events: TypeAdapter[E]
    sealed: bool = field(default=True, kw_only=True)
    offset: int = field(default=0, init=False)
    """Bytes of whole, verified lines read so far."""
    seq: int = field(default=0, init=False)
    """How many lines these are."""
    check: str = field(default="", init=False)
    """Checksum of the last one."""

    def read(self) -> Iterator[Record[E]]:
        """Yield the records that were completed since the last call.

        Raises:
            LogError: a line is not what was written, or not in its place.
        """
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for line in file:
                blank = line.strip(b"\0\n") == b""
                if not line.endswith(b"\n") or (blank and not file.peek(1)):
                    return  # still being written, or torn by a crash (zeros: by a power cut)
                yield self._verified(line)

    def _verified(self, line: bytes) -> Record[E]:
        try:
            record, check = self._unsealed(line) if self.sealed else self._bare(line)
        except ValidationError as error:
            problem = error.errors()[0]
            raise LogError(
                f"{self.path}, line {self.seq + 1}: not an event of this version ({problem['msg']})",
                hint="go on with the version of CoMind that started the campaign",
            ) from None
        self.offset += len(line)
        self.seq += 1
        self.check = check
        return record

    def _bare(self, line: bytes) -> tuple[Record[E], str]:
        return Record(self.seq, _NO_TIME, 0.0, self.events.validate_json(line)), ""

    def _unsealed(self, line: bytes) -> tuple[Record[E], str]:
        body, check = _split_check(line)
        if check != _checksum(self.check, body):
            raise LogError(
                f"{self.path}, line {self.seq + 1}: the checksum does not fit; the log was changed",
                hint="restore it from the campaign's git ref, refs/comind/<campaign>",
            )
        fields: dict[str, Any] = json.loads(body)
        if fields["seq"] != self.seq:
            raise LogError(f"{self.path}, line {self.seq + 1}: has the number {fields['seq']}")
        event = self.events.validate_python(fields["event"], strict=False)
        at = datetime.fromisoformat(fields["at"])
        return Record(fields["seq"], at, fields["elapsed"], event), check


def read_log(path: Path, events: TypeAdapter[E]) -> list[Record[E]]:
    """Return the records of a log; a torn tail is left out.

    Raises:
        LogError: a line is not what was written, or not in its place.
    """
    return list(LogTail(path, events).read())


def is_written(path: Path) -> bool:
    """Whether a process is writing the log at `path`; looks at the writer's lock alone."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


class EventLog(Generic[E]):
    """The one writer of a log; safe to share between threads."""

    def __init__(
        self,
        path: Path,
        events: TypeAdapter[E],
        *,
        elapsed: float = 0.0,
        sealed: bool = True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the log at `path`, made where there is none; drop a torn tail and take the writer's lock.

        The clock, which runs as `now` does, goes on at `elapsed` where that is later than the last
        record's time.

        Raises:
            CampaignError: another process writes this log.
            LogError: a line is not what was written, or not in its place.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._events = events
        self._sealed = sealed
        self._lock = threading.Lock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise CampaignError(
                f"{path} is being written by another process",
                hint="wait for it to end, or end it, before resuming",
            ) from None
        try:
            tail = LogTail(path, events, sealed=sealed)
            self.records = list(tail.read())
            os.ftruncate(self._descriptor, tail.offset)
        except LogError:
            os.close(self._descriptor)
            raise
        self._check = tail.check
        self._next = len(self.records)
        last = self.records[-1].elapsed if self.records else 0.0
        self._now = now
        self._clock_base = max(last, elapsed) - now()

    @property
    def elapsed(self) -> float:
        """Seconds that the owner of this log has been running, over all its restarts."""
        return self._now() + self._clock_base

    def append(self, event: E) -> Record[E]:
        """Write `event` and return its record once it is on disk.

        Raises:
            OSError: the disk is full or failing; the event does not count as written.
        """
        with self._lock:
            record = Record(self._next, datetime.now(UTC), round(self.elapsed, 3), event)
            line, check = self._line(record)
            start = os.lseek(self._descriptor, 0, os.SEEK_END)
            try:
                append_durably(self._descriptor, line)
            except OSError:
                os.ftruncate(self._descriptor, start)  # shrinking works on a full disk, too
                raise
            self._check = check
            self._next += 1
        return record

    def _line(self, record: Record[E]) -> tuple[bytes, str]:
        """Return the line of a record, and its checksum."""
        event = self._events.dump_json(record.event).decode()
        if not self._sealed:
            return f"{event}\n".encode(), ""
        body = (
            f'{{"seq":{record.seq},"at":"{record.at.isoformat()}",'
            f'"elapsed":{record.elapsed!r},"event":{event}}}'
        )
        check = _checksum(self._check, body)
        return f'{body[:-1]}{_CHECK}{check}"}}\n'.encode(), check

    def close(self) -> None:
        """Release the writer's lock."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _split_check(line: bytes) -> tuple[str, str]:
    text = line.decode(errors="replace").rstrip("\n")
    body, found, rest = text.rpartition(_CHECK)
    return (body + "}", rest.removesuffix('"}')) if found else (text, "")


def _checksum(previous: str, body: str) -> str:
    return hashlib.sha256((previous + body).encode(errors="replace")).hexdigest()[:_CHECK_DIGITS]
