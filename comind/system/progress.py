"""Report how far long loops over files or rows have come; nothing is shown without a listener."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["Listener", "counted", "reported_to"]

T = TypeVar("T")

Listener = Callable[[str, int | None, int | None], None]
"""Receives what is done, such as "files unpacked", how many were so far (None: the loop has ended), and
of how many if known."""

_EVERY = 100
_listeners: list[Listener] = []


@contextlib.contextmanager
def reported_to(listener: Listener) -> Iterator[None]:
    """Call `listener` for each loop that runs within the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def counted(
    items: Iterable[T], what: str, total: int | None = None, *, every: int = _EVERY, unit: int = 1
) -> Iterator[T]:
    """Yield items and report how many were used, at every `every`-th; an item counts for `unit`."""
    try:
        for number, item in enumerate(items, 1):
            yield item
            if number % every == 0:
                _report(what, number * unit, total)
    finally:
        _report(what, None, total)


def _report(what: str, done: int | None, total: int | None) -> None:
    for listener in _listeners:
        listener(what, done, total)
