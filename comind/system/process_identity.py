"""Identify processes beyond their process id, which is reused, to find the leftovers of dead ones."""

import os
from pathlib import Path


def process_identity() -> str:
    """Return `boot id/pid namespace/pid/start time` of this process."""
    return "/".join([_boot(), _view(), str(os.getpid()), start_ticks(os.getpid())])


def has_exited(owner: str) -> bool:
    """Whether the process of this identity has certainly exited; False if that cannot be decided."""
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
    """Return the pid namespace; in another one the same id is another process."""
    return str(Path("/proc/self/ns/pid").readlink())


def start_ticks(pid: int) -> str:
    """Return the start time of a process in clock ticks since boot; empty if it does not run."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()  # the name in parentheses may contain any character
    return "" if fields[0] in "ZX" else fields[19]
