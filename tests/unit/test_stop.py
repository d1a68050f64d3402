"""A signal ends the command, also if stderr is closed."""

import os
import signal
import subprocess
import sys

_PROGRAM = """
import signal
from flows.cli import command, main
command.resume_with = "comind solve --resume a-campaign"
signal.signal(signal.SIGTERM, main._stop)
signal.raise_signal(signal.SIGTERM)
"""


def test_a_signal_ends_the_command_though_nobody_reads_it() -> None:
    """With stderr closed, the exit code is still that of the signal."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], stderr=writing, check=False, timeout=60)
    os.close(writing)
    assert ended.returncode == 128 + signal.SIGTERM
