"""Run a function in a process of its own, with limits of processor time, memory and time.

All that it has started ends with it, and counts: processes whose parent ended become children of ours.
What it returns stays text, as decoding a hostile value may take any memory.
"""

import ctypes
import json
import math
import os
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from .processes import ProcessorTime, end_all
from .values import from_text, is_score, to_text

PROCESSOR_TIME = "ran out of processor time"
WAITED = "did not end in time"
MEMORY = "ran out of memory"
RAISED = "raised an exception"
ENDED = "ended without a solution"
NOT_PLAIN = "returned no plain value"
TOO_LARGE = "returned a value of more than 32 MB"
LEFT = "left processes that did not end"
INTERFERED = "ended its sandbox"
FAILURES = (PROCESSOR_TIME, WAITED, MEMORY, RAISED, ENDED, NOT_PLAIN, TOO_LARGE, LEFT, INTERFERED)

MOST_BYTES = (32 << 20) + (1 << 13)
"""Of an `Ended` in a file: a value of 32 MB, and the line before it."""
_VALUE_BYTES, _LINE_BYTES = 32 << 20, 1 << 13
_CHUNK = 1 << 20
_SUBREAPER = 36  # of prctl
_PAUSE_SECONDS = 0.02
_SLACK = 0.25  # seconds of processor time that starting and ending may take
_DETAIL = 300
_exit = os._exit
"""Bound before a program can exchange it."""


class Ended(NamedTuple):
    """How a function ended: with a value, or with a failure of one of the kinds above."""

    value: bytes = b""
    """In the form of values.py; not to be trusted."""
    failure: str = ""
    detail: str = ""
    """What raised, and where; written by the function, so not to be trusted."""
    seconds: float = 0.0
    """Of processor time, with all that it started."""

    def packed(self) -> bytes:
        """Return it as a line of JSON, and the value."""
        return json.dumps([self.failure, self.detail, self.seconds]).encode() + b"\n" + self.value


def unpacked(content: bytes) -> Ended:
    """Return what was packed.

    Raises:
        ValueError: it was not.
    """
    line, _, value = content.partition(b"\n")
    if len(line) > _LINE_BYTES:
        raise ValueError("its first line is too long")
    try:
        failure, detail, seconds = json.loads(line.decode())
    except (TypeError, RecursionError):
        raise ValueError("its first line is no list of three") from None
    if failure not in ("", *FAILURES) or not isinstance(detail, str) or not is_score(seconds):
        raise ValueError("its first line is not of ours")
    return Ended(value, failure, detail[:_DETAIL], float(seconds))


def run_limited(function: Callable[[], Any], seconds: float, memory_mb: int) -> Ended:
    """Return how `function` ends within `seconds` of processor time, and some more in all."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    processor, (reading, writing) = ProcessorTime(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            _run(function, writing, seconds, memory_mb)
        finally:
            _exit(0)
    os.close(writing)
    content, in_time = _read(reading, child, processor, seconds)
    os.close(reading)
    gone, status = end_all(child)
    used = processor.seconds
    if failure := _failure(content, in_time, status, used > seconds + _SLACK):
        detail = _signal_of(status) if failure == ENDED else ""
        return Ended(failure=failure, detail=detail, seconds=used)
    if not gone:
        return Ended(failure=LEFT, seconds=used)
    try:
        return unpacked(content)._replace(seconds=used)
    except ValueError:  # it wrote to our pipe itself
        return Ended(failure=ENDED, seconds=used)


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
    """Run the function in the child, and write how it ended."""
    os.setsid()
    whole = math.ceil(seconds + _SLACK)  # whole seconds; `_read` looks at the time as well
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))
    with open("/proc/self/statm", "rb") as file:  # what a copy of our process has already
        pages = int(file.read().split()[0])
    memory = (memory_mb << 20) + pages * resource.getpagesize()
    most = resource.getrlimit(resource.RLIMIT_AS)[1]  # only root may have more
    memory = memory if most == resource.RLIM_INFINITY else min(memory, most)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)
    left = memoryview(_ended(function).packed())
    while left:
        left = left[os.write(writing, left) :]


def _ended(function: Callable[[], Any]) -> Ended:
    try:
        value = _text(function())
    except MemoryError:
        return Ended(failure=MEMORY)
    except _NotPlainError as error:
        return Ended(failure=NOT_PLAIN, detail=str(error)[:_DETAIL])
    except BaseException as error:  # noqa: BLE001 - of a program that is not trusted
        return Ended(failure=RAISED, detail=_described(error))
    return Ended(value) if len(value) <= _VALUE_BYTES else Ended(failure=TOO_LARGE)


class _NotPlainError(Exception):
    """The value cannot be written as JSON."""


def _text(value: Any) -> bytes:
    try:
        return to_text(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _NotPlainError(str(error)) from None


def _described(error: BaseException) -> str:
    """Return the exception's type and text, with the last line of the program that raised it."""
    try:
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if each.filename.endswith("solver.py")]
        where = f" (line {own[-1].lineno}, in {own[-1].name})"[:_DETAIL] if own else ""
        return f"{type(error).__name__}: {error}"[: _DETAIL - len(where)] + where
    except BaseException:  # noqa: BLE001 - its text is computed by the program
        return type(error).__name__[:_DETAIL]


def _read(reading: int, child: int, processor: ProcessorTime, seconds: float) -> tuple[bytes, bool]:
    """Return what the child wrote, and whether that ended within the limits of time."""
    content, end, ended = bytearray(), time.monotonic() + 2 * seconds + 5, False
    while len(content) <= MOST_BYTES:
        if time.monotonic() > end or processor.look() > seconds + _SLACK:
            return bytes(content), False
        if select.select([reading], [], [], _PAUSE_SECONDS)[0]:
            part = os.read(reading, _CHUNK)
            if not part:
                break
            content += part
        elif ended:  # others hold the pipe open
            break
        else:
            ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return bytes(content), True


def _signal_of(status: int | None) -> str:
    """Return the signal that ended a process, empty if none did."""
    if status is None or not os.WIFSIGNALED(status):
        return ""
    return f"by the signal {os.WTERMSIG(status)}"


def _failure(content: bytes, in_time: bool, status: int | None, used_up: bool) -> str:
    """Return why there is no value to be read, empty if there may be one."""
    killed = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else 0
    if used_up or killed == signal.SIGXCPU:
        return PROCESSOR_TIME
    if not in_time:
        return WAITED
    if len(content) > MOST_BYTES:
        return TOO_LARGE
    return "" if content else ENDED
