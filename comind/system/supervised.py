"""Start processes that are killed when this process exits, whatever ends it.

Between us and a child is a supervisor that reads from a pipe to which only we hold the writing end. When
we exit, also on SIGKILL, the pipe closes and the supervisor kills the child and all its descendants. It
is their subreaper, so orphans become its children, whatever session or group they moved to.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from comind.system.cgroups import ControlGroup
from comind.system.supervisor import remove_tree

_GRACE_SECONDS = 3.0
_END_SECONDS = 20.0  # timeout of a supervisor that kills many processes and removes their folders
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_BY_SIGNAL = 128


@dataclass(slots=True)
class SupervisedProcess:
    """A running child process and its supervisor; thread-safe."""

    _supervisor: subprocess.Popen[bytes]
    _report: int
    _group: ControlGroup | None
    _scratch: Path | None
    _out_of_memory: bool = False
    _cleaning: threading.Lock = field(default_factory=threading.Lock)

    @property
    def pid(self) -> int:
        """Id of the supervisor, of which the child and its descendants are descendants."""
        return self._supervisor.pid

    def exit_code(self) -> int | None:
        """Return None while the child runs, else its exit code (128 + n: killed by signal n)."""
        code = self._supervisor.poll()
        if code is not None:
            self._close_pipe()
            self._clean_up()
        return code

    def alive(self) -> bool:
        """Whether the child runs."""
        return self.exit_code() is None

    def exit_reason(self) -> str:
        """Return in one line why the child exited; out of memory if its control group recorded that."""
        return describe_exit(self.exit_code(), out_of_memory=self._out_of_memory)

    def stop(self, grace: float = _GRACE_SECONDS) -> None:
        """Terminate the child and its descendants, and wait for them."""
        self._close_pipe()
        try:
            self._supervisor.wait(timeout=grace + _END_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        self._clean_up()

    def _close_pipe(self) -> None:
        """Close the pipe, on which the supervisor terminates a running child."""
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()

    def _clean_up(self) -> None:
        """Read the supervisor's report; if it was killed, do its cleanup. Once, by the first caller."""
        with self._cleaning:
            if self._report >= 0:
                self._out_of_memory = os.read(self._report, 16) == b"memory"
                os.close(self._report)
                self._report = -1
            if self._supervisor.returncode < 0:
                if self._group is not None:
                    self._group.end(_END_SECONDS)
                if self._scratch is not None:
                    remove_tree(str(self._scratch))
            self._group = self._scratch = None


@dataclass(frozen=True, slots=True)
class Inherited:
    """Descriptors of ours for a child and its supervisor, and whether it has our session keyring."""

    passed: Sequence[int] = ()
    """Descriptors for the child."""
    held: Sequence[int] = ()
    """Descriptors, of locks, that stay open until the child and its descendants have exited."""
    keyctl: int = 0
    """Number of the system call that gives the child a session keyring of its own; 0: it has ours."""


def start_supervised(  # noqa: PLR0913 - each is an option of the child
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    log: Path | None = None,
    log_bytes: int = 0,
    scratch: Path | None = None,
    group: ControlGroup | None = None,
    grace: float = _GRACE_SECONDS,
    inherited: Inherited = Inherited(),
) -> SupervisedProcess:
    """Start `argv` so that it is killed when this process exits.

    Args:
        argv: program and arguments; the program is looked up on the PATH of `env`.
        env: the child's whole environment; ours is not inherited.
        cwd: its working directory.
        log: file for its stdout and stderr; None discards them.
        log_bytes: the most that is logged, from beginning and end; 0: all, written by the child itself.
        scratch: folder that is removed when the child has exited, even if we are killed.
        group: limits for the child and its descendants; removed with it.
        grace: seconds between SIGTERM and SIGKILL.
        inherited: what the child and its supervisor get of ours besides.

    Raises:
        OSError: the supervisor could not be started or the log not opened.
    """
    output = _output(log)
    report, report_end = os.pipe()
    options = {
        "grace": grace,
        "scratch": str(scratch or ""),
        "log_bytes": log_bytes if log is not None else 0,
        "groups": [str(folder) for folder in group.folders] if group else [],
        "report": report_end,
        "passed": list(inherited.passed),
        "keyctl": inherited.keyctl,
    }
    try:
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SUPERVISOR), json.dumps(options), *argv],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            pass_fds=(report_end, *inherited.passed, *inherited.held),
        )
    except OSError:
        os.close(report)
        if group is not None:
            group.remove()
        raise
    finally:
        os.close(report_end)
        with contextlib.suppress(OSError):
            output.close()
    return SupervisedProcess(supervisor, report, group, scratch)


def describe_exit(code: int | None, *, out_of_memory: bool) -> str:
    """Return the reason for an exit code (128 + n: killed by signal n) in one line."""
    if out_of_memory:
        return "out of memory: it used more than it may, and the system ended it"
    if code is not None and code > _BY_SIGNAL:
        with contextlib.suppress(ValueError):
            return f"it was ended by {signal.Signals(code - _BY_SIGNAL).name} (exit code {code})"
    return f"it ended with exit code {code}"


def _output(log: Path | None) -> IO[bytes]:
    log = log or Path(os.devnull)
    log.parent.mkdir(parents=True, exist_ok=True)
    return log.open("ab")
