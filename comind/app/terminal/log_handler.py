"""Show records of the program's log on a terminal."""

import logging
import sys
from typing import TextIO, cast

from rich.console import Console
from rich.logging import RichHandler


def terminal_handler() -> logging.Handler:
    """Return a handler that writes to stderr, above a live table where there is one."""
    handler = RichHandler(
        console=Console(file=cast("TextIO", _Stderr())), show_path=False, log_time_format="%X"
    )
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    return handler


class _Stderr:
    """Writes to `sys.stderr` of that moment; Rich itself would write below a table that replaces it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()

    def isatty(self) -> bool:
        return sys.stderr.isatty()
