"""Run a Jupyter kernel whose output is limited and assigned to the cell that printed it.

    python kernel.py -f CONNECTION_FILE

Differences to `python -m ipykernel_launcher`:

- Output that is printed faster than it can be sent is truncated in the middle instead of queued.
- File descriptors 1 and 2 are a new pipe in each cell. So output of a child process, also one that
  outlives the cell, belongs to the cell that started it, and closing them affects one cell only.
- Threads print into the cell that started them.
"""

import contextlib
import fcntl
import json
import os
import select
import sys
import termios
import threading
import time
from io import StringIO

from ipykernel.iostream import OutStream
from ipykernel.kernelapp import IPKernelApp

_BUFFER = 1 << 22  # characters that may wait for the next flush, five times a second
_KEPT = 1 << 16  # at each end of truncated output
_DRAIN_SECONDS = 0.5
_SETTLE_SECONDS = 0.2


class BoundedStream(OutStream):  # type: ignore[misc]
    """An output stream that cannot be closed and keeps the beginning and end of a flood."""

    def __init__(self, *args: object, **options: object) -> None:
        options["watchfd"] = False  # `Pipes` does that, cell by cell
        super().__init__(*args, **options)

    def write(self, string: str) -> int:
        """Buffer text for the next flush."""
        if not isinstance(string, str):
            raise TypeError(f"write() argument must be str, not {type(string)}")
        count = len(string)
        if count > _BUFFER:
            string = _cut(string)
        _settle()
        super().write(string)
        with self._buffer_lock:
            for parent, buffer in self._buffers.items():
                if buffer.tell() > _BUFFER:
                    kept = StringIO()
                    kept.write(_cut(buffer.getvalue()))
                    self._buffers[parent] = kept
        return count

    def close(self) -> None:
        """Flush and stay open: all cells share one stream."""
        self.flush()

    def fileno(self) -> int:
        """Return the descriptor that child processes print to."""
        return 1 if self.name == "stdout" else 2


def _cut(text: str) -> str:
    dropped = len(text) - 2 * _KEPT
    return f"{text[:_KEPT]}\n... ({dropped} characters left out) ...\n{text[-_KEPT:]}"


_reader: threading.Thread | None = None  # of the running cell's pipe
_source = -1  # the pipe's reading end
_passing = threading.Event()  # the reader has read something that is not in the stream yet


def _settle() -> None:
    """Wait until earlier output of child processes has been read from the pipe."""
    if _source < 0 or threading.current_thread() is _reader:
        return
    waiting = bytearray(4)
    end = time.monotonic() + _SETTLE_SECONDS
    with contextlib.suppress(OSError, ValueError):
        while time.monotonic() < end:
            fcntl.ioctl(_source, termios.FIONREAD, waiting)
            if not any(waiting) and not _passing.is_set():
                return
            time.sleep(0.001)


class Pipes:
    """Gives each cell new file descriptors for output."""

    def __init__(self) -> None:
        self._quiet = os.open(os.devnull, os.O_WRONLY)

    def before(self, *_: object) -> None:
        """Open a pipe for the cell that starts."""
        global _reader, _source  # noqa: PLW0603 - ipykernel creates the streams
        for name in ("stdout", "stderr"):
            stream = getattr(sys, f"_comind_{name}")
            if getattr(getattr(sys, name), "closed", False):
                setattr(sys, name, stream)
        source, end = os.pipe()
        for number in (1, 2):
            os.dup2(end, number)
        os.close(end)
        stream = sys._comind_stdout  # type: ignore[attr-defined]
        parent = stream.parent_header
        _source = source
        _passing.clear()
        _reader = threading.Thread(target=_pass_on, args=(source, stream, parent), daemon=True)
        _reader.start()

    def after(self, *_: object) -> None:
        """Close the pipe after reading what is left in it."""
        for number in (1, 2):
            with contextlib.suppress(OSError):
                os.dup2(self._quiet, number)
        if _reader is not None:
            _reader.join(_DRAIN_SECONDS)  # a child that outlives the cell keeps the pipe open


def _pass_on(source: int, stream: OutStream, parent: dict[str, object]) -> None:
    stream._parent_header.set(parent)
    global _source  # noqa: PLW0603
    poll = select.poll()
    poll.register(source, select.POLLIN)
    with contextlib.suppress(OSError, ValueError):
        while poll.poll():
            if source == _source:  # a child of an earlier cell must not delay this one
                _passing.set()  # before reading, so that `_settle` always sees the data
            data = os.read(source, 1 << 16)
            stream.write(data.decode(errors="replace"))
            if source == _source:
                _passing.clear()
            if not data:
                break
    if _source == source:
        _passing.clear()
        _source = -1
    with contextlib.suppress(OSError):
        os.close(source)


def _inherit_parents() -> None:
    """Make a thread print into the cell that started it, not into the current one."""
    start = threading.Thread.start
    run = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def started(thread: threading.Thread) -> None:
        stream = getattr(sys, "_comind_stdout", None)
        thread._comind_parent = None if stream is None else stream.parent_header  # type: ignore[attr-defined]
        start(thread)

    def bootstrap(thread: threading.Thread) -> None:
        parent = getattr(thread, "_comind_parent", None)
        if parent:
            for name in ("stdout", "stderr"):
                getattr(sys, f"_comind_{name}")._parent_header.set(parent)
        run(thread)

    threading.Thread.start = started  # type: ignore[method-assign, assignment]
    threading.Thread._bootstrap_inner = bootstrap  # type: ignore[attr-defined]


class Kernel(IPKernelApp):  # type: ignore[misc]
    """The kernel application with our streams and pipes."""

    def init_io(self) -> None:
        """Create the streams, and a JSON packer for any text, also lone surrogates."""
        self.session.pack = lambda content: json.dumps(content, default=str).encode()
        self.outstream_class = f"{__name__}.BoundedStream"
        super().init_io()
        sys._comind_stdout, sys._comind_stderr = sys.stdout, sys.stderr  # type: ignore[attr-defined]

    def log_connection_info(self) -> None:
        """Skip the log line: no other client connects."""

    def init_shell(self) -> None:
        """Create the shell and register the pipes."""
        super().init_shell()
        pipes = Pipes()
        self.shell.events.register("pre_run_cell", pipes.before)
        self.shell.events.register("post_run_cell", pipes.after)
        _inherit_parents()


if __name__ == "__main__":
    quiet = ["--HistoryManager.enabled=False", "--IPKernelApp.log_level=40"]
    Kernel.launch_instance([*sys.argv[1:], *quiet])
