"""Try a program on the development instances, with the limits and the scorer of the sealed ones.

import sys
sys.path.insert(0, FOLDER)  # that has runner/ and problem/
from runner.evaluate import evaluate

evaluate(solve)    # a function, or the name of a file that defines `solve`
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from .limits import run_apart, run_limited
from .problem import Problem
from .run_program import solution_of
from .score_solutions import score_of
from .values import from_text

_HERE = Path(__file__).resolve().parent.parent


def evaluate(program: str | Callable[..., Any], most: int | None = None) -> float:
    """Print the score of each development instance, of the first `most`, and return their mean.

    All cases have the same weight in it.
    """
    rows = run_apart(lambda: [_row(program, each) for each in _instances()[:most]])
    normalises = Problem(_HERE / "problem").normalises
    cases: dict[str, list[float]] = {}
    for name, case, (score, objective, failure, detail, seconds) in rows:
        why = f": {failure} {detail}".rstrip() if failure else f", objective {objective:.6g}"
        scored = -math.inf if failure and not normalises else score
        print(f"{name}: {scored:.4f}{why} ({seconds:.1f} s)")
        cases.setdefault(case, []).append(scored)
    mean = fmean(map(fmean, cases.values()))
    known = "" if normalises else " without references, higher is better,"
    print(f"mean score{known} on {len(rows)} development instances: {mean:.4f}")
    return mean


def _instances() -> Any:
    return from_text((_HERE / "development.json").read_text())


def _row(program: str | Callable[..., Any], given: dict[str, Any]) -> tuple[str, str, list[Any]]:
    """Return an instance's name and case, and how the program ended on it and was scored."""
    limits, fields = json.loads((_HERE / "limits.json").read_text()), given["instance"]

    def solution() -> Any:
        return program(**fields) if callable(program) else solution_of(Path(program), fields)

    ended = run_limited(solution, limits["seconds"], limits["memory_mb"])
    return given["id"], given["case"], score_of(Problem(_HERE / "problem"), given, ended)
