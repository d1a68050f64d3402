"""Limit memory and process count of a group of processes through Linux control groups (v1 and v2).

Also read the limits of our own group, such as those of a container.

Groups are created below our own, so its limits apply too. Where neither version is writable there is no
group, and limits per process are left. CPU shares are not set: in version 1 a whole group weighs as much
as one process outside, which starves it.
"""

import contextlib
import os
import signal
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from comind.system.process_identity import start_ticks

_PREFIX = "comind-"
_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The folders of one control group, one for each controller."""

    folders: tuple[Path, ...]

    def remove(self) -> None:
        """Remove the group if no process is left in it."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()

    def end(self, seconds: float) -> None:
        """Kill all processes in the group and remove it, with a timeout in seconds."""
        end = time.monotonic() + seconds
        while any(folder.exists() for folder in self.folders) and time.monotonic() < end:
            for folder in self.folders:
                with contextlib.suppress(OSError, ValueError):
                    for pid in (folder / "cgroup.procs").read_text().split():
                        os.kill(int(pid), signal.SIGKILL)
            self.remove()
            time.sleep(0.01)


def create_cgroup(
    *,
    memory_bytes: int,
    processes: int,
    root: Path = _ROOT,
    own: Path = _OWN,
    make: Callable[[Path], None] = Path.mkdir,
) -> ControlGroup | None:
    """Create a control group with these limits; None if none of them can be set.

    Memory is that of all its processes with pages of their files on tmpfs; threads count as processes.
    `root` is where control groups are mounted, `own` the file that lists our own, and `make` makes the
    folder of one, with its files.
    """
    name = f"{_PREFIX}{os.getpid()}.{start_ticks(os.getpid())}-{uuid.uuid4().hex[:8]}"
    limits = {  # by controller; version 2 has one for all
        "": {"memory.max": memory_bytes, "memory.swap.max": 0, "pids.max": processes},
        "memory": {"memory.limit_in_bytes": memory_bytes, "memory.memsw.limit_in_bytes": memory_bytes},
        "pids": {"pids.max": processes},
    }
    found = {
        _without_stale(root / controller / path) / name: limits[controller]
        for controller, path in _own_groups(own)
        if controller in limits
    }
    folders = tuple(each for each, values in found.items() if _create(each, values, make))
    return ControlGroup(folders) if folders else None


def own_cpu_quota(*, root: Path = _ROOT, own: Path = _OWN) -> float | None:
    """Return the number of cores whose time our group may use, or None; limits of its parents count."""
    quotas = []
    for folder in _with_parents(root, own, "cpu"):
        words = _words(folder / "cpu.max")  # version 2: quota and period in microseconds
        if not words:
            words = _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
        match words:
            case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
                quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def own_memory_limit(*, root: Path = _ROOT, own: Path = _OWN) -> int | None:
    """Return the bytes of memory that our group may use, or None; limits of its parents count.

    Version 1 states a number beyond any machine's memory where there is none.
    """
    limits = []
    for folder in _with_parents(root, own, "memory"):
        words = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
        limits += [int(word) for word in words if word.isdigit()]
    return min(limits, default=None)


def _own_groups(own: Path) -> list[tuple[str, str]]:
    """Return controllers and relative paths of our own groups; that of version 2 has no controller."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return []
    return [(name, path.strip("/")) for _, names, path in lines for name in names.split(",")]


def _with_parents(root: Path, own: Path, controller: str) -> list[Path]:
    """Return our own group for a controller and those above it.

    In a container the path may be that of the host, of which only the root is mounted.
    """
    folders = []
    for name, path in _own_groups(own):
        if name in ("", controller):
            top = root / name
            folders += [top / part for part in (Path(path), *Path(path).parents)]
    return folders


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _without_stale(parent: Path) -> Path:
    """Remove empty groups whose creator was killed together with its supervisor; return `parent`."""
    for folder in parent.glob(f"{_PREFIX}*"):
        pid, _, start = folder.name.removeprefix(_PREFIX).rpartition("-")[0].partition(".")
        if pid.isdigit() and start_ticks(int(pid)) != start:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return parent


def _create(folder: Path, limits: dict[str, int], make: Callable[[Path], None]) -> bool:
    """Create a group and write the limits that it supports; remove it if it supports none."""
    written = False
    with contextlib.suppress(OSError):
        make(folder)
        for name, value in limits.items():
            with contextlib.suppress(OSError):
                if (folder / name).exists():
                    (folder / name).write_text(f"{value}\n")
                    written = True
        if not written:
            folder.rmdir()
    return written
