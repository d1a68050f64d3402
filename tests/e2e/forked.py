"""Processes for `comind` that are forked from one that has loaded the libraries.

Each command would import Great Expectations, MLflow, scikit-learn and DVC anew, which takes longer than
most of what the tests do with them.
"""

import atexit
import multiprocessing
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

__all__ = ["run_forked", "start_forked"]

_LIBRARIES = [
    *("great_expectations", "mlflow.store.tracking.sqlalchemy_store", "mlflow.tracking"),
    *("pandas", "sklearn.datasets", "sklearn.ensemble", "dvc.repo", "dvc.cli", "networkx", "openai"),
    *("griffe", "httpx", "websockets.asyncio.client", "pydantic_settings", "pendulum"),
    *("prometheus_client", "nbformat", "duckdb"),
    *("comind.cli.main", "comind.wiring.runtime", "comind.session.kernel_session"),
    *("comind.agents.aide", "comind.agents.baseline", "comind.agents.comind"),
    "tests.e2e.preloaded_prefect",
]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(_LIBRARIES)


def run_forked(
    arguments: Sequence[str],
    cwd: Path | None,
    env: Mapping[str, str],
    said: tuple[Path, Path],
    *,
    seconds: float,
    program: str = "comind",
) -> int:
    """Run `comind` or `dvc` and return its exit code, -n where signal n ended it.

    `said` are files for stdout and stderr.

    Raises:
        TimeoutError: it did not end in time, and was killed.
    """
    process = start_forked(arguments, cwd, env, said, program=program)
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError(f"{program} {' '.join(arguments)}: {said[1].read_text()}")
    return process.exitcode


def start_forked(
    arguments: Sequence[str],
    cwd: Path | None,
    env: Mapping[str, str],
    said: tuple[Path, Path],
    *,
    program: str = "comind",
) -> BaseProcess:
    """Start `comind` or `dvc`, as `run_forked` does, and return its process."""
    files, here = tuple(map(str, said)), str(cwd or Path.cwd())
    process = _CONTEXT.Process(target=_run, args=(program, arguments, here, dict(env), files))
    process.start()
    return process


def _run(
    program: str, arguments: list[str], cwd: str, env: dict[str, str], said: tuple[str, str]
) -> None:
    """Become a process as the shell would have started it."""
    for descriptor, path in enumerate(said, start=1):
        with Path(path).open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = [program, *arguments]
    if program == "dvc":
        from dvc.cli import main
    else:
        from comind.cli.main import main
    code = main(arguments)
    threading._shutdown()  # type: ignore[attr-defined] # as an interpreter ends
    atexit._run_exitfuncs()
    sys.exit(code)
