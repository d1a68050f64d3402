"""Show a campaign's progress on stderr: a live table on a terminal, plain lines elsewhere.

All of it is read from the logs, so a failure here does not affect the campaign.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import partial

from rich.console import Console
from rich.live import Live
from rich.text import Text

from comind.app.terminal.background import shown_in_background
from comind.app.terminal.live_table import live_table
from comind.app.terminal.long_steps import RunningStep, RunningSteps, clock, newest_text
from comind.campaign.log.campaign_events import FinalPicked, WorkFinished
from comind.campaign.log.campaign_folders import EVALUATOR, CampaignFolder
from comind.campaign.log.event_lines import campaign_line, work_line
from comind.campaign.reports.campaign_view import CampaignLogs, CampaignView
from comind.campaign.reports.tuning import Tuning
from comind.domain.spend import Budget, LimitReached, Spend
from comind.system.progress import reported_to

_INTERVAL_SECONDS = 0.5


def show_progress(folder: CampaignFolder) -> contextlib.AbstractContextManager[None]:
    """Show a campaign's progress in a thread for the length of the block."""
    return shown_in_background(partial(_show, _Progress(folder)), "progress")


class _Progress:
    """A campaign, and the unread rest of its logs."""

    def __init__(self, folder: CampaignFolder) -> None:
        self._logs = CampaignLogs(folder)
        self._warned: set[LimitReached] = set()

    def new_lines(self) -> Iterator[str]:
        """Read new events from the logs; yields a line for each that is shown."""
        for record in self._logs.records():
            if isinstance(record.event, WorkFinished):
                yield from self._new_work_lines(record.event.id)
            text = campaign_line(record.event)
            if isinstance(record.event, FinalPicked):
                text = "\n".join([text, *_tuning_lines(self.view.tuning)])
            for line in text.splitlines():
                yield f"{clock(self._logs.state.spend.seconds)}  {line}"
        self._logs.work(EVALUATOR).update()
        for running in self._logs.state.works.in_flight():
            yield from self._new_work_lines(running.id)
        yield from _budget_lines(self.view.spend, self._logs.state.budget, self._warned)

    @property
    def view(self) -> CampaignView:
        """The campaign after what was read."""
        return self._logs.view

    def _new_work_lines(self, work_id: str) -> Iterator[str]:
        work, began = self._logs.work(work_id), self._logs.state.works[work_id].planned_at
        for record in work.read():
            line = work_line(record.event, work.state)
            if line:
                yield f"{clock(began + record.elapsed)}  {work_id}: {line}"


def _show(progress: _Progress, stop: threading.Event) -> None:
    if not sys.stderr.isatty():
        for line in _new_lines_until(progress, stop):
            if line:
                print(line, file=sys.stderr, flush=True)
        return
    console, step = Console(stderr=True), [""]

    def keep(running: list[RunningStep]) -> None:
        step[0] = newest_text(running)

    with (
        Live(console=console, refresh_per_second=4) as table,
        contextlib.closing(RunningSteps(keep)) as steps,
        reported_to(steps.report),  # in place of the command's own line
    ):
        for line in _new_lines_until(progress, stop):
            if line:
                console.print(Text(line, style="dim"))
            elif progress.view.state.opened is not None:
                table.update(live_table(progress.view, console.width, step[0]))


def _new_lines_until(progress: _Progress, stop: threading.Event) -> Iterator[str]:
    """Yield new lines twice a second, and "" after those of each time, until `stop` is set."""
    over = False
    while not over:
        over = stop.wait(_INTERVAL_SECONDS)
        yield from progress.new_lines()
        yield ""


def _budget_lines(spend: Spend, budget: Budget, warned: set[LimitReached]) -> Iterator[str]:
    """Yield a line at 50 % and at 80 % of a limit, each once; `warned` is updated."""
    limits = budget.limits(spend)
    for reached in budget.reached(spend):
        if reached not in warned:
            warned.add(reached)
            yield f"budget: {reached} are spent ({limits[reached.unit][0]:.6g})"


def _tuning_lines(tuning: Tuning) -> list[str]:
    """Return the gradings behind the final pick, and warnings of overfitting to them."""
    return [
        f"{tuning} on {tuning.rows} validation rows",
        *(f"WARNING: {each}" for each in tuning.warnings),
    ]
