"""Show the progress of a bench on stderr: a line when a campaign begins, has a new best, or ends."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from functools import partial

from comind.app.terminal.background import shown_in_background
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.reports.campaign_view import ENDED, CampaignLogs
from comind.errors import ComindError
from comind.system.plurals import quantity

_INTERVAL_SECONDS = 0.5


def show_bench_progress(
    campaigns: Mapping[str, CampaignFolder],
) -> contextlib.AbstractContextManager[None]:
    """Print what the campaigns of a bench do, in a thread, for the length of the block.

    `campaigns` are those that have not ended, by the label that is printed.
    """
    return shown_in_background(partial(_show, _BenchLines(campaigns)), "bench-progress")


class _BenchLines:
    """The campaigns of a bench, and the unread rest of their logs."""

    def __init__(self, campaigns: Mapping[str, CampaignFolder]) -> None:
        self._left = {label: CampaignLogs(each) for label, each in campaigns.items()}
        self._total = len(campaigns)
        self._best = dict.fromkeys(campaigns, "")
        self._begun = set[str]()

    def new(self) -> Iterator[str]:
        """Read new events; yields a line for each that is shown."""
        for label, logs in list(self._left.items()):
            before = logs.state
            view = logs.update()
            if view.state is before:
                continue
            if label not in self._begun:
                self._begun.add(label)
                yield f"{label}: begun"
            best = str(view.best.score) if view.best else ""
            if best != self._best[label]:
                self._best[label] = best
                attempts = sum(each.outcome is not None for each in view.state.works.attempts())
                yield f"{label}: best so far {best}, {quantity(attempts, 'attempt')}"
            if view.status == ENDED:
                del self._left[label]
                took = f"{view.spend.seconds:.0f} s, ${view.spend.usd:.2f}"
                done = self._total - len(self._left)
                yield f"{label}: ended after {took} ({done} of {self._total})"


def _show(lines: _BenchLines, stop: threading.Event) -> None:
    begun = time.monotonic()
    while True:
        last = stop.wait(_INTERVAL_SECONDS)
        with contextlib.suppress(ComindError, OSError, ValueError):  # the bench itself reports it
            for line in lines.new():
                minutes, seconds = divmod(int(time.monotonic() - begun), 60)
                print(f"{minutes:02d}:{seconds:02d}  {line}", file=sys.stderr, flush=True)
        if last:
            return
