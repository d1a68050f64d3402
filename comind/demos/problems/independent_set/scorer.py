"""Check an independent set of a graph and count its vertices."""

from typing import Any

MAXIMIZE = True


def score(instance: dict[str, Any], solution: object) -> float:
    """Return how many vertices are chosen.

    Raises:
        ValueError: the set is infeasible; the message says why.
    """
    count = instance["vertices"]
    match solution:
        case {"vertices": list(chosen)}:
            pass
        case _:
            raise ValueError('the solution is no dictionary with a list "vertices"')
    is_chosen = [False] * count
    for position, vertex in enumerate(chosen):
        if type(vertex) is not int or not 0 <= vertex < count:
            raise ValueError(f"entry {position} of the vertices is no integer from 0 to {count - 1}")
        if is_chosen[vertex]:
            raise ValueError(f"vertex {vertex} is chosen twice")
        is_chosen[vertex] = True
    for one, other in instance["edges"]:
        if is_chosen[one] and is_chosen[other]:
            raise ValueError(f"vertices {one} and {other} are both chosen, but joined")
    return float(len(chosen))
