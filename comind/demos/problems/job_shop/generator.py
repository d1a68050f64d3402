"""Makes job shops with known optima.

A schedule is drawn first: whenever a machine is idle it takes a random free job that it has not had.
The first machine never pauses: where no job is free when it has finished one, that operation is made
longer until one is. The schedule ends when this machine has had every job, and what the others would do
later is cut off. So the makespan is the load of the first machine, which no schedule beats.
"""

import heapq
import random
from typing import Any

_PARTS = ["development"] * 8 + ["sealed"] * 24 + ["test"] * 16
# Case: jobs, machines.
_CASES = {"j10m5": (10, 5), "j15m10": (15, 10), "j20m15": (20, 15), "j30m10": (30, 10)}


def generate() -> list[dict[str, Any]]:
    """Return all instances with their optima."""
    names = list(_CASES)
    found = []
    for number, part in enumerate(_PARTS):
        turn, place = divmod(number, len(names))
        case = names[place]
        draw = random.Random(f"job_shop:{number}")  # noqa: S311 - not for security
        jobs, machines = _CASES[case]
        routes, makespan = _schedule(draw, jobs, machines)
        found.append(
            {
                "id": f"{case}-{turn:02d}",
                "case": case,
                "part": part,
                "instance": {"jobs": _shuffled(draw, routes, machines), "machines": machines},
                "reference": float(makespan),
            }
        )
    return found


def _schedule(draw: random.Random, jobs: int, machines: int) -> tuple[list[list[list[int]]], int]:
    """Return for each job its operations, each [machine, start, end], and the makespan."""
    left = [set(range(jobs)) for _ in range(machines)]
    routes: list[list[list[int]]] = [[] for _ in range(jobs)]
    job_free = [0] * jobs
    events = [(0, machine) for machine in range(machines)]  # a heap; at equal times machine 0 is first
    last = 0  # job that machine 0 had last
    while True:
        now, machine = heapq.heappop(events)
        ready = sorted(job for job in left[machine] if job_free[job] <= now)
        if ready:
            job = draw.choice(ready)
            left[machine].remove(job)
            job_free[job] = now + draw.randint(5, 99)
            routes[job].append([machine, now, job_free[job]])
            heapq.heappush(events, (job_free[job], machine))
            last = job if machine == 0 else last
        elif left[machine]:
            soonest = min(job_free[job] for job in left[machine])
            if machine == 0:
                routes[last][-1][2] = job_free[last] = soonest
            heapq.heappush(events, (soonest, machine))
        elif machine == 0:
            return routes, now


def _shuffled(
    draw: random.Random, routes: list[list[list[int]]], machines: int
) -> list[list[list[int]]]:
    """Return [machine, duration] of all operations, with jobs and machines in random order."""
    makespan = max(end for route in routes for machine, _, end in route if machine == 0)
    label = draw.sample(range(machines), machines)
    jobs = [
        [[label[machine], min(end, makespan) - start] for machine, start, end in route]
        for route in routes
    ]
    draw.shuffle(jobs)
    return jobs
