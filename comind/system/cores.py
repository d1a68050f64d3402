"""The machine's cores, shared between those who use them at the same moment."""

import contextlib
import os
import threading
from collections.abc import Iterator

__all__ = ["Cores", "usable_cores"]


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


class Cores:
    """Hands each holder its share of the cores.

    Whoever is `present` counts, whether or not it has asked yet; so several that start together get
    equal shares, however far apart they ask. What others hold is not handed out again, but a holder
    gets at least one core: more holders than cores take turns.
    """

    def __init__(self, count: int) -> None:
        self._count = max(1, count)
        self._held: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def present(self, name: str) -> Iterator[None]:
        """Count `name` as running for the length of the block, then take back what it holds."""
        with self._lock:
            self._held[name] = 0
        try:
            yield
        finally:
            with self._lock:
                del self._held[name]

    def lease(self, name: str, wanted: int = 0) -> int:
        """Return how many cores `name` may use, from now to the end of its presence.

        Who is not present is taken to be alone. What was `wanted`, as before an interruption, is given
        again where the machine has as many; 0 stands for a fair share.
        """
        with self._lock:
            if name not in self._held:
                return min(wanted, self._count) or self._count
            if self._held[name] == 0:
                free = self._count - sum(self._held.values())
                share = min(self._count // len(self._held), free)
                self._held[name] = max(1, min(wanted, self._count) if wanted else share)
            return self._held[name]
