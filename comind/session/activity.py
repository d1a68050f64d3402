"""Follow what a running cell does besides printing: use of processor, GPU, memory and files."""

from dataclasses import dataclass
from typing import NamedTuple

from comind.session.load import CellUsage

_IDLE_CORES = 0.02  # an interpreter that waits, or asks a hundred times a second, computes less
_MEMORY_SHARE = 0.01
_MEMORY_BYTES = 1 << 20


class Stall(NamedTuple):
    """For how long a cell has done nothing that can be seen; all 0 where that cannot be measured."""

    idle: float = 0.0
    """Seconds without output, use of processor or GPU, and change of memory or files."""
    unchanged: float = 0.0
    """Seconds without output and change of memory or files, whatever was computed."""
    cores: float = 0.0
    """Mean number of cores that computed in the `unchanged` seconds."""


@dataclass(slots=True)
class Activity:
    """Compares the usage of a cell at one inspection with that at the one before."""

    _seconds: float = 0.0
    _last: CellUsage | None = None
    _active_at: float = 0.0
    _changed_at: float = 0.0
    _changed: CellUsage | None = None
    """Usage at the last change of output, memory or files."""

    def take(self, usage: CellUsage | None, seconds: float, *, printed: bool) -> Stall:
        """Return the stall at an inspection; `printed` says whether there is output since the last one.

        What happened before the first inspection is not known, so no stall is longer than since then.
        """
        before, self._last = self._last, usage
        if usage is None or before is None or self._changed is None:
            self._changed = usage
            self._active_at = self._changed_at = self._seconds = seconds
            return Stall()
        elapsed, self._seconds = seconds - self._seconds, seconds
        if printed or differs(self._changed, usage):
            self._changed, self._changed_at, self._active_at = usage, seconds, seconds
        elif usage.gpu_percent or _cores(before, usage, elapsed) >= _IDLE_CORES:
            self._active_at = seconds
        unchanged = seconds - self._changed_at
        cores = _cores(self._changed, usage, unchanged)
        return Stall(seconds - self._active_at, unchanged, cores)


def _cores(before: CellUsage, now: CellUsage, seconds: float) -> float:
    # Processor time of orphans can be lost from the sum, which then decreases.
    return max(0.0, now.cpu_seconds - before.cpu_seconds) / seconds if seconds > 0 else 0.0


def differs(before: CellUsage, now: CellUsage) -> bool:
    """Return whether memory or files have changed."""
    tolerated = max(_MEMORY_BYTES, _MEMORY_SHARE * before.memory_bytes)
    moved = abs(now.memory_bytes - before.memory_bytes) > tolerated
    return moved or now.written_at != before.written_at
