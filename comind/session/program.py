"""Run one program to its exit in a sandbox, and define the environment of programs."""

import time
from collections.abc import Mapping
from pathlib import Path

from comind.session.output import truncate_output
from comind.session.quota import Quota, QuotaWatch
from comind.session.session_ports import CellResult, CellStatus, Handle, Input, Sandbox, SandboxSpec
from comind.system.temporary_folders import scratch_folder

_PAUSE_SECONDS = 0.02
_THREADED = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")


def run_program(  # noqa: PLR0913 - each is an option
    sandbox: Sandbox,
    arguments: tuple[str, ...],
    workspace: Path,
    *,
    inputs: tuple[Input, ...],
    env: Mapping[str, str],
    seconds: float,
    memory_bytes: int,
    quota: Quota = Quota(),  # noqa: B008 - frozen, safe to share
) -> CellResult:
    """Run `python ARGUMENTS` with a timeout, and return what it printed and how it ended.

    Paths in `arguments` are relative to the working directory, which is untrusted afterwards. `quota`
    is of its files.

    Raises:
        SandboxError: it could not be started.
    """
    with scratch_folder("p") as folder:
        scratch = folder / "s"  # removed with the program, before its output is read
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
        watch = QuotaWatch(quota, (workspace, runtime), [workspace / given.name for given in inputs])
        begun = time.monotonic()
        status, reason = _run(sandbox.start(spec), begun + seconds, watch)
        elapsed = round(time.monotonic() - begun, 3)
        printed = truncate_output((folder / "log").read_bytes().decode(errors="replace"))
    error = (printed.strip() or reason) if status is CellStatus.ERROR else reason
    return CellResult(status=status, output=printed, error=error, seconds=elapsed)


def _run(handle: Handle, end: float, quota: QuotaWatch) -> tuple[CellStatus, str]:
    """Wait for a program until `end`; return its status and, on failure, the reason."""
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
    """Return the environment of a program without our own variables; `home` is its home folder."""
    return {
        "PATH": f"{Path(python).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "USER": "sandbox",
        "LANG": "C.UTF-8",
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",  # the monitor reads output at once
        "PYTHONWARNINGS": "ignore",  # warnings of libraries would fill the model's context
        "NUMBA_CACHE_DIR": str(home / "numba"),
        # There is no network: fail at once instead of after many retries.
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "NO_ALBUMENTATIONS_UPDATE": "1",
        "HF_MODULES_CACHE": str(home / "modules"),  # HF_HOME may be a read-only store
        **extra,
    }


def thread_settings(threads: int) -> dict[str, str]:
    """Return the environment variables that limit the threads of numerical libraries."""
    names = (*(f"{library}_NUM_THREADS" for library in _THREADED), "LOKY_MAX_CPU_COUNT")
    # Waiting threads sleep: spinning made small fits many times slower.
    return {**dict.fromkeys(names, str(threads)), "OMP_WAIT_POLICY": "PASSIVE"}
