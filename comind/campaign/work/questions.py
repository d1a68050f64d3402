"""Keep the monitor's questions that stop nothing at a small share of a campaign's model calls."""

import threading
from collections.abc import Callable

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.work_events import MONITOR_ROLE
from comind.campaign.log.work_state import WORK_LOG, Call


class Questions:
    """Allows a question while those that stopped nothing are at most a share of all calls.

    The first is always allowed. Thread-safe.
    """

    def __init__(self, share: float, calls: Callable[[], int], in_vain: int = 0) -> None:
        """Begin with `in_vain` questions; `calls` returns the campaign's calls, questions included."""
        self._share = share
        self._calls = calls
        self._in_vain = in_vain
        self._open = 0
        self._lock = threading.Lock()

    def begin(self) -> bool:
        """Return whether a question may be asked, and count it as open."""
        with self._lock:
            asked = self._in_vain + self._open
            if asked and asked + 1 > self._share * (self._calls() + self._open + 1):
                return False
            self._open += 1
            return True

    def end(self, *, stopped: bool, made: bool = True) -> None:
        """Close an open question; it was in vain if a request was `made` and `stopped` no cell."""
        with self._lock:
            self._open -= 1
            self._in_vain += made and not stopped


def asked_in_vain(campaign: CampaignFolder) -> int:
    """Return the number of questions in the logs of a campaign's work that stopped no cell."""
    states = (WORK_LOG.read(log) for log in campaign.logs())
    calls = (call for state in states for call in state.calls if call.role == MONITOR_ROLE)
    return sum(_was_made(call) and not call.stopped_cell for call in calls)


def _was_made(call: Call) -> bool:
    """Return whether a request was made, or may have been, and was not refused."""
    return call.ended is None or call.reply is not None or call.lost
