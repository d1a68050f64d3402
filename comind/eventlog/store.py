"""Keep a log together with the state that is folded from it."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

from comind.eventlog.log import EventLog, LogTail, Record

S = TypeVar("S")
E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class LogSchema(Generic[S, E]):
    """The type of a log's events, the format of its lines, and the reducer of its state."""

    events: TypeAdapter[E]
    initial: S
    """State before the first event; immutable."""
    apply: Callable[[S, Record[E]], S]
    """Returns the state after one more record; raises `LogError` where the record contradicts it."""
    sealed: bool = True
    """Whether lines have sequence numbers, times and checksums; else they are only the events."""

    def fold(self, records: Iterable[Record[E]]) -> S:
        """Return the state after `records`, which may be any prefix of a log."""
        return reduce(self.apply, records, self.initial)

    def read(self, path: Path) -> S:
        """Return the state of a log without a lock, also while another process writes it.

        Raises:
            LogError: the log was changed, or its records contradict each other.
        """
        return self.fold(LogTail(path, self.events, sealed=self.sealed).read())


class StateTail(Generic[S, E]):
    """Reads a log incrementally, as `LogTail` does, and keeps the state after what was read."""

    def __init__(self, path: Path, schema: LogSchema[S, E]) -> None:
        self.state = schema.initial
        self._apply = schema.apply
        self._tail = LogTail(path, schema.events, sealed=schema.sealed)

    def read(self) -> Iterator[Record[E]]:
        """Apply the records that were completed since the last call, and yield each afterwards."""
        for record in self._tail.read():
            self.state = self._apply(self.state, record)
            yield record

    def update(self) -> S:
        """Apply these records at once; return the state."""
        for _ in self.read():
            pass
        return self.state


class EventStore(EventLog[E], Generic[S, E]):
    """The single writer of a log and of its state; a context manager."""

    def __init__(
        self,
        path: Path,
        schema: LogSchema[S, E],
        *,
        elapsed: float = 0.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open or create the log at `path`; arguments and errors as of `EventLog`.

        Raises:
            LogError: also where the records contradict each other.
        """
        super().__init__(path, schema.events, elapsed=elapsed, sealed=schema.sealed, now=now)
        self._apply = schema.apply
        try:
            self.state = schema.fold(self.records)
        except BaseException:
            self.close()
            raise

    def append(self, event: E) -> Record[E]:
        """Append `event` durably, apply it to the state, and return its record.

        Raises:
            OSError: the disk is full or failing; the state is unchanged.
        """
        record = super().append(event)
        self.state = self._apply(self.state, record)
        return record

    def record(self, event: E) -> S:
        """Append `event` and return the state after it."""
        self.append(event)
        return self.state
