"""Score the solutions of a program by the code in problem/; this runs in a sandbox without the program.

Reads cases/instances.json and cases/solution-N, how the program ended on each; writes scores.json: of
each the normalised score, the objective, why it is 0, more on that, and seconds of processor time.
"""

import time
from pathlib import Path
from typing import Any

from .limits import PROCESSOR_TIME, RAISED, Ended, run_limited, unpacked
from .problem import INFEASIBLE, SCORER, Problem
from .values import from_text, to_text

_SECONDS, _MEMORY_MB = 60.0, 4096  # for one solution
_DETAIL = 300


def score_of(
    problem: Problem, given: dict[str, Any], ended: Ended, seconds: float = _SECONDS
) -> list[Any]:
    """Return normalised score, objective, failure, detail and seconds of what a program returned.

    `seconds` are for the scorer.
    """
    if ended.failure:
        return [0.0, None, ended.failure, ended.detail, ended.seconds]

    def scored() -> list[Any]:
        try:
            return [*problem.score(given, from_text(ended.value), ended.seconds), "", ""]
        except ValueError as error:
            return [0.0, None, INFEASIBLE, str(error)[:_DETAIL]]

    found = run_limited(scored, seconds, _MEMORY_MB)
    if not found.failure:
        return [*from_text(found.value), ended.seconds]
    kind = INFEASIBLE if problem.is_cobench and found.failure == RAISED else SCORER
    return [0.0, None, kind, found.detail or found.failure, ended.seconds]


def main(seconds: float) -> None:
    """Score all solutions in order, as far as `seconds` suffice."""
    end, problem, cases = time.monotonic() + seconds, Problem(Path("problem")), Path("cases")
    found = []
    for number, given in enumerate(from_text((cases / "instances.json").read_text())):
        ended = unpacked((cases / f"solution-{number}").read_bytes())
        allowed = min(_SECONDS, (end - time.monotonic()) / 2)
        if allowed < 1 and not ended.failure:  # solutions may be made to be slow to score
            found.append([0.0, None, SCORER, PROCESSOR_TIME, ended.seconds])
        else:
            found.append(score_of(problem, given, ended, allowed))
    Path("scores.json").write_text(to_text(found))
