"""Processes that cannot outlive us, however we end.

A child started by `start_leashed` has a small keeper between it and us. The keeper holds the reading
end of a pipe whose writing end only we hold: when we end, by whatever signal, the pipe closes and the
keeper kills the child's whole process group. This needs neither `prctl` (which follows the starting
*thread*) nor a clean exit of ours.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

__all__ = ["LeashedProcess", "start_leashed"]

_GRACE_SECONDS = 3.0


class LeashedProcess:
    """A running child with its keeper; `pid` is the keeper's."""

    def __init__(self, keeper: subprocess.Popen[bytes]) -> None:
        self._keeper = keeper

    @property
    def pid(self) -> int:
        """Process id of the keeper."""
        return self._keeper.pid

    def exit_code(self) -> int | None:
        """Return None while the child runs, else its exit code (128 + n: ended by signal n)."""
        code = self._keeper.poll()
        if code is not None:
            self._let_go()
        return code

    def alive(self) -> bool:
        """Say whether the child runs."""
        return self.exit_code() is None

    def stop(self, grace: float = _GRACE_SECONDS) -> None:
        """End the child and everything in its process group; returns when it is gone."""
        self._let_go()
        try:
            self._keeper.wait(timeout=grace + _GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    def _let_go(self) -> None:
        """Close the pipe; a keeper whose child still runs asks it to end, then kills it."""
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()


def start_leashed(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    log: Path | None = None,
    scratch: Path | None = None,
    grace: float = _GRACE_SECONDS,
) -> LeashedProcess:
    """Start `argv` so that it ends when this process does.

    Args:
        argv: program and arguments; the program is looked up on the PATH of `env`.
        env: the child's whole environment; nothing of ours is added.
        cwd: its working directory.
        log: file that receives its stdout and stderr; without one they are dropped.
        scratch: folder that is removed when the child has ended, also when we are killed before.
        grace: seconds between the polite signal and the kill.

    Raises:
        OSError: the keeper could not be started or the log not opened.
    """
    output: IO[bytes] | int = subprocess.DEVNULL
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = log.open("ab")
    try:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(grace), str(scratch or ""), *argv],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    finally:
        if not isinstance(output, int):
            output.close()
    return LeashedProcess(keeper)


def _keep(grace: float, argv: list[str]) -> int:
    """Run the child and watch the pipe on our stdin; the body of the keeper process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the orchestrator's to handle
    wake_read, wake_write = os.pipe()
    signal.signal(signal.SIGCHLD, lambda *_: os.write(wake_write, b"x"))
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, process_group=0)
    while child.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno(), wake_read], [], [], 5.0)
        if sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 1):
            _end_group(child, grace)
            break
        if wake_read in ready:
            os.read(wake_read, 1)
    _signal_group(child.pid, signal.SIGKILL)  # what the child left behind in its group
    return child.wait()


def _end_group(child: "subprocess.Popen[bytes]", grace: float) -> None:
    _signal_group(child.pid, signal.SIGTERM)
    end = time.monotonic() + grace
    while child.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    _signal_group(child.pid, signal.SIGKILL)


def _signal_group(group: int, number: int) -> None:
    # An error: nobody is left, or only members of another user, who answer to their own keeper.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    _code = _keep(float(sys.argv[1]), sys.argv[3:])
    if sys.argv[2]:
        shutil.rmtree(sys.argv[2], ignore_errors=True)
    sys.exit(_code if _code >= 0 else 128 - _code)
