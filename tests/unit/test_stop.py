"""A signal ends the command, also if stderr is closed."""

import os
import signal
import subprocess
import sys

import pytest

from tests.doubles.terminal import pseudo_terminal

_PROGRAM = """
import signal
from comind.cli import command, main
command.resume_with = "comind solve --resume a-campaign"
signal.signal(signal.SIGTERM, main._stop)
signal.raise_signal(signal.SIGTERM)
"""

_ON_A_TERMINAL = """
import os, signal, sys
from comind.cli import command, main
command.resume_with = "comind solve --resume a-campaign"
main._stop_on_signals()
signal.raise_signal(signal.Signals[sys.argv[1]])
os._exit(0)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_each_signal_leaves_the_terminal_as_it_was(name: str) -> None:
    """The way to resume is said, and the cursor that a table hides is shown again."""
    heard = f"import signal; signal.signal(signal.{name}, signal.SIG_DFL)\n{_ON_A_TERMINAL}"
    command = [sys.executable, "-c", heard, name]  # also where the tests run under nohup
    with pseudo_terminal() as terminal:
        ended = subprocess.run(command, stderr=terminal.follower, check=False, timeout=60)
        written = terminal.output()
    assert ended.returncode == 128 + signal.Signals[name]
    assert "stopped; resume with: comind solve --resume a-campaign" in written
    assert written.endswith("\x1b[?25h")


def test_a_command_under_nohup_goes_on_when_its_terminal_is_closed() -> None:
    """What is ignored before the command starts stays ignored."""
    ignored = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{_ON_A_TERMINAL}"
    ended = subprocess.run([sys.executable, "-c", ignored, "SIGHUP"], check=False, timeout=60)
    assert ended.returncode == 0


def test_a_signal_ends_the_command_though_nobody_reads_it() -> None:
    """With stderr closed, the exit code is still that of the signal."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], stderr=writing, check=False, timeout=60)
    os.close(writing)
    assert ended.returncode == 128 + signal.SIGTERM
