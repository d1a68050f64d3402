"""Run a program on all instances, each in a process of its own.

Reads program/solver.py and cases/instances.json, a list of instances without references; writes
solutions.json: how each ended.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

from .limits import ENDED, run_limited
from .values import from_text, to_text


def solution_of(program: Path, instance: dict[str, Any]) -> Any:
    """Return the solution of a program in a file; its other definitions are new for each instance."""
    names: dict[str, Any] = {"__name__": "solver", "__file__": str(program)}
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), names)
    return names["solve"](**instance)


def main(seconds: float, memory_mb: int, workers: int) -> None:
    """Run every `workers`-th instance in each of so many processes."""
    program, instances = Path("program/solver.py"), from_text(Path("cases/instances.json").read_text())
    started = []
    for worker in range(workers):
        process = os.fork()
        if process == 0:
            for number in range(worker, len(instances), workers):
                ended = run_limited(partial(solution_of, program, instances[number]), seconds, memory_mb)
                Path(f"solution-{number}.json").write_text(to_text(list(ended)))
            os._exit(0)
        started.append(process)
    for process in started:
        os.waitpid(process, 0)
    found = []
    for number in range(len(instances)):
        try:
            found.append(from_text(Path(f"solution-{number}.json").read_text()))
        except (OSError, ValueError):  # the program interfered with the driver
            found.append([None, ENDED, "", 0.0])
    Path("solutions.json").write_text(to_text(found))
