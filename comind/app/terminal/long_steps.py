"""Show on stderr which steps of a command run, with a clock: a line on a terminal, lines elsewhere."""

import contextlib
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO, cast

from comind.system.progress import reported_to

_ERASE = "\r\x1b[2K"
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Pace:
    """When steps are shown, in seconds."""

    least: float = 2.0
    """Of a loop; quicker ones are not shown on a terminal."""
    line: float = 10.0
    """Between two lines on a step where there is no terminal."""
    tick: float = 0.5
    """Between two looks at the clock."""


@contextlib.contextmanager
def show_long_steps(pace: Pace = Pace()) -> Iterator[None]:
    """Show on stderr, for the length of the block, which steps run and how far they have come."""
    out, err = sys.stdout, sys.stderr
    if not err.isatty():
        lines = RunningSteps(_Lines(pace.line).show, pace.tick)
        with contextlib.closing(lines) as steps, reported_to(steps.report):
            yield
        return
    status = _StatusLine(err, pace.least)
    sys.stdout, sys.stderr = (cast("TextIO", _Passed(each, status)) for each in (out, err))
    try:
        line = RunningSteps(status.show, pace.tick)
        with contextlib.closing(line) as steps, reported_to(steps.report):
            yield
    finally:
        sys.stdout, sys.stderr = out, err


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds, from an hour on with hours."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


@dataclass
class RunningStep:
    """A step that runs."""

    what: str
    began: float
    is_loop: bool
    """Whether it is one of many loops, most of which are quick."""
    done: int = 0
    total: int | None = None
    lines: int = 0
    """How many lines about it were printed."""

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began

    def text(self) -> str:
        """Return what is done, and how much of it so far."""
        if not self.done:
            return self.what
        of = f" of {self.total:,}" if self.total else ""
        return f"{self.what}: {min(self.done, self.total or self.done):,}{of}"


def newest_text(steps: Sequence[RunningStep], least: float = Pace.least) -> str:
    """Return the newest step with its clock, "" without any; loops count after `least` seconds."""
    shown = [each for each in steps if not each.is_loop or each.seconds >= least]
    return f"{shown[-1].text()}  {clock(shown[-1].seconds)}" if shown else ""


class RunningSteps:
    """The steps that run, in all threads; shown anew at each change, and every `tick` seconds."""

    def __init__(self, show: Callable[[list[RunningStep]], None], tick: float = Pace.tick) -> None:
        self._show = show
        self._tick_seconds = tick
        self._steps: dict[str, RunningStep] = {}
        self._lock = threading.RLock()  # a signal's handler may print within a report
        self._closed = threading.Event()
        self._ticks: threading.Thread | None = None

    def report(self, what: str, done: int | None, total: int | None) -> None:
        """Note that a step begins, has come further, or has ended, and show it."""
        with self._lock:
            if done is None:
                self._steps.pop(what, None)
            else:
                step = self._steps.setdefault(what, RunningStep(what, time.monotonic(), done > 0))
                step.done, step.total = done, total
            self._show([*self._steps.values()])
            if self._steps and self._ticks is None:
                self._ticks = threading.Thread(target=self._tick, name="steps", daemon=True)
                self._ticks.start()

    def _tick(self) -> None:
        while not self._closed.wait(self._tick_seconds):
            with self._lock:
                if not self._steps:
                    self._ticks = None
                    return
                self._show([*self._steps.values()])

    def close(self) -> None:
        """Show nothing any more."""
        with self._lock:
            self._closed.set()
            self._steps.clear()
            self._show([])


class _Lines:
    """A line when a step begins, one for a loop that takes long, and then one every `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def show(self, steps: list[RunningStep]) -> None:
        for step in steps:
            due = int(step.seconds / self._seconds) + (not step.is_loop)
            if step.lines < due:
                step.lines = due
                after = f", {step.seconds:.0f} s" if due > 1 or step.is_loop else ""
                print(f"{step.text()}{after}", file=sys.stderr, flush=True)


class _StatusLine:
    """The newest step with a clock, as the last line of the terminal; it is erased when others print."""

    def __init__(self, terminal: TextIO, least: float) -> None:
        self._terminal = terminal
        self._least = least
        self._lock = threading.RLock()
        self._drawn = ""
        self._line_begun = False
        """Whether others have printed a part of a line, such as a question."""

    def show(self, steps: list[RunningStep]) -> None:
        """Draw the newest of the steps, or nothing without any."""
        with self._lock:
            room = shutil.get_terminal_size().columns - 1
            text = "" if self._line_begun else newest_text(steps, self._least)[:room]
            if text != self._drawn:
                self._write((_ERASE if self._drawn else "") + text)
                self._drawn = text

    def passed(self, stream: TextIO, text: str) -> int:
        """Write what others print to `stream`; the line is drawn again after its end."""
        with self._lock:
            self.show([])
            if printed := _CODES.sub("", text):
                self._line_begun = not printed.endswith("\n")
            return stream.write(text)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal was closed
            self._terminal.write(text)
            self._terminal.flush()


class _Passed:
    """A stream that erases the status line before it is written to; else it is the stream itself.

    What keeps it, such as a handler of a logger, can write to it after the command as before.
    """

    def __init__(self, stream: TextIO, status: _StatusLine) -> None:
        self._stream, self._status = stream, status

    def write(self, text: str) -> int:
        """Write to the stream."""
        return self._status.passed(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
