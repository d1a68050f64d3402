"""Run one program to its end in a sandbox."""

import time
from collections.abc import Mapping
from pathlib import Path

from comind.session.base import CellResult, CellStatus, Handle, Input, Sandbox, SandboxSpec
from comind.session.output import truncate_output
from comind.session.quota import Quota, QuotaWatch
from comind.system.temporary_folders import scratch_folder

__all__ = ["environment", "run_program", "thread_settings"]

_PAUSE_SECONDS = 0.02
_THREADED = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")


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
    """Return what `python ARGUMENTS` printed and how it ended; after so many seconds it is ended.

    Paths in `arguments` are relative to the working directory, which is untrusted afterwards.

    Raises:
        SandboxError: it could not be started.
    """
    with scratch_folder("p") as folder:
        scratch = folder / "s"  # gone when the program is; what it printed is not
        runtime = scratch / "r"
        runtime.mkdir(mode=0o700, parents=True)
        workspace.mkdir(parents=True, exist_ok=True)
        _, home = sandbox.paths_inside(workspace, runtime)
        spec = SandboxSpec(
            argv=(sandbox.python, "-P", *arguments),
            env=environment(sandbox.python, home, env),
            workspace=workspace,
            runtime=runtime,
            scratch=scratch,
            inputs=inputs,
            log=folder / "log",
            memory_bytes=memory_bytes,
        )
        quota = QuotaWatch(Quota(), (workspace, runtime), [workspace / given.name for given in inputs])
        begun = time.monotonic()
        status, reason = _run(sandbox.start(spec), begun + seconds, quota)
        elapsed = round(time.monotonic() - begun, 3)
        printed = truncate_output((folder / "log").read_bytes().decode(errors="replace"))
    error = (printed.strip() or reason) if status is CellStatus.ERROR else reason
    return CellResult(status=status, output=printed, error=error, seconds=elapsed)


def _run(handle: Handle, end: float, quota: QuotaWatch) -> tuple[CellStatus, str]:
    """Wait for a program, at most until `end`; say how it ended and, where that was badly, why."""
    try:
        while handle.alive():
            if time.monotonic() > end:
                return CellStatus.TIMEOUT, "it ran out of time"
            if reason := quota.exceeded():
                return CellStatus.DIED, f"it was ended: {reason}"
            time.sleep(_PAUSE_SECONDS)
        if handle.exit_code() == 0:
            return CellStatus.OK, ""
        return CellStatus.ERROR, handle.exit_reason()
    finally:
        handle.stop()


def environment(python: str, home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program; it may fill `home`, which is removed with it."""
    return {
        "PATH": f"{Path(python).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "USER": "sandbox",
        "LANG": "C.UTF-8",
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",  # what a program prints is seen at once, by the monitor too
        "PYTHONWARNINGS": "ignore",  # of libraries: they would fill the output that a model reads
        "NUMBA_CACHE_DIR": str(home / "numba"),
        # There is no network: what would ask for one says so at once, instead of after many tries.
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "NO_ALBUMENTATIONS_UPDATE": "1",
        "HF_MODULES_CACHE": str(home / "modules"),  # HF_HOME may be a store, which is read-only
        **extra,
    }


def thread_settings(threads: int) -> dict[str, str]:
    """Return what keeps the libraries of a program to this many threads."""
    names = (*(f"{library}_NUM_THREADS" for library in _THREADED), "LOKY_MAX_CPU_COUNT")
    # Threads that wait for each other sleep: spinning made small fits many times slower.
    return {**dict.fromkeys(names, str(threads)), "OMP_WAIT_POLICY": "PASSIVE"}
