"""Answer requests in forked processes, each request with limits of its own; none ends this process."""

import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from comind.system.supervised import describe_exit

_OUT_OF_MEMORY = 17  # exit code of a worker
_BY_SIGNAL = 128
_CHUNK = 1 << 16
_GIB = 1 << 30
_MOST_IDLE = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request."""

    cpu_seconds: int
    """Of all threads of the worker; the load of the machine does not count."""
    seconds: float
    """On the clock, against requests that wait forever."""
    memory_bytes: int
    """Of private memory, beyond what the worker has when it gets the request."""


class RequestFailedError(Exception):
    """A request exceeded a limit, or its worker died; the message is the end of a sentence."""


class ForkedWorkers:
    """Forked processes that answer requests, which are lines; thread-safe.

    Workers are kept, as a fork of a process with large libraries takes longer than a usual request. They
    have what this process had loaded; it must not compute in threads of its own, as a fork would copy
    locked locks.
    """

    def __init__(self, answer: Callable[[bytes], bytes], limits: Limits) -> None:
        """Set the function that answers a request in a worker; an exception ends the worker."""
        self._answer = answer
        self._limits = limits
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def request(self, request: bytes, *, share: int = 1) -> bytes:
        """Return the answer to a request, which may use `share` times the processor time.

        A worker that something else kills, such as the system when memory is short, is replaced once.

        Raises:
            RequestFailedError: a limit was exceeded, or the worker died.
        """
        cpu_seconds = share * self._limits.cpu_seconds
        for _ in range(2):
            worker = self._take()
            answer = worker.send(b"%d %s" % (cpu_seconds, request), self._limits.seconds)
            if answer is not None:
                self._keep(worker)
                return answer
            code = worker.stop()
            if code != _BY_SIGNAL + signal.SIGKILL:
                break
        raise RequestFailedError(_reason(code, cpu_seconds, self._limits))

    def stop(self) -> None:
        """Stop the workers that wait for a request."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.stop()

    def _take(self) -> "_Worker":
        with self._lock:  # else a worker forked now would keep the end of another's connection open
            return self._idle.pop() if self._idle else _Worker(self._answer, self._limits.memory_bytes)

    def _keep(self, worker: "_Worker") -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(worker)
                return
        worker.stop()


class _Worker:
    """One forked process; it ends when our end of its connection is closed."""

    def __init__(self, answer: Callable[[bytes], bytes], memory_bytes: int) -> None:
        self._connection, its_end = socket.socketpair()
        self._late = False
        self._pid = os.fork()
        if self._pid == 0:
            self._connection.close()
            _serve(its_end, answer, memory_bytes)
        its_end.close()

    def send(self, request: bytes, seconds: float) -> bytes | None:
        """Return the answer to a request; None if the worker died, or was killed after `seconds`."""
        try:
            self._connection.sendall(request + b"\n")
            answer = _read_line(self._connection, time.monotonic() + seconds)
        except TimeoutError:
            self._late = True
            os.kill(self._pid, signal.SIGKILL)
            return None
        except OSError:
            return None
        return answer

    def stop(self) -> int | None:
        """End the worker; return its exit code (128 + n: by signal n), None if it was too late."""
        self._connection.close()
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if self._late:
            return None
        return code if code >= 0 else _BY_SIGNAL - code


def _serve(connection: socket.socket, answer: Callable[[bytes], bytes], memory_bytes: int) -> NoReturn:
    """Answer requests until the connection ends, and exit without the exit handlers of our parent."""
    code = 1
    try:
        _set_limit(resource.RLIMIT_CORE, 0)  # a dump of our memory would show what the parent holds
        while request := _read_line(connection):
            cpu_seconds, _, line = request.partition(b" ")
            _limit_use(int(cpu_seconds), memory_bytes)
            connection.sendall(answer(line) + b"\n")
        code = 0
    except MemoryError:
        code = _OUT_OF_MEMORY
    finally:
        os._exit(code)


def _limit_use(cpu_seconds: int, memory_bytes: int) -> None:
    """Limit what this process may use from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit(resource.RLIMIT_CPU, round(used.ru_utime + used.ru_stime) + cpu_seconds)
    status = Path("/proc/self/status").read_text()
    [private] = (line.split()[1] for line in status.splitlines() if line.startswith("VmData:"))
    _set_limit(resource.RLIMIT_DATA, (int(private) << 10) + memory_bytes)


def _set_limit(name: int, value: int) -> None:
    hard = resource.getrlimit(name)[1]
    resource.setrlimit(name, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _read_line(connection: socket.socket, end: float | None = None) -> bytes | None:
    """Return a line without its break; None if the connection ends before.

    Raises:
        TimeoutError: there is none at `end`.
    """
    line = b""
    while not line.endswith(b"\n"):
        connection.settimeout(None if end is None else max(0.001, end - time.monotonic()))
        part = connection.recv(_CHUNK)
        if not part:
            return None
        line += part
    return line[:-1]


def _reason(code: int | None, cpu_seconds: int, limits: Limits) -> str:
    if code is None:
        return f"took more than {limits.seconds / 60:.0f} minutes"
    if code == _BY_SIGNAL + signal.SIGXCPU:
        return f"needed more than {cpu_seconds} s of processor time"
    if code == _OUT_OF_MEMORY:
        return f"needed more than {limits.memory_bytes / _GIB:.1f} GiB of memory"
    return f"failed: {describe_exit(code, out_of_memory=False)}"
