"""Why a program on a leash ended, in one line for whoever wrote it."""

import signal
from contextlib import suppress

from comind.system.leash import LeashedProcess

__all__ = ["ending"]

_BY_SIGNAL = 128


def ending(process: LeashedProcess) -> str:
    """Return the reason; want of memory is named where a control group has seen it."""
    code = process.exit_code()
    if process.out_of_memory():
        return "out of memory: it used more than it may, and the system ended it"
    if code is not None and code > _BY_SIGNAL:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(code - _BY_SIGNAL).name} (exit code {code})"
    return f"it ended with exit code {code}"
