"""Run a function in a process of its own, with limits of processor time, memory and time.

All that it has started ends with it, and counts: processes whose parent ended become children of ours.
"""

import ctypes
import math
import os
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from .values import from_text, to_text

PROCESSOR_TIME = "ran out of processor time"
WAITED = "did not end in time"
MEMORY = "ran out of memory"
RAISED = "raised an exception"
ENDED = "ended without a solution"
NOT_PLAIN = "returned no plain value"
TOO_LARGE = "returned a value of more than 32 MB"

_MOST_BYTES = 32 << 20
_CHUNK = 1 << 16
_SUBREAPER = 36  # of prctl
_PAUSE_SECONDS = 0.02
_REAP_SECONDS = 5.0
_SLACK = 0.25  # seconds of processor time that starting and ending may take
_DETAIL = 300


class Ended(NamedTuple):
    """How a function ended: with a value, or with a failure of one of the kinds above."""

    value: Any = None
    failure: str = ""
    detail: str = ""
    """What raised, and where; written by the function, so not to be trusted."""
    seconds: float = 0.0
    """Of processor time, with all that it started."""


def run_limited(function: Callable[[], Any], seconds: float, memory_mb: int) -> Ended:
    """Return how `function` ends within `seconds` of processor time, and some more in all."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    before, reading, writing = _processor_seconds(), *os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run(function, writing, seconds, memory_mb)
    os.close(writing)
    content, in_time, status = _read(reading, child, time.monotonic() + 2 * seconds + 5)
    os.close(reading)
    _end_all(child)
    used = _processor_seconds() - before
    failure = _failure(content, in_time, status, used > seconds + _SLACK)
    if failure:
        return Ended(failure=failure, seconds=used)
    try:
        value, failure, detail = from_text(content.decode())
    except (ValueError, TypeError, RecursionError):  # it wrote to our pipe itself
        return Ended(failure=ENDED, seconds=used)
    return Ended(value, str(failure), str(detail)[:_DETAIL], used)


def run_apart(function: Callable[[], Any]) -> Any:
    """Return the value of a function that runs in a process of its own, without limits.

    Raises:
        RuntimeError: it raised, or ended.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            text = to_text([function(), ""])
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            text = to_text([None, _described(error)])
        with os.fdopen(writing, "w") as file:
            file.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(child, 0)
    value, failure = from_text(text) if text else (None, ENDED)
    if failure:
        raise RuntimeError(failure)
    return value


def _run(function: Callable[[], Any], writing: int, seconds: float, memory_mb: int) -> None:
    """Run the function in the child, write how it ended, and exit."""
    os.setsid()
    whole = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))
    with open("/proc/self/statm", "rb") as file:  # what a copy of our process has already
        pages = int(file.read().split()[0])
    memory = (memory_mb << 20) + pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)
    try:
        text = to_text([_value(function), "", ""])
    except MemoryError:
        text = to_text([None, MEMORY, ""])
    except _NotPlainError as error:
        text = to_text([None, NOT_PLAIN, str(error)])
    except BaseException as error:  # noqa: BLE001 - of a program that is not trusted
        text = to_text([None, RAISED, _described(error)])
    if len(text) > _MOST_BYTES:
        text = to_text([None, TOO_LARGE, ""])
    left = memoryview(text.encode())
    while left:
        left = left[os.write(writing, left) :]
    os._exit(0)


class _NotPlainError(Exception):
    """The value cannot be written as JSON."""


def _value(function: Callable[[], Any]) -> Any:
    value = function()
    try:
        to_text(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _NotPlainError(str(error)) from None
    return value


def _described(error: BaseException) -> str:
    """Return the exception's type and text, with the last line of the program that raised it."""
    try:
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if each.filename.endswith("solver.py")]
        where = f" (line {own[-1].lineno}, in {own[-1].name})" if own else ""
        return f"{type(error).__name__}: {error}"[: _DETAIL - len(where)] + where
    except BaseException:  # noqa: BLE001 - its text is computed by the program
        return type(error).__name__


def _read(reading: int, child: int, end: float) -> tuple[bytes, bool, int | None]:
    """Return what the child wrote, whether that ended in time, and its status if it has ended."""
    content, status = b"", None
    while time.monotonic() < end and len(content) <= _MOST_BYTES:
        if select.select([reading], [], [], _PAUSE_SECONDS)[0]:
            part = os.read(reading, _CHUNK)
            if not part:
                return content, True, status
            content += part
        elif status is not None:  # others hold the pipe open
            return content, True, status
        if status is None:
            ended, found = os.waitpid(child, os.WNOHANG)
            status = found if ended else None
    return content, len(content) > _MOST_BYTES, status


def _failure(content: bytes, in_time: bool, status: int | None, used_up: bool) -> str:
    """Return why there is no value to be read, empty if there may be one."""
    killed = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else 0
    if used_up or killed == signal.SIGXCPU:
        return PROCESSOR_TIME
    if not in_time:
        return WAITED
    if len(content) > _MOST_BYTES:
        return TOO_LARGE
    return "" if content else ENDED


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _end_all(child: int) -> None:
    """Kill and reap the child and all that it started."""
    _kill(os.killpg, child)
    end = time.monotonic() + _REAP_SECONDS
    while time.monotonic() < end:
        for process in _children():
            _kill(os.kill, process)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_PAUSE_SECONDS / 4)


def _kill(kill: Callable[[int, int], None], target: int) -> None:
    try:
        kill(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _children() -> list[int]:
    """Return our children; those of ended processes are ours as well."""
    found, own = [], os.getpid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent == own:
                found.append(int(name))
    return found
