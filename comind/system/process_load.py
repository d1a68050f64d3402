"""Measure processor time and memory of a process and its descendants.

Their own counters are read, as control groups exist only where this user may create them.
"""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class ProcessLoad:
    """What a process and its descendants have used."""

    cpu_seconds: float
    """Of all cores together, with descendants that have exited."""
    memory_bytes: int
    """Pages that several of them share count once."""


def load_of_tree(pid: int) -> ProcessLoad | None:
    """Return the load of process `pid` and its descendants; None if it has exited.

    Orphans count, if `pid` is their subreaper. Processes that exit meanwhile may be missing.
    """
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return None
    seconds, memory = 0.0, 0
    for process in processes:
        try:
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
            memory += _memory(process)
        except psutil.Error:
            continue
    return ProcessLoad(seconds, memory)


def _memory(process: psutil.Process) -> int:
    """Return the bytes of a process, with its part of shared pages where the system shows it."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
