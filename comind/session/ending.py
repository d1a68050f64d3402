"""Why a program ended, in one line for whoever wrote it."""

import signal
from contextlib import suppress

from comind.system.leash import LeashedProcess

__all__ = ["OUT_OF_MEMORY", "ending", "ending_of"]

OUT_OF_MEMORY = "out of memory: it used more than it may, and the system ended it"

_BY_SIGNAL = 128


def ending(process: LeashedProcess) -> str:
    """Return the reason; want of memory is named where a control group has seen it."""
    return ending_of(process.exit_code(), out_of_memory=process.out_of_memory())


def ending_of(code: int | None, *, out_of_memory: bool) -> str:
    """Return the reason for an exit code (128 + n: ended by signal n)."""
    if out_of_memory:
        return OUT_OF_MEMORY
    if code is not None and code > _BY_SIGNAL:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(code - _BY_SIGNAL).name} (exit code {code})"
    return f"it ended with exit code {code}"
