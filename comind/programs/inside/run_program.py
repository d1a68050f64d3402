"""Run a program on one instance, in a sandbox for this instance alone.

Reads program/solver.py and cases/instance.json, the fields of the instance without its reference;
writes `solution`: how it ended. Whatever a program does to this process, it does to itself.
"""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from .limits import LEFT, Ended, run_limited
from .values import from_text

SOLUTION = "solution"
_DUMPABLE = 4  # of prctl


def solution_of(program: Path, instance: dict[str, Any]) -> Any:
    """Return the solution of a program in a file; its other definitions are new for each instance."""
    module = ModuleType("solver")  # data classes and pools of processes look it up by its name
    module.__file__ = str(program)
    sys.modules["solver"] = module
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), vars(module))
    solve: Callable[..., Any] = vars(module)["solve"]
    return solve(**instance)


def main(seconds: float, memory_mb: int) -> None:
    """Run it; exit without a solution if processes of the program are left, which could write one."""
    ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)  # our memory is not the program's to change
    instance = from_text(Path("cases/instance.json").read_text())
    ended = run_limited(partial(solution_of, Path("program/solver.py"), instance), seconds, memory_mb)
    if ended.failure == LEFT:
        sys.exit(LEFT)
    _write(SOLUTION, ended)


def _write(name: str, ended: Ended) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)  # of the program, which may have led it elsewhere
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(ended.packed())
