"""Tasks of a followed day: each runs one step, and returns its result.

A step writes what it did to the log before it ends, so that a retry repeats nothing.
"""

from collections.abc import Callable
from typing import TypeVar

from tasks import is_kaggle_busy, step

T = TypeVar("T")


# The client has retried each request with backoff before.
@step("{name}", retries=1, delay=60, condition=is_kaggle_busy)
def repeatable_step(name: str, act: Callable[[], T]) -> T:
    """Run a step that may be repeated: it only reads Kaggle and writes the log."""
    del name
    return act()


# What was sent is not sent again; the next day finds out whether it arrived.
@step("{name}", retries=0)
def single_step(name: str, act: Callable[[], T]) -> T:
    """Run a step that must not be repeated, as it submits a file."""
    del name
    return act()
