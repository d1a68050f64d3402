"""Run a display in a thread for the length of a block."""

import contextlib
import threading
from collections.abc import Callable, Iterator

_JOIN_SECONDS = 10


@contextlib.contextmanager
def shown_in_background(show: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    """Run `show` in a thread of this name; its event is set at the end of the block."""
    stop = threading.Event()
    thread = threading.Thread(target=show, args=(stop,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=_JOIN_SECONDS)
