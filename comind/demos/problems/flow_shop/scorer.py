"""Check an order of jobs and compute its makespan."""

from typing import Any

MAXIMIZE = False


def score(instance: dict[str, Any], solution: object) -> float:
    """Return when the last job leaves the last machine.

    Raises:
        ValueError: the order is infeasible; the message says why.
    """
    times = instance["times"]
    jobs = len(times[0])
    match solution:
        case {"order": list(order)}:
            pass
        case _:
            raise ValueError('the solution is no dictionary with a list "order"')
    is_done = [False] * jobs
    for position, job in enumerate(order):
        if type(job) is not int or not 0 <= job < jobs:
            raise ValueError(f"entry {position} of the order is no integer from 0 to {jobs - 1}")
        if is_done[job]:
            raise ValueError(f"job {job} is in the order twice")
        is_done[job] = True
    if not all(is_done):
        raise ValueError(f"job {is_done.index(False)} is not in the order")
    free = [0] * len(times)  # when each machine has done the jobs so far
    for job in order:
        end = 0
        for machine, row in enumerate(times):
            end = max(end, free[machine]) + row[job]
            free[machine] = end
    return float(free[-1])
