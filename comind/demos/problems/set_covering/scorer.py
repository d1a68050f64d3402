"""Check a covering and add up its costs."""

from typing import Any

MAXIMIZE = False


def score(instance: dict[str, Any], solution: object) -> float:
    """Return what the chosen columns cost.

    Raises:
        ValueError: the covering is infeasible; the message says why.
    """
    columns, costs = instance["columns"], instance["costs"]
    match solution:
        case {"columns": list(chosen)}:
            pass
        case _:
            raise ValueError('the solution is no dictionary with a list "columns"')
    is_chosen = [False] * len(columns)
    is_covered = [False] * instance["rows"]
    for position, column in enumerate(chosen):
        if type(column) is not int or not 0 <= column < len(columns):
            raise ValueError(
                f"entry {position} of the columns is no integer from 0 to {len(columns) - 1}"
            )
        if is_chosen[column]:
            raise ValueError(f"column {column} is chosen twice")
        is_chosen[column] = True
        for row in columns[column]:
            is_covered[row] = True
    if not all(is_covered):
        raise ValueError(f"row {is_covered.index(False)} is not covered")
    return float(sum(costs[column] for column in chosen))
