"""The processes that a function started: their processor time, and their end."""

import os
import resource
import signal
import time
from collections.abc import Iterator
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE_SECONDS = 0.005
_REAP_SECONDS = 5.0
_LOOK_SECONDS, _COST = 0.02, 20  # between two looks at least; a look takes one part in 20 of the time
_PARENT, _USER, _SYSTEM, _START = 1, 11, 12, 19  # fields of /proc/PID/stat after the name


class _Process(NamedTuple):
    process: int
    parent: int
    start: int
    seconds: float
    """Of processor time, without those of its children."""


class ProcessorTime:
    """The processor time of all processes that this one has started since, and of theirs.

    The system adds up those that were waited for; the others are looked at while they run.
    """

    def __init__(self) -> None:
        """Begin to count."""
        self._before = _waited_for()
        self._seen: dict[tuple[int, int], float] = {}
        self._next = 0.0

    def look(self) -> float:
        """Return the seconds until now; look at all processes, unless that was done just now."""
        begun = time.monotonic()
        if begun >= self._next:
            self._seen |= {(each.process, each.start): each.seconds for each in _descendants()}
            now = time.monotonic()
            self._next = now + max(_LOOK_SECONDS, _COST * (now - begun))
        return self.seconds

    @property
    def seconds(self) -> float:
        """What is known of until now."""
        return max(_waited_for() - self._before, sum(self._seen.values()))


def end_all(group: int) -> tuple[bool, int | None]:
    """Kill and reap all processes of a group and all our children, who include orphans of theirs.

    Returns whether none is left, and the status of the group's first process if it is reaped now.
    """
    _kill(-group)
    status, end = None, time.monotonic() + _REAP_SECONDS
    while time.monotonic() < end:
        for each in [each for each in _processes() if each.parent == os.getpid()]:
            _kill(each.process)
        try:
            while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
                status = reaped[1] if reaped[0] == group else status
        except ChildProcessError:
            return True, status
        time.sleep(_PAUSE_SECONDS)
    return False, status


def _waited_for() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _kill(target: int) -> None:
    try:
        os.kill(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _descendants() -> Iterator[_Process]:
    found = list(_processes())
    parents = {each.process: each.parent for each in found}
    for each in found:
        above: int | None = each.parent
        for _ in found:  # a process may have taken a number meanwhile
            if above is None or above == os.getpid():
                break
            above = parents.get(above)
        if above == os.getpid():
            yield each


def _processes() -> Iterator[_Process]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:  # it has ended
                continue
            seconds = (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS
            yield _Process(int(name), int(fields[_PARENT]), int(fields[_START]), seconds)
