"""Supervise one container; a program of the standard library alone, started by `docker.py`.

It starts a container that was created, copies its output to a log of limited size, and removes it when
its program has exited or when stdin closes, whatever ended the parent process. It writes events to
stdout as JSON lines: `started` or `refused` (reason), then `ended` (exit code, out of memory) or `gone`
(the engine does not answer).
"""

import contextlib
import http.client
import json
import os
import queue
import shutil
import signal
import socket
import sys
import threading
import time
from typing import IO, Any

_HEADER_BYTES = 8  # of a frame: stream, three zeros, length
_KILLED = 137
_SIGNALLED = 128
_SETTLE_SECONDS = 1.0  # after a kill: until the engine reports out of memory, or stops itself
_REMOVE_SECONDS = 30.0
_NOT_FOUND = 404
_ERRORS = 400


class _Engine:
    """The calls of the engine's API that are needed; `base` is the prefix of its version."""

    def __init__(self, path: str, base: str, container: str) -> None:
        self._path = path
        self._base = f"{base}/containers/{container}"

    def call(self, method: str, what: str, timeout: float | None = 60.0) -> tuple[int, Any]:
        """Return status and parsed body of a request.

        Raises:
            OSError: the connection failed.
        """
        response = self._open(method, what, timeout)
        try:
            body = response.read()
        except http.client.HTTPException as error:
            raise OSError(f"the engine broke off: {error}") from None
        return response.status, json.loads(body) if body.strip() else {}

    def output(self) -> http.client.HTTPResponse:
        """Return the stream of the container's output."""
        return self._open("POST", "/attach?stream=1&stdout=1&stderr=1", timeout=None)

    def _open(self, method: str, what: str, timeout: float | None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)  # the engine's, in place of one over TCP
        connection.sock.settimeout(timeout)
        connection.sock.connect(self._path)
        try:
            connection.request(method, self._base + what)
            return connection.getresponse()
        except http.client.HTTPException as error:
            raise OSError(f"the engine broke off: {error}") from None

    def remove(self) -> None:
        """Remove the container and all its processes, and wait until it is gone."""
        end = time.monotonic() + _REMOVE_SECONDS
        while time.monotonic() < end:
            self.call("DELETE", "?force=1&v=1")
            if self.call("GET", "/json")[0] == _NOT_FOUND:
                return
            time.sleep(0.05)
        raise OSError("the engine does not remove the container")


def _emit(event: str, **facts: object) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({"event": event, **facts}), flush=True)  # noqa: T201 - a program's output


def _copy(stream: IO[bytes], log: IO[bytes], space: int) -> None:
    """Copy framed output into the log up to `space` bytes; read and drop the rest."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        while len(header := stream.read(_HEADER_BYTES)) == _HEADER_BYTES:
            left = int.from_bytes(header[4:], "big")
            while left and (part := stream.read(min(left, 1 << 16))):
                left -= len(part)
                log.write(part[:space])
                log.flush()
                space -= len(part[:space])


def _wait(engine: _Engine, events: "queue.SimpleQueue[str]") -> None:
    try:
        status, _ = engine.call("POST", "/wait", timeout=None)
    except (OSError, ValueError):
        status = _ERRORS
    events.put("gone" if status >= _ERRORS else "ended")


def _watch_parent(events: "queue.SimpleQueue[str]") -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    events.put("closed")


def _ending(engine: _Engine) -> dict[str, object]:
    """Return the exit code and whether memory ran out."""
    end = time.monotonic() + _SETTLE_SECONDS
    while True:
        state = engine.call("GET", "/json")[1]["State"]
        # The flag is also set when only a child was killed for memory.
        oom = bool(state["OOMKilled"]) and state["ExitCode"] == _KILLED
        if oom or state["ExitCode"] <= _SIGNALLED or time.monotonic() > end:
            return {"code": state["ExitCode"], "oom": oom}
        time.sleep(0.05)


def _first_process(engine: _Engine) -> int | None:
    """Return the id of the container's first process, whose exit kills all others.

    None if it has exited, or if the engine runs in another namespace of processes than this program.
    """
    facts = engine.call("GET", "/json")[1]
    pid = int(facts["State"]["Pid"])
    try:
        with open(f"/proc/{pid}/cgroup") as groups:  # noqa: PTH123 - importing pathlib takes time
            return pid if facts["Id"] in groups.read() else None
    except OSError:
        return None


def _open_process(pid: int | None) -> int | None:
    """Return a pidfd of a process."""
    try:
        return os.pidfd_open(pid) if pid is not None else None
    except OSError:
        return None


def _supervise(engine: _Engine, log: IO[bytes], log_bytes: int) -> None:
    stream = engine.output()
    status, answer = engine.call("POST", "/start")
    if status >= _ERRORS:
        _emit("refused", reason=str(answer.get("message", status)))
        engine.remove()
        return
    pid = _first_process(engine)
    process = _open_process(pid)
    _emit("started", pid=pid)
    copying = threading.Thread(target=_copy, args=(stream, log, log_bytes), daemon=True)
    copying.start()
    events: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_wait, args=(engine, events), daemon=True).start()
    threading.Thread(target=_watch_parent, args=(events,), daemon=True).start()
    event = events.get()
    try:
        if event == "ended":
            copying.join(timeout=5)
            _emit("ended", **_ending(engine))
        # This fails too if the engine is gone.
        engine.remove()
    except (OSError, ValueError, KeyError):
        # Without an engine the container would run on; as root we can still kill it.
        if process is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
        _emit("gone")


def main(path: str, base: str, container: str, log_path: str, log_bytes: str, scratch: str) -> None:
    """Run `container` of the engine at `path` to its exit; then remove it and the folder `scratch`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the orchestrator handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with open(log_path, "ab") as log:  # noqa: PTH123 - importing pathlib takes time
            _supervise(_Engine(path, base, container), log, int(log_bytes))
    except (OSError, ValueError, KeyError) as error:
        _emit("refused", reason=str(error))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads may still wait for an engine that does not answer
