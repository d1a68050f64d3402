"""Run one program to its end in a sandbox."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from comind.session.base import CellResult, CellStatus, Handle, Input, Sandbox, SandboxSpec
from comind.session.environment import environment
from comind.session.output import Output

__all__ = ["run_program"]

_PAUSE_SECONDS = 0.02
_LOG_BYTES = 1 << 20


def run_program(
    sandbox: Sandbox,
    arguments: tuple[str, ...],
    workspace: Path,
    *,
    inputs: tuple[Input, ...],
    env: Mapping[str, str],
    seconds: float,
    memory_bytes: int,
) -> CellResult:
    """Return what `python ARGUMENTS` printed and how it ended.

    Args:
        sandbox: where it runs.
        arguments: of the interpreter; paths are relative to the working directory.
        workspace: the working directory on the host; untrusted afterwards.
        inputs: folders that it may read, below the working directory.
        env: settings for the code.
        seconds: after this time it is ended.
        memory_bytes: limit of its memory.

    Raises:
        SandboxError: it could not be started.
    """
    with tempfile.TemporaryDirectory(prefix="comind-p-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        runtime = scratch / "r"
        runtime.mkdir(mode=0o700)
        workspace.mkdir(parents=True, exist_ok=True)
        _, home = sandbox.seen_as(workspace, runtime)
        with tempfile.NamedTemporaryFile(prefix="comind-p-", suffix=".log") as log:
            spec = SandboxSpec(
                argv=(sandbox.python, "-P", *arguments),
                env=environment(sandbox.python, home, env),
                workspace=workspace,
                runtime=runtime,
                scratch=scratch,
                inputs=inputs,
                log=Path(log.name),
                memory_bytes=memory_bytes,
            )
            begun = time.monotonic()
            status, reason = _run(sandbox.start(spec), begun + seconds)
            elapsed = round(time.monotonic() - begun, 3)
            printed = _printed(Path(log.name))
    error = (printed.strip() or reason) if status is CellStatus.ERROR else reason
    return CellResult(status=status, output=printed, error=error, seconds=elapsed)


def _run(handle: Handle, end: float) -> tuple[CellStatus, str]:
    """Wait for a program, at most until `end`; say how it ended and, where that was badly, why."""
    try:
        while handle.alive():
            if time.monotonic() > end:
                return CellStatus.TIMEOUT, "it ran out of time"
            time.sleep(_PAUSE_SECONDS)
        if handle.exit_code() == 0:
            return CellStatus.OK, ""
        return CellStatus.ERROR, handle.exit_reason()
    finally:
        handle.kill()


def _printed(log: Path) -> str:
    kept = Output(head=4_000, tail=12_000)
    with log.open("rb") as file:
        kept.add(file.read(_LOG_BYTES).decode(errors="replace"))
    return kept.text()
