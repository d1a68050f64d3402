"""Send alerts about a campaign from its log, in the background, each once.

`alerts.json` in the campaign's folder has the number of the last event with a delivered alert, so a
resumed campaign sends only what is new. A campaign never waits for a server, except for some seconds at
its end, and never fails because of one.
"""

import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Self

from comind.adapters.notify.channels import Alert, AlertEvent, AlertParams, EmailParams, send
from comind.adapters.notify.delivery_marker import DeliveryMarker, failure_line
from comind.campaign.log.campaign_events import CampaignEnded, WorkFinished
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, Best, CampaignState
from comind.errors import OrchestrationError
from comind.eventlog.store import StateTail

__all__ = ["CampaignAlerts"]


def _warn(line: str) -> None:
    sys.stderr.write(f"comind: warning: {line}\n")


class CampaignAlerts:
    """Sends the alerts of one campaign; a context manager around its run."""

    def __init__(
        self,
        folder: CampaignFolder,
        params: AlertParams,
        *,
        warn: Callable[[str], None] = _warn,
        backoff_seconds: float = 2.0,
        patience_seconds: float = 20.0,
    ) -> None:
        """Start after the last event that the log has now, or that had its alert before.

        `warn` gets a line for each alert that is not delivered; it is retried once after
        `backoff_seconds`. The end of the block waits for `patience_seconds` at most.

        Raises:
            UsageError: an environment variable that `params` names is missing.
        """
        self._channels = params.channels
        self._wanted = params.events if self._channels else ()
        self._warn, self._backoff, self._patience = warn, backoff_seconds, patience_seconds
        self._folder = folder
        self._log = StateTail(folder.log, CAMPAIGN_LOG)
        self._marker = DeliveryMarker(folder.root / "alerts.json")
        self._seq = -1
        self._queue: queue.Queue[tuple[int, Alert] | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        if self._wanted:
            self._after = self._marker.start(self._log.read())

    def sync(self) -> None:
        """Queue alerts about the log's new events; returns at once."""
        if not self._wanted:
            return
        best = self._log.state.best
        for record in self._log.read():
            self._seq = record.seq
            state, former = self._log.state, best
            best = state.best
            if record.seq <= self._after:
                continue
            match record.event:
                case WorkFinished() if best is not None and _is_better(best, former):
                    self._add("new_best", f"new best {best.score} by {best.work_id}")
                case CampaignEnded(reason=reason, detail=detail):
                    found = f"best {best.score} by {best.work_id}" if best else "no submission"
                    self._add("ended", f"ended ({reason}: {detail}), {found}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Alert of an error, except of an interrupt by the user; wait for queued alerts."""
        if self._wanted and isinstance(error, Exception):
            self._add("failed", f"failed: {failure_line(error)}")
        if self._thread is None:
            return
        self._queue.put(None)
        self._thread.join(self._patience)
        if self._thread.is_alive():
            self._warn(f"alerts: not all were delivered in {self._patience:.0f} s")

    def _add(self, event: AlertEvent, text: str) -> None:
        if event not in self._wanted:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._deliver, name="alerts", daemon=True)
            self._thread.start()
        self._queue.put((self._seq, _alert(self._log.state, event, self._seq, text)))

    def _deliver(self) -> None:
        while (item := self._queue.get()) is not None:
            seq, alert = item
            for channel in self._channels:
                try:
                    self._send(alert, channel)
                except Exception as error:  # noqa: BLE001 - no fault of a server may end a campaign
                    self._warn(f"alert {alert.event!r} was not delivered: {error}")
            if alert.event != "failed":
                self._marker.write(seq)

    def _send(self, alert: Alert, channel: str | EmailParams) -> None:
        try:
            send(alert, channel)
        except OrchestrationError:
            time.sleep(self._backoff)
            send(alert, channel)


def _is_better(best: Best, former: Best | None) -> bool:
    return best.score.value.better_than(former.score.value if former else None)


def _alert(state: CampaignState, event: AlertEvent, seq: int, text: str) -> Alert:
    spec, best = state.spec, state.best
    return Alert(
        id=f"{spec.id}-{seq}-{event}",
        event=event,
        campaign=spec.id,
        competition=spec.competition,
        agent=spec.agent,
        model=spec.model,
        text=f"{spec.id} {text}",
        attempt=best.work_id if best else None,
        score=best.score.value.value if best else None,
        metric=best.score.metric if best else None,
        seconds=state.spend.seconds,
        usd=state.spend.usd,
    )
