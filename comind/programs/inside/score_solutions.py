"""Score the solutions of a program by the code in problem/; this runs in a sandbox without the program.

Reads cases/instances.json and cases/solutions.json; writes scores.json: of each the normalised score,
the objective, why it is 0, more on that, and seconds of processor time.
"""

from pathlib import Path
from typing import Any

from .limits import RAISED, Ended, run_limited
from .problem import INFEASIBLE, SCORER, Problem
from .values import from_text, to_text

_SECONDS, _MEMORY_MB = 60.0, 4096  # for one solution


def score_of(problem: Problem, given: dict[str, Any], ended: Ended) -> list[Any]:
    """Return normalised score, objective, failure, detail and seconds of what a program returned."""
    if ended.failure:
        return [0.0, None, ended.failure, ended.detail, ended.seconds]
    scored = run_limited(lambda: problem.score(given, ended.value, ended.seconds), _SECONDS, _MEMORY_MB)
    if not scored.failure:
        return [*scored.value, "", "", ended.seconds]
    if scored.failure == RAISED and scored.detail.startswith("ValueError: "):
        return [0.0, None, INFEASIBLE, scored.detail.removeprefix("ValueError: "), ended.seconds]
    kind = INFEASIBLE if problem.is_cobench and scored.failure == RAISED else SCORER
    return [0.0, None, kind, scored.detail or scored.failure, ended.seconds]


def main() -> None:
    """Score all solutions in order."""
    problem, cases = Problem(Path("problem")), Path("cases")
    instances = from_text((cases / "instances.json").read_text())
    solutions = from_text((cases / "solutions.json").read_text())
    found = [
        score_of(problem, given, Ended(*each)) for given, each in zip(instances, solutions, strict=True)
    ]
    Path("scores.json").write_text(to_text(found))
