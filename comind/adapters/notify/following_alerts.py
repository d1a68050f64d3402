"""Alerts about a followed competition."""

from pathlib import Path
from typing import Any

from comind.adapters.notify.alert_params import AlertEvent, AlertParams
from comind.adapters.notify.log_alerts import LogAlerts
from comind.following.event_text import line_of
from comind.following.events import (
    FollowingEvent,
    NoticeRecorded,
    StandingRecorded,
    SubmissionDecided,
)
from comind.following.state import FOLLOWING_LOG, Following, following_log_path

_NOTICES: dict[str, AlertEvent] = {
    "deadline": "deadline",
    "rules": "changed",
    "data": "changed",
    "closed": "changed",
}  # of an outage the run's own failure is sent


class FollowingAlerts(LogAlerts[Following, FollowingEvent]):
    """Sends the alerts of one run, at its end."""

    def __init__(self, project: Path, slug: str, params: AlertParams, **settings: Any) -> None:
        super().__init__(following_log_path(project, slug), FOLLOWING_LOG, params, **settings)
        self._slug = slug

    def _called_for(
        self, before: Following, event: FollowingEvent, after: Following
    ) -> tuple[AlertEvent, str] | None:
        del after
        alert: AlertEvent | None = None
        match event:
            case NoticeRecorded(subject=subject):
                alert = _NOTICES.get(subject)
            case SubmissionDecided(verdict="ask") if not _repeats(event, before.decision):
                alert = "waiting"
            case StandingRecorded(final=True):
                alert = "ended"
        return None if alert is None else (alert, line_of(event))

    def _facts(self, state: Following) -> dict[str, Any]:
        del state
        return {"competition": self._slug}


def _repeats(decision: SubmissionDecided, last: SubmissionDecided | None) -> bool:
    """Return whether a decision is the same as the last one, as on a day without a better file."""
    return last is not None and decision == last.model_copy(update={"at": decision.at})
