"""Send alerts about the events of a log, in the background, each once.

`alerts.json` beside the log has the number of the last event with a delivered alert, so that a later run
sends what is new and what was not delivered. A run never waits for a service, except for some seconds at
its end, and never fails because of one.
"""

import json
import logging
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel

from comind.adapters.notify.alert_params import AlertEvent, AlertParams
from comind.adapters.notify.channels import Alert, Channel
from comind.errors import OrchestrationError
from comind.eventlog.store import LogSchema, StateTail
from comind.system.files import write_atomically

_log = logging.getLogger(__name__)
_ERROR_LENGTH = 300

S = TypeVar("S")
E = TypeVar("E", bound=BaseModel)


class LogAlerts(ABC, Generic[S, E]):
    """Sends the alerts of one log; a context manager around the run that writes it."""

    def __init__(
        self,
        log: Path,
        schema: LogSchema[S, E],
        params: AlertParams,
        *,
        emit: Callable[[Alert], None] | None = None,
        warn: Callable[[str], None] = _log.warning,
        backoff_seconds: float = 2.0,
        patience_seconds: float = 20.0,
    ) -> None:
        """Start after the last event that the log has now, or that had its alert before.

        `emit` gets all alerts at once, whichever `params` ask for.
        `warn` gets a line for each delivery that fails twice, `backoff_seconds` apart. The end of the
        block waits for `patience_seconds` at most.

        Raises:
            UsageError: a URL of `params` is of no service, or an environment variable is missing.
        """
        self._wanted = params.events if params.urls else ()
        self._channels = [
            Channel(url.get_secret_value(), f"alerts.urls.{number}", backoff_seconds=backoff_seconds)
            for number, url in enumerate(params.urls)
        ]
        self._emit, self._warn, self._patience = emit, warn, patience_seconds
        self._log = StateTail(log, schema)
        self._marker = log.with_name("alerts.json")
        self._queue: queue.Queue[tuple[int, Alert] | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        if self._follows:
            self._seq = self._after = self._start() if self._wanted else self._last()

    @abstractmethod
    def _called_for(self, before: S, event: E, after: S) -> tuple[AlertEvent, str] | None:
        """Return kind and text of the alert that an event between two states calls for."""

    @abstractmethod
    def _facts(self, state: S) -> dict[str, Any]:
        """Return the fields of an alert that follow from the state."""

    def sync(self) -> None:
        """Queue alerts about the log's new events; returns at once."""
        if not self._follows:
            return
        before = self._log.state
        for record in self._log.read():
            self._seq, after = record.seq, self._log.state
            called_for = self._called_for(before, record.event, after)
            if called_for is not None and record.seq > self._after:
                self._add(*called_for)
            before = after

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Alert of an error, except of an interrupt by the user; wait for queued alerts."""
        self.sync()
        if isinstance(error, Exception):
            reason = " ".join(str(error).split())[:_ERROR_LENGTH]
            self._add("failed", f"failed: {type(error).__name__}: {reason}")
        if self._thread is None:
            return
        self._queue.put(None)
        self._thread.join(self._patience)
        if self._thread.is_alive():
            self._warn(f"alerts: not all were delivered in {self._patience:.0f} s")

    @property
    def _follows(self) -> bool:
        return bool(self._wanted or self._emit)

    def _last(self) -> int:
        return max((record.seq for record in self._log.read()), default=-1)

    def _start(self) -> int:
        try:
            return int(json.loads(self._marker.read_text())["after"])
        except (OSError, ValueError, KeyError, TypeError):
            last = self._last()
            self._mark(last)
            return last

    def _mark(self, seq: int) -> None:
        write_atomically(self._marker, json.dumps({"after": seq}) + "\n")

    def _add(self, event: AlertEvent, text: str) -> None:
        if not self._follows:
            return
        facts = self._facts(self._log.state)
        name = facts.get("campaign") or facts["competition"]
        alert = Alert(id=f"{name}-{self._seq}-{event}", event=event, text=f"{name}: {text}", **facts)
        if self._emit is not None:
            self._emit(alert)
        if event not in self._wanted:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._deliver, name="alerts", daemon=True)
            self._thread.start()
        self._queue.put((self._seq, alert))

    def _deliver(self) -> None:
        waiting: list[tuple[int, Alert]] = []
        while (item := self._queue.get()) is not None:
            waiting.append(item)
            while waiting and self._is_taken(waiting[0][1]):
                seq, _ = waiting.pop(0)
                try:
                    self._mark(seq)
                except OSError as error:  # a full disk is a reason for the alerts that follow
                    self._warn(f"{self._marker}: {error.strerror}; some alerts may be sent again")

    def _is_taken(self, alert: Alert) -> bool:
        """Send an alert to all channels; return whether one took it, else it is sent again."""
        taken = False
        for channel in self._channels:
            try:
                channel.send(alert)
                taken = True
            except OrchestrationError as error:
                self._warn(f"alert {alert.event!r} was not delivered by {error}")
        return taken
