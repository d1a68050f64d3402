"""Measure processor time and memory of a process and its descendants.

Their own counters are read, as control groups exist only where this user may create them.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

_COUNTED_BYTES = 32 << 30


@dataclass(frozen=True, slots=True)
class ProcessLoad:
    """What a process and its descendants have used."""

    cpu_seconds: float
    """Of all cores together, with descendants that have exited."""
    memory_bytes: int
    """Pages that several of them share count once, where this user may count them."""
    resident_bytes: int
    """The sum over processes, which other programs on the machine do not change."""


def load_of_tree(pid: int) -> ProcessLoad | None:
    """Return the load of process `pid` and its descendants; None if it has exited.

    Orphans count, if `pid` is their subreaper. Processes that exit meanwhile may be missing.
    """
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return None
    seconds, resident = 0.0, dict[psutil.Process, int]()
    for process in processes:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
            resident[process] = process.memory_info().rss
    return ProcessLoad(seconds, _memory(resident), sum(resident.values()))


def _memory(resident: Mapping[psutil.Process, int]) -> int:
    """Return the bytes of processes, by their resident bytes; pages that they share count once.

    The system counts a process's share of pages one by one. So that is asked only where more than a
    tenth can be shared, of less than 32 GiB.
    """
    total = sum(resident.values())
    if total - max(resident.values(), default=0) <= total / 10 or total > _COUNTED_BYTES:
        return total
    found = 0
    for process, bytes_of_it in resident.items():
        with contextlib.suppress(psutil.NoSuchProcess):
            try:
                found += int(process.memory_full_info().pss)
            except psutil.AccessDenied:
                found += bytes_of_it
    return found
