"""Checks the duties of crews and adds up the cost of their transitions."""

from itertools import pairwise
from typing import Any

MAXIMIZE = False


def score(instance: dict[str, Any], solution: object) -> float:
    """Return the total cost of all transitions.

    Raises:
        ValueError: the solution has another form, or is infeasible.
    """
    duties = _duties(instance, solution)
    costs = {(one, other): cost for one, other, cost in instance["transitions"]}
    total = 0
    for crew, duty in enumerate(duties):
        for one, other in pairwise(duty):
            if (one, other) not in costs:
                raise ValueError(f"crew {crew}: there is no transition from task {one} to task {other}")
            total += costs[one, other]
        if instance["ends"][duty[-1]] - instance["starts"][duty[0]] > instance["duty_limit"]:
            raise ValueError(f"crew {crew}: the duty is longer than {instance['duty_limit']}")
    return float(total)


def _duties(instance: dict[str, Any], solution: object) -> list[list[int]]:
    """Return the duties, in which each task is once."""
    duties = solution.get("crews") if isinstance(solution, dict) else None
    if not isinstance(duties, list):
        raise ValueError('the solution is not of the form {"crews": [...]}')  # noqa: TRY004 - the contract
    if len(duties) > instance["crews"]:
        raise ValueError(f"{len(duties)} crews are used, there are {instance['crews']}")
    count = len(instance["starts"])
    seen: set[int] = set()
    for crew, duty in enumerate(duties):
        if not isinstance(duty, list) or not duty:
            raise ValueError(f"crew {crew}: not a list of one task or more")
        for task in duty:
            if type(task) is not int or not 0 <= task < count:
                raise ValueError(f"crew {crew}: a task is not an integer between 0 and {count - 1}")
            if task in seen:
                raise ValueError(f"task {task} is done twice")
            seen.add(task)
    if len(seen) < count:
        raise ValueError(f"task {min(set(range(count)) - seen)} is done by nobody")
    return duties
