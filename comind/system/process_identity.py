"""A name for a process that no later process can bear, to tell whose leftovers are whose."""

import os
from pathlib import Path

__all__ = ["has_exited", "process_identity", "start_ticks"]


def process_identity() -> str:
    """Return the name of this process: the machine's start, its view of processes, its id, its start."""
    return "/".join([_boot(), _view(), str(os.getpid()), start_ticks(os.getpid())])


def has_exited(owner: str) -> bool:
    """Say whether the process of this name has certainly ended; what cannot be told is not gone."""
    parts = owner.split("/")
    if len(parts) != 4 or not parts[2].isdigit():  # noqa: PLR2004 - as written above
        return False
    boot, view, pid, start = parts
    if boot != _boot():
        return True
    return view == _view() and start_ticks(int(pid)) != start


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _view() -> str:
    """Name the set of processes that we see; ids of another set mean others."""
    return str(Path("/proc/self/ns/pid").readlink())


def start_ticks(pid: int) -> str:
    """Return when a process started, in ticks; empty when there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()  # its name, in brackets, may hold anything
    return "" if fields[0] in "ZX" else fields[19]
