"""One event store: a log with the state that it folds to, written by one and read by anyone."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

from comind.eventlog.log import EventLog, LogTail, Record

__all__ = ["EventStore", "LogSchema"]

S = TypeVar("S")
E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class LogSchema(Generic[S, E]):
    """What the events of a log are, how they stand in its lines, and what state they amount to."""

    events: TypeAdapter[E]
    initial: S
    """The state before the first event; no `apply` changes it."""
    apply: Callable[[S, Record[E]], S]
    """Returns the state after one more record; raises `LogError` where it contradicts the state."""
    sealed: bool = True
    """Whether a line has a number, times and a checksum; else it is the bare event."""

    def fold(self, records: Iterable[Record[E]]) -> S:
        """Return the state after `records`; any prefix of a log has one."""
        return reduce(self.apply, records, self.initial)

    def read(self, path: Path) -> S:
        """Return the state of a log that someone else may be writing; takes no lock.

        Raises:
            LogError: the log was changed, or its records contradict each other.
        """
        return self.fold(LogTail(path, self.events, sealed=self.sealed).read())


class EventStore(EventLog[E], Generic[S, E]):
    """The only writer of a log and of the state that it folds to; to be closed, or used as a block."""

    def __init__(
        self,
        path: Path,
        schema: LogSchema[S, E],
        *,
        elapsed: float = 0.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the log at `path`, or an empty one; its clock runs as `now` does, on from `elapsed`.

        Raises:
            CampaignError: another process writes it.
            LogError: it was changed, or its records contradict each other.
        """
        super().__init__(path, schema.events, elapsed=elapsed, sealed=schema.sealed, now=now)
        self._apply = schema.apply
        try:
            self.state = schema.fold(self.records)
        except BaseException:
            self.close()
            raise

    def append(self, event: E) -> Record[E]:
        """Write `event`, apply it, and return its record.

        Raises:
            OSError: the disk is full or failing; the state stays as it was.
        """
        record = super().append(event)
        self.state = self._apply(self.state, record)
        return record

    def record(self, event: E) -> S:
        """Write `event` as `append` does, and return the state after it."""
        self.append(event)
        return self.state
