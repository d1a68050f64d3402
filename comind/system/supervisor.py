"""Supervise one process; a program of the standard library alone, started by `supervised.py`.

    python -I -S supervisor.py OPTIONS PROGRAM [ARGUMENT ...]

When its stdin closes, it kills PROGRAM and all its descendants. OPTIONS is a JSON object. It exits with
the program's exit code (128 + n: killed by signal n).
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG
_JOIN_SESSION_KEYRING = 1  # KEYCTL_JOIN_SESSION_KEYRING; without a name, a new one
_CHUNK = 1 << 16
_END_SECONDS = 10.0


class _Log:
    """Copy a program's output to our stdout: the beginning at once, the end at its exit."""

    def __init__(self, limit: int) -> None:
        self._head = limit // 2
        self._size = limit - self._head
        self._tail = b""
        self._dropped = 0

    def add(self, data: bytes) -> None:
        head, rest = data[: self._head], data[self._head :]
        self._head -= len(head)
        _write(head)
        self._tail += rest
        if len(self._tail) > 2 * self._size:
            self._cut()

    def close(self) -> None:
        self._cut()
        if self._dropped:
            _write(b"\n... (%d bytes left out) ...\n" % self._dropped)
        _write(self._tail)

    def _cut(self) -> None:
        surplus = max(0, len(self._tail) - self._size)
        self._dropped += surplus
        self._tail = self._tail[surplus:]


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _write(data: bytes) -> None:
    with contextlib.suppress(OSError):  # on a full disk output is dropped, and the program runs on
        while data:
            data = data[os.write(1, data) :]


class Supervisor:
    """Run one program, and kill it with its descendants when our stdin closes."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._grace = float(options["grace"])
        self._scratch = str(options["scratch"])
        self._groups = [Path(folder) for folder in options["groups"]]
        self._report = int(options["report"])
        self._passed = tuple(options["passed"])
        self._keyctl = int(options["keyctl"])
        self._log = _Log(options["log_bytes"]) if options["log_bytes"] else None

    def run(self, argv: list[str]) -> int:
        """Run the program to its exit or ours; return its exit code."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the orchestrator handles Ctrl-C
        _prctl(_SUBREAPER, 1)
        wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        output, output_end = os.pipe() if self._log else (-1, None)
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output_end,
            stderr=output_end,
            process_group=0,
            pass_fds=self._passed,
            preexec_fn=self._enter_child,  # noqa: PLW1509 - we have one thread
        )
        if output_end is not None:
            os.close(output_end)
        self._watch(child, wake, output)
        self._kill_descendants(child)
        if self._log is not None:
            self._log.close()
        code = child.wait()
        self._clean_up()
        return code if code >= 0 else 128 - code

    def _enter_child(self) -> None:
        """In the child before exec: join groups and a keyring, and be killed with the supervisor."""
        _prctl(_PARENT_DEATH, signal.SIGKILL)
        if self._keyctl:  # it fails where there are no keyrings, or none that programs may use
            ctypes.CDLL(None).syscall(self._keyctl, _JOIN_SESSION_KEYRING, None)
        for folder in self._groups:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text(str(os.getpid()))

    def _watch(self, child: "subprocess.Popen[bytes]", wake: int, output: int) -> None:
        """Wait until the program has exited, or terminate it when stdin closes."""
        watched = {sys.stdin.fileno(), wake} | ({output} if output >= 0 else set())
        while child.poll() is None:
            ready, _, _ = select.select(list(watched), [], [], 5.0)
            if output in ready and not self._copy_output(output):
                watched.discard(output)
            if sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 1):
                self._terminate(child)
                break
            if wake in ready:
                os.read(wake, 64)
                self._reap(child)
        if output in watched:
            os.set_blocking(output, False)
            end = time.monotonic() + 1.0  # daemons may keep the pipe open and write without end
            while time.monotonic() < end and self._copy_output(output):
                pass

    def _copy_output(self, output: int) -> bool:
        try:
            data = os.read(output, _CHUNK)
        except OSError:
            return False
        assert self._log is not None
        self._log.add(data)
        return bool(data)

    @staticmethod
    def _reap(child: "subprocess.Popen[bytes]") -> None:
        """Reap orphans that became our children; `Popen` reaps the program itself."""
        for pid in _children():
            if pid != child.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _terminate(self, child: "subprocess.Popen[bytes]") -> None:
        if self._grace <= 0:
            return
        _signal_group(child.pid, signal.SIGTERM)
        end = time.monotonic() + self._grace
        while child.poll() is None and time.monotonic() < end:
            time.sleep(0.02)

    def _kill_descendants(self, child: "subprocess.Popen[bytes]") -> None:
        """Kill all descendants, again and again until none is left to fork."""
        _signal_group(child.pid, signal.SIGKILL)
        end = time.monotonic() + _END_SECONDS
        while time.monotonic() < end:
            for pid in {*_descendants(), *self._members()}:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            child.poll()
            self._reap(child)
            if not _children() and not self._members():
                return
            time.sleep(0.01)

    def _members(self) -> set[int]:
        """Return the process ids in the program's control groups."""
        members: set[int] = set()
        for folder in self._groups:
            with contextlib.suppress(OSError, ValueError):
                members |= {int(pid) for pid in (folder / "cgroup.procs").read_text().split()}
        return members

    def _clean_up(self) -> None:
        """Report out-of-memory kills; remove control groups and the scratch folder."""
        if any(_killed_for_memory(folder) for folder in self._groups):
            os.write(self._report, b"memory")
        for folder in self._groups:
            for _ in range(50):  # a group is busy until its last member is reaped
                with contextlib.suppress(OSError):
                    folder.rmdir()
                if not folder.exists():
                    break
                time.sleep(0.02)
        # Processes that are just exiting may still write there.
        end = time.monotonic() + _END_SECONDS
        while self._scratch and Path(self._scratch).exists() and time.monotonic() < end:
            remove_tree(self._scratch)
            time.sleep(0.01)


def _killed_for_memory(folder: Path) -> bool:
    for name in ("memory.oom_control", "memory.events"):
        with contextlib.suppress(OSError, ValueError):
            for line in (folder / name).read_text().splitlines():
                word, _, count = line.partition(" ")
                if word == "oom_kill" and int(count) > 0:
                    return True
    return False


def _children() -> list[int]:
    return [pid for pid, parent in _parents().items() if parent == os.getpid()]


def _descendants() -> set[int]:
    parents = _parents()
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def _parents() -> dict[int, int]:
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                facts = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
                parents[int(entry.name)] = int(facts[1])
    return parents


def _signal_group(group: int, number: int) -> None:
    # Errors: the group is empty, or its members are another user's, with a supervisor of their own.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def remove_tree(root: str) -> None:
    """Remove an untrusted folder of any depth; ignore what cannot be removed.

    Folders are moved up before they are emptied, so paths stay short and nothing recurses.
    """
    top = Path(root)
    with contextlib.suppress(OSError):
        if top.is_symlink() or not top.is_dir():
            top.unlink()
            return
        top.chmod(0o700)
        pending = _emptied(top, top, 0)
        count = len(pending)
        while pending:
            folder = pending.pop()
            with contextlib.suppress(OSError):
                moved = _emptied(folder, top, count)
                count += len(moved)
                pending += moved
                folder.rmdir()
    with contextlib.suppress(RecursionError):
        shutil.rmtree(root, ignore_errors=True)


def _emptied(folder: Path, top: Path, count: int) -> list[Path]:
    """Remove the files of a folder and move its subfolders up to `top`; return their new paths."""
    moved = []
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        path = Path(entry.path)
        with contextlib.suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                path.unlink()
                continue
            path.chmod(0o700)
            count += 1
            target = top / f".{os.getpid()}-{count}"
            path.rename(target)
            moved.append(target)
    return moved


if __name__ == "__main__":
    sys.exit(Supervisor(json.loads(sys.argv[1])).run(sys.argv[2:]))
