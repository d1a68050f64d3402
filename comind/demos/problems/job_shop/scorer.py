"""Checks the starts of a job shop's operations and returns the makespan."""

from itertools import pairwise
from typing import Any

MAXIMIZE = False

_LATEST = 10**9


def score(instance: dict[str, Any], solution: object) -> float:
    """Return the time when the last operation ends.

    Raises:
        ValueError: the solution has another form, or is infeasible.
    """
    jobs = instance["jobs"]
    starts = _starts(solution, jobs)
    busy: list[list[tuple[int, int, int]]] = [[] for _ in range(instance["machines"])]
    for job, (operations, times) in enumerate(zip(jobs, starts, strict=True)):
        free = 0
        for place, ((machine, duration), start) in enumerate(zip(operations, times, strict=True)):
            if start < free:
                raise ValueError(
                    f"job {job}: operation {place} starts before the previous one has ended"
                )
            free = start + duration
            busy[machine].append((start, free, job))
    for machine, spans in enumerate(busy):
        spans.sort()
        for (_, end, one), (start, _, other) in pairwise(spans):
            if start < end:
                raise ValueError(f"machine {machine}: jobs {one} and {other} overlap")
    return float(max(end for spans in busy for _, end, _ in spans))


def _starts(solution: object, jobs: list[list[list[int]]]) -> list[list[int]]:
    starts = solution.get("starts") if isinstance(solution, dict) else None
    if not isinstance(starts, list) or len(starts) != len(jobs):
        raise ValueError(f'the solution is not of the form {{"starts": [...]}} with {len(jobs)} lists')
    for job, (operations, times) in enumerate(zip(jobs, starts, strict=True)):
        if not isinstance(times, list) or len(times) != len(operations):
            raise ValueError(f"job {job}: not a list of {len(operations)} starts")
        if not all(type(time) is int and 0 <= time <= _LATEST for time in times):
            raise ValueError(f"job {job}: a start is not an integer between 0 and {_LATEST}")
    return starts
