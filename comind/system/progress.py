"""Report which step of a command runs, and how far long loops have come, to whatever shows it."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

Listener = Callable[[str, int | None, int | None], None]
"""Receives what is done, such as "files unpacked", how many were so far (None: the step has ended), and
of how many if known. Of a step 0 are done when it begins."""

_EVERY = 100
_listeners: list[Listener] = []


@contextlib.contextmanager
def reported_to(listener: Listener) -> Iterator[None]:
    """Call `listener` for each step and loop within the block, in place of that of an outer block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def step(what: str, total: int = 0) -> Iterator[Callable[[int], None]]:
    """Report that the block is a step of a command that may take seconds, such as "starting Prefect".

    Yields a function that reports how many of `total` are done.
    """
    _report(what, 0, total)
    try:
        yield lambda done: _report(what, done, total)
    finally:
        _report(what, None, total)


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
    # All hear the end, as a step may have begun before the inner block.
    for listener in _listeners if done is None else _listeners[-1:]:
        listener(what, done, total)
