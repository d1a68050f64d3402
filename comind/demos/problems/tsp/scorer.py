"""Check a tour and measure its length."""

import math
from typing import Any

MAXIMIZE = False


def score(instance: dict[str, Any], solution: object) -> float:
    """Return the length of the closed tour.

    Raises:
        ValueError: the tour is infeasible; the message says why.
    """
    points = instance["points"]
    match solution:
        case {"tour": list(tour)}:
            pass
        case _:
            raise ValueError('the solution is no dictionary with a list "tour"')
    visited = [False] * len(points)
    for position, point in enumerate(tour):
        if type(point) is not int or not 0 <= point < len(points):
            raise ValueError(f"entry {position} of the tour is no integer from 0 to {len(points) - 1}")
        if visited[point]:
            raise ValueError(f"point {point} is visited twice")
        visited[point] = True
    if not all(visited):
        raise ValueError(f"point {visited.index(False)} is not visited")
    return math.fsum(
        math.dist(points[one], points[other])
        for one, other in zip(tour, [*tour[1:], tour[0]], strict=True)
    )
