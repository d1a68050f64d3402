"""Send alerts about a followed competition from its log, each once.

`alerts.json` beside the log has the number of the last event with a delivered alert. One that is not
delivered is tried again at the end of the next run.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from comind.adapters.notify.channels import Alert, AlertEvent, AlertParams, send
from comind.adapters.notify.delivery_marker import DeliveryMarker, failure_line
from comind.errors import OrchestrationError
from comind.eventlog.log import LogTail
from comind.following.events import (
    FOLLOWING_EVENTS,
    FollowingEvent,
    NoticeRecorded,
    StandingRecorded,
    SubmissionDecided,
)
from comind.following.history import line_of
from comind.following.state import following_log_path

__all__ = ["FollowingAlerts", "alert_of"]

_NOTICES: dict[str, AlertEvent] = {
    "deadline": "deadline",
    "rules": "changed",
    "data": "changed",
    "closed": "changed",
}  # of an outage the run's own failure is sent


def _warn(line: str) -> None:
    sys.stderr.write(f"comind: warning: {line}\n")


def alert_of(event: FollowingEvent) -> AlertEvent | None:
    """Return the kind of alert that an event calls for; None for none."""
    match event:
        case NoticeRecorded(kind=kind):
            return _NOTICES.get(kind)
        case SubmissionDecided(verdict="ask"):
            return "waiting"
        case StandingRecorded(final=True):
            return "ended"
        case _:
            return None


def _repeats(decision: SubmissionDecided, last: SubmissionDecided | None) -> bool:
    """Return whether a decision is the same as the last one, as on a day without a better file."""
    return last is not None and decision == last.model_copy(update={"at": decision.at})


class FollowingAlerts:
    """Sends the alerts of one run; a context manager around it, which no server's fault ends."""

    def __init__(
        self, project: Path, slug: str, params: AlertParams, warn: Callable[[str], None] = _warn
    ) -> None:
        """Start after the last event that the log has now, or that had its alert before.

        The start is kept in a file, so that a run after a kill sends what the killed one did not.

        Raises:
            UsageError: an environment variable that `params` names is missing.
        """
        self._slug, self._warn = slug, warn
        self._channels = params.channels
        self._wanted = params.events if self._channels else ()
        log = following_log_path(project, slug)
        self._log = LogTail(log, FOLLOWING_EVENTS)
        self._marker = DeliveryMarker(log.with_name("alerts.json"))
        if self._wanted:
            self._after = self._marker.start(self._log.read())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Send what the run's events call for, and its failure."""
        if not self._wanted:
            return
        delivered, decided = self._after, None
        for record in self._log.read():
            kind = alert_of(record.event)
            if isinstance(record.event, SubmissionDecided):
                kind = None if _repeats(record.event, decided) else kind
                decided = record.event
            if record.seq <= self._after:
                continue
            if kind in self._wanted and not self._send(kind, record.seq, line_of(record.event)):
                break
            delivered = record.seq
        self._marker.write(delivered)
        if isinstance(error, Exception) and "failed" in self._wanted:
            self._send("failed", self._log.seq, f"a run failed: {failure_line(error)}")

    def _send(self, kind: AlertEvent, seq: int, text: str) -> bool:
        """Send an alert to all channels; returns whether all took it."""
        alert = Alert(
            id=f"{self._slug}-{seq}-{kind}",
            event=kind,
            competition=self._slug,
            text=f"{self._slug}: {text}",
        )
        taken = True
        for channel in self._channels:
            try:
                send(alert, channel)
            except OrchestrationError as error:
                self._warn(f"alert {kind!r} was not delivered: {error}")
                taken = False
        return taken
