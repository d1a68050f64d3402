"""Limits for a group of processes as a whole, where this machine lets us set them.

The groups lie below our own, so whatever limits hold for us hold for them, too. Both versions of the
kernel's interface are spoken; where neither is writable there is no group, and whoever asked has to do
with limits per process. Shares of the cores are left alone: in the first version a whole group weighs as
much as one process outside, which starves it.
"""

import contextlib
import os
import signal
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from comind.system.process_identity import start_ticks

__all__ = ["ControlGroup", "create_cgroup"]

_PREFIX = "comind-"
_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """Folders of one group, one for each controller; made empty."""

    folders: tuple[Path, ...]

    def remove(self) -> None:
        """Remove the group; processes that are still in it keep it."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()

    def end(self, seconds: float) -> None:
        """Kill all processes in the group, then remove it; gives up after so many seconds."""
        end = time.monotonic() + seconds
        while any(folder.exists() for folder in self.folders) and time.monotonic() < end:
            for folder in self.folders:
                with contextlib.suppress(OSError, ValueError):
                    for pid in (folder / "cgroup.procs").read_text().split():
                        os.kill(int(pid), signal.SIGKILL)
            self.remove()
            time.sleep(0.01)


def create_cgroup(
    *, memory_bytes: int, processes: int, root: Path = _ROOT, own: Path = _OWN
) -> ControlGroup | None:
    """Return a new group with these limits, or None where none of them can be set.

    Memory is that of all processes in it together, with the pages of their files on tmpfs; threads count
    as processes. `root` is where control groups are mounted, `own` lists those that we are in.
    """
    name = f"{_PREFIX}{os.getpid()}.{start_ticks(os.getpid())}-{uuid.uuid4().hex[:8]}"
    limits = {  # by controller; the second version has one for all
        "": {"memory.max": memory_bytes, "memory.swap.max": 0, "pids.max": processes},
        "memory": {"memory.limit_in_bytes": memory_bytes, "memory.memsw.limit_in_bytes": memory_bytes},
        "pids": {"pids.max": processes},
    }
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    found = {
        _swept(root / controller / path.strip("/")) / name: limits[controller]
        for _, controller, path in lines
        if controller in limits
    }
    folders = tuple(each for each, values in found.items() if _made(each) and _limited(each, values))
    return ControlGroup(folders) if folders else None


def _swept(parent: Path) -> Path:
    """Remove the empty groups of processes that were killed together with their keepers."""
    for folder in parent.glob(f"{_PREFIX}*"):
        pid, _, start = folder.name.removeprefix(_PREFIX).rpartition("-")[0].partition(".")
        if pid.isdigit() and start_ticks(int(pid)) != start:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return parent


def _made(folder: Path) -> Path | None:
    try:
        folder.mkdir()
    except OSError:
        return None
    return folder


def _limited(folder: Path, values: dict[str, int]) -> bool:
    """Write what the group takes; a group that takes nothing is removed again."""
    taken = 0
    for name, value in values.items():
        with contextlib.suppress(OSError):
            if (folder / name).exists():
                (folder / name).write_text(f"{value}\n")
                taken += 1
    if not taken:
        with contextlib.suppress(OSError):
            folder.rmdir()
    return taken > 0
