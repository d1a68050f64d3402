"""Show records of the program's log on a terminal."""

import logging

from rich.console import Console
from rich.logging import RichHandler


def terminal_handler() -> logging.Handler:
    """Return a handler that writes to stderr, above a live table where there is one."""
    handler = RichHandler(console=Console(stderr=True), show_path=False)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    return handler
