"""Progress of long steps on a terminal, and what is printed between them."""

import sys
import time
from io import StringIO

import pytest

from comind.app.terminal import long_steps
from comind.system.progress import counted


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_question_after_a_step_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar is gone when its step has ended, so a prompt without a line end is not held back."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(long_steps, "_LEAST_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with long_steps.show_long_steps():
        for _ in range(2):  # a bar may start again
            for _ in counted(range(3), "files linked", 3, every=1):
                time.sleep(0.01)
            assert "files linked" in terminal.getvalue()
            before = len(terminal.getvalue())
            sys.stderr.write("metric? ")
            sys.stderr.flush()
            assert terminal.getvalue()[before:] == "metric? "
            time.sleep(0.2)  # longer than between two refreshes of a bar
            assert terminal.getvalue()[before:] == "metric? "


def test_where_there_is_no_terminal_a_step_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a step that takes long has one, and once."""
    stderr = StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with long_steps.show_long_steps():
        list(counted(range(3), "quick", 3, every=1))
        monkeypatch.setattr(long_steps, "_LINE_SECONDS", 0.0)
        list(counted(range(3), "slow", 3, every=1))
    assert stderr.getvalue() == "slow: 1 of 3 after 0 s\n"
