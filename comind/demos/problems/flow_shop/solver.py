"""Palmer's slope index: jobs whose times grow from machine to machine come first."""


def solve(times: list[list[int]]) -> dict[str, list[int]]:
    """Order jobs so that the last one leaves the last machine as early as possible.

    Args:
        times: times[machine][job] is how long a job takes on a machine. Each job passes the machines in
            the order of the rows, and all machines process the jobs in the same order.

    Returns:
        {"order": [jobs, counted from 0, as they are processed]}; each job is in the list once.
    """
    machines, jobs = len(times), len(times[0])

    def slope(job: int) -> int:
        return sum((2 * machine + 1 - machines) * times[machine][job] for machine in range(machines))

    return {"order": sorted(range(jobs), key=slope, reverse=True)}
