"""A pseudo-terminal that keeps what is written to it."""

import contextlib
import os
import pty
import threading
import time
from collections.abc import Iterator

_QUIET_SECONDS = 0.5


class PseudoTerminal:
    """A terminal for commands; all that they write is read while it is open.

    The system may drop what was not read when the last process closes a terminal.
    """

    def __init__(self) -> None:
        self.leader, self.follower = pty.openpty()
        self._written = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def output(self) -> str:
        """Return what has been written, once nothing more arrives."""
        length = -1
        while length != len(self._written):
            length = len(self._written)
            time.sleep(_QUIET_SECONDS)
        return self._written.decode()

    def close(self) -> None:
        """Close it, which ends the thread that reads it."""
        os.close(self.follower)
        self._reader.join()
        os.close(self.leader)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # all have closed the terminal
            while part := os.read(self.leader, 4096):
                self._written += part


@contextlib.contextmanager
def pseudo_terminal() -> Iterator[PseudoTerminal]:
    """Open a terminal for the length of a block."""
    opened = PseudoTerminal()
    try:
        yield opened
    finally:
        opened.close()
