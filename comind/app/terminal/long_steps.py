"""Show the progress of long steps before a campaign: a bar on a terminal, a line for each elsewhere."""

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from comind.system.progress import reported_to

__all__ = ["announce", "show_long_steps"]

_LEAST_SECONDS = 2.0  # of a step; quicker ones are not shown
_LINE_SECONDS = 10.0  # of a step, until it has a line where there is no terminal


def announce(command: str, step: str) -> None:
    """Print on stderr which step of a command begins, or how it ended."""
    print(f"comind {command}: {step}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def show_long_steps() -> Iterator[None]:
    """Show on stderr, for the length of the block, how far steps of some seconds have come."""
    steps = _Bars() if sys.stderr.isatty() else _Lines()
    with contextlib.closing(steps), reported_to(steps.report):
        yield


class _Bars:
    """A bar for each step, removed when it ends: a live one would hold back what others print."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(
            *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
        )
        self._started: dict[str, float] = {}
        self._bars: dict[str, TaskID] = {}

    def report(self, what: str, done: int | None, total: int | None) -> None:
        """Move the bar of a step, start one once the step has lasted two seconds, or remove it."""
        if done is None:
            self._remove(what)
            return
        began = self._started.setdefault(what, time.monotonic())
        if what not in self._bars and time.monotonic() - began >= _LEAST_SECONDS:
            self._bars[what] = self._progress.add_task(what, total=total)
            self._progress.start()
        if what in self._bars:
            self._progress.update(self._bars[what], completed=min(done, total or done))

    def _remove(self, what: str) -> None:
        self._started.pop(what, None)
        bar = self._bars.pop(what, None)
        if bar is not None and not self._bars:
            self._progress.stop()  # clears the line of the last bar
        if bar is not None:
            self._progress.remove_task(bar)

    def close(self) -> None:
        """Remove the bars."""
        self._progress.stop()


class _Lines:
    """A line for each step that takes long, once."""

    def __init__(self) -> None:
        self._started: dict[str, float] = {}
        self._shown: set[str] = set()

    def report(self, what: str, done: int | None, total: int | None) -> None:
        """Print a line once a step has lasted ten seconds."""
        if done is None:
            self._started.pop(what, None)
            return
        began = self._started.setdefault(what, time.monotonic())
        if what not in self._shown and time.monotonic() - began >= _LINE_SECONDS:
            self._shown.add(what)
            of = f" of {total:,}" if total else ""
            text = f"{what}: {done:,}{of} after {_LINE_SECONDS:.0f} s"
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """No-op: lines stay."""
