"""First program: of the operations that can start first, the shortest (a schedule without delay)."""


def solve(jobs: list[list[list[int]]], machines: int) -> dict[str, list[list[int]]]:
    """Start all operations so that the last one ends early.

    Args:
        jobs: for each job its operations in order, each [machine, duration].
        machines: number of machines.

    Returns:
        {"starts": for each job the starts of its operations, integers from 0}
    """
    machine_free = [0] * machines
    job_free = [0] * len(jobs)
    starts: list[list[int]] = [[] for _ in jobs]
    waiting = {job for job, operations in enumerate(jobs) if operations}
    while waiting:

        def rank(job: int) -> tuple[int, int, int]:
            machine, duration = jobs[job][len(starts[job])]
            return max(job_free[job], machine_free[machine]), duration, job

        start, duration, job = min(rank(job) for job in waiting)
        machine, _ = jobs[job][len(starts[job])]
        starts[job].append(start)
        job_free[job] = machine_free[machine] = start + duration
        if len(starts[job]) == len(jobs[job]):
            waiting.remove(job)
    return {"starts": starts}
