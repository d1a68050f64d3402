"""Steps of a command on a terminal and elsewhere, and what is printed between them."""

import logging
import subprocess
import sys
import time
from io import StringIO

import pytest

from comind.app.terminal.long_steps import Pace, clock, show_long_steps
from comind.system.progress import counted, reported_to, step
from tests.doubles.terminal import pseudo_terminal


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """The last line, as a terminal shows it: what was erased is gone."""
        return self.getvalue().rpartition("\n")[2].rpartition("\r\x1b[2K")[2]


def _terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Make a terminal stderr."""
    made = _Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def test_a_step_is_shown_at_once_with_a_clock_that_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The newest step is the last line of the terminal, and is gone at its end."""
    terminal = _terminal(monkeypatch)
    with show_long_steps(Pace(tick=0.02)), step("starting Prefect"):
        assert terminal.shown == "starting Prefect  00:00"
        with step("creating tables"):
            assert terminal.shown == "creating tables  00:00"
            until = time.monotonic() + 30
            while terminal.shown == "creating tables  00:00" and time.monotonic() < until:
                time.sleep(0.02)
            assert terminal.shown == "creating tables  00:01"
        assert terminal.shown.startswith("starting Prefect")
    assert terminal.shown == ""


def test_lines_of_others_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed during a step erases the step's line first, also through a logger's handler."""
    terminal = _terminal(monkeypatch)
    with show_long_steps(), step("starting"):
        handler = logging.StreamHandler()
        sys.stderr.write("a warning\n")
        assert terminal.getvalue().endswith("\r\x1b[2Ka warning\n")
    handler.stream.write("after the command\n")
    assert terminal.getvalue().endswith("a warning\nafter the command\n")


def test_a_question_after_a_step_is_shown_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No step is drawn over a prompt without a line end, also while one runs."""
    terminal = _terminal(monkeypatch)
    with show_long_steps(Pace(least=0.0, tick=0.02)), step("inspecting"):
        for _ in counted(range(3), "files linked", 3, every=1):
            time.sleep(0.03)
        assert "files linked: 2 of 3  00:00" in terminal.getvalue()
        sys.stderr.write("metric? ")
        sys.stderr.flush()
        assert terminal.shown == "metric? "
        time.sleep(0.1)  # longer than between two ticks
        assert terminal.shown == "metric? "
        sys.stderr.write("\n")
        with step("splitting"):
            assert terminal.shown.startswith("splitting")


def test_quick_loops_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop has a line once it has lasted two seconds."""
    terminal = _terminal(monkeypatch)
    with show_long_steps():
        list(counted(range(3), "files linked", 3, every=1))
    assert terminal.getvalue() == ""


def test_where_there_is_no_terminal_steps_have_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step has a line when it begins, a loop when it has taken long; both one for each interval."""
    stderr = StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with show_long_steps(Pace(line=0.2, tick=0.02)):
        list(counted(range(3), "quick", 3, every=1))
        with step("starting"):
            assert stderr.getvalue() == "starting\n"
            until = time.monotonic() + 30
            while stderr.getvalue().count("\n") < 3 and time.monotonic() < until:
                time.sleep(0.02)
        assert stderr.getvalue().startswith("starting\nstarting, 0 s\nstarting, 0 s\n")
        for _ in counted(range(3), "slow", 3, every=1):
            time.sleep(0.3)
    assert "slow: 1 of 3, 0 s\n" in stderr.getvalue()


def test_an_inner_display_replaces_an_outer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a table shows the steps itself, the line of the command does not."""
    terminal = _terminal(monkeypatch)
    heard: list[str] = []
    with show_long_steps():
        with reported_to(lambda what, *_: heard.append(what)), step("loading the flow"):
            assert terminal.getvalue() == ""
        with step("grading"):
            assert terminal.shown.startswith("grading")
    assert heard == ["loading the flow", "loading the flow"]


@pytest.mark.parametrize(("seconds", "shown"), [(0, "00:00"), (61.9, "01:01"), (3661, "1:01:01")])
def test_a_clock_has_hours_where_it_needs_them(seconds: float, shown: str) -> None:
    """Minutes and seconds have two digits."""
    assert clock(seconds) == shown


def test_a_long_command_says_at_once_that_it_begins() -> None:
    """The first line comes before the imports that take seconds, and nothing is left at the end."""
    command = [sys.executable, "-m", "comind.cli", "gc", "--out", "/dev/null/no"]
    with pseudo_terminal() as terminal:
        ended = subprocess.run(command, stderr=terminal.follower, check=False, timeout=120)
        written = terminal.output()
    assert ended.returncode == 2
    assert written.startswith("comind gc: starting  00:00")
    assert "\r\x1b[2Kcomind: /dev/null/no: cannot be written to" in written
    assert "\x1b" not in written.partition("cannot be written")[2]
