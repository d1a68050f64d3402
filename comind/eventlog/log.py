"""Append events to a log, one synced JSON object per line, and verify its chained checksums.

A line is `{"seq", "at", "elapsed", "event", "check"}`. `check` covers the line and the check of the
line before it, so that a changed, missing or reordered line is detected on reading. An incomplete last
line, as a crash or a power failure leaves it, is truncated.

A log that is not `sealed` holds only the events: no sequence numbers, times or checksums.
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
from comind.system.disk import full_disk
from comind.system.files import append_durably

E = TypeVar("E", bound=BaseModel)

_CHECK = ',"check":"'
_CHECK_DIGITS = 16
_NO_TIME = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Record(Generic[E]):
    """One line of a log.

    `elapsed` is the running time of the writer in seconds, over all its restarts. Read from a log that
    is not sealed, a record has its line's number, `elapsed` 0 and the epoch as `at`.
    """

    seq: int
    at: datetime
    elapsed: float
    event: E


@dataclass(slots=True)
class LogTail(Generic[E]):
    """Reads a log incrementally, also while another process writes it."""

    path: Path
    events: TypeAdapter[E]
    sealed: bool = field(default=True, kw_only=True)
    offset: int = field(default=0, init=False)
    """Bytes of complete, verified lines read so far."""
    seq: int = field(default=0, init=False)
    """Number of these lines."""
    check: str = field(default="", init=False)
    """Checksum of the last of them."""

    def read(self) -> Iterator[Record[E]]:
        """Yield the records that were completed since the last call.

        Raises:
            LogError: a line was changed, removed or reordered.
        """
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for line in file:
                blank = line.strip(b"\0\n") == b""
                if not line.endswith(b"\n") or (blank and not file.peek(1)):
                    return  # being written, or torn by a crash (zeros: by a power failure)
                yield self._verified(line)

    def _verified(self, line: bytes) -> Record[E]:
        try:
            if self.sealed:
                record, check = self._unsealed(line)
            else:
                record, check = Record(self.seq, _NO_TIME, 0.0, self.events.validate_json(line)), ""
        except ValidationError as error:
            problem = error.errors()[0]
            raise LogError(
                f"{self.path}, line {self.seq + 1}: not an event of this version ({problem['msg']})",
                hint="use the version of CoMind that started the campaign",
            ) from None
        self.offset += len(line)
        self.seq += 1
        self.check = check
        return record

    def _unsealed(self, line: bytes) -> tuple[Record[E], str]:
        text = line.decode(errors="replace").rstrip("\n")
        body, found, rest = text.rpartition(_CHECK)
        body, check = (body + "}", rest.removesuffix('"}')) if found else (text, "")
        if check != _checksum(self.check, body):
            raise LogError(
                f"{self.path}, line {self.seq + 1}: checksum mismatch; the log was changed",
                hint="restore it from the campaign's git ref, refs/comind/<campaign>",
            )
        fields: dict[str, Any] = json.loads(body)
        if fields["seq"] != self.seq:
            raise LogError(f"{self.path}, line {self.seq + 1}: has the sequence number {fields['seq']}")
        event = self.events.validate_python(fields["event"], strict=False)
        at = datetime.fromisoformat(fields["at"])
        return Record(fields["seq"], at, fields["elapsed"], event), check


def read_log(path: Path, events: TypeAdapter[E]) -> list[Record[E]]:
    """Return the records of a log without an incomplete last line.

    Raises:
        LogError: a line was changed, removed or reordered.
    """
    return list(LogTail(path, events).read())


def is_written(path: Path) -> bool:
    """Return whether a process holds the writer's lock of the log at `path`."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


class EventLog(Generic[E]):
    """The single writer of a log; thread-safe, and a context manager."""

    def __init__(
        self,
        path: Path,
        events: TypeAdapter[E],
        *,
        elapsed: float = 0.0,
        sealed: bool = True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open or create the log at `path`, take the writer's lock and truncate an incomplete last line.

        Args:
            path: the log.
            events: type of its events.
            elapsed: lower bound of the running time so far, in seconds.
            sealed: whether lines have sequence numbers, times and checksums.
            now: monotonic clock in seconds.

        Raises:
            CampaignError: another process writes this log.
            LogError: a line was changed, removed or reordered.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
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
                hint="wait for it to end, or stop it, before resuming",
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

    def add_time(self, seconds: float) -> None:
        """Count seconds before the log was opened as running time, too."""
        self._clock_base += seconds

    def append(self, event: E) -> Record[E]:
        """Append `event` durably and return its record.

        Raises:
            DiskError: the disk is full; the event was not written.
            OSError: the disk is failing; the event was not written.
        """
        with self._lock:
            record = Record(self._next, datetime.now(UTC), round(self.elapsed, 3), event)
            line, check = self._line(record)
            start = os.lseek(self._descriptor, 0, os.SEEK_END)
            try:
                append_durably(self._descriptor, line)
            except OSError as error:
                os.ftruncate(self._descriptor, start)  # shrinking works on a full disk, too
                raise full_disk(error, self.path, "the log") or error from None
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


def _checksum(previous: str, body: str) -> str:
    return hashlib.sha256((previous + body).encode(errors="replace")).hexdigest()[:_CHECK_DIGITS]
