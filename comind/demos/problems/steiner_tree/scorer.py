"""Checks Steiner points in the plane and returns the length of the minimum spanning tree with them."""

from typing import Any

import numpy as np

MAXIMIZE = False

_POWER = 20


def score(instance: dict[str, Any], solution: object) -> float:
    """Return the length of the minimum spanning tree over terminals and Steiner points.

    Raises:
        ValueError: the solution has another form, or has too many points or points outside the square.
    """
    terminals = instance["terminals"]
    added = _points(solution, len(terminals) - 2, instance["side"])
    return _tree_length(np.array([*terminals, *added], dtype=float))


def normalised(raw: float, reference: float) -> float:
    """Return (reference / length) to the twentieth power, as lengths differ by a few per cent only."""
    return float((reference / raw) ** _POWER)


def _points(solution: object, most: int, side: int) -> list[list[float]]:
    points = solution.get("points") if isinstance(solution, dict) else None
    if not isinstance(points, list):
        raise ValueError('the solution is not of the form {"points": [...]}')  # noqa: TRY004 - the contract
    if len(points) > most:
        raise ValueError(f"{len(points)} points are too many, {most} are allowed")
    for number, point in enumerate(points):
        if not isinstance(point, list) or len(point) != 2:  # noqa: PLR2004 - x and y
            raise ValueError(f"point {number} is not a list of two numbers")
        # NaN is not between two numbers either.
        if not all(type(value) in (int, float) and 0 <= value <= side for value in point):
            raise ValueError(f"point {number}: a coordinate is not a number between 0 and {side}")
    return points


def _tree_length(points: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return the length of the minimum spanning tree, by Prim's algorithm."""
    distance = np.full(len(points), np.inf)
    outside = np.ones(len(points), dtype=bool)
    total, newest = 0.0, 0
    for _ in range(len(points) - 1):
        outside[newest] = False
        distance = np.minimum(distance, np.hypot(*(points - points[newest]).T))
        newest = int(np.argmin(np.where(outside, distance, np.inf)))
        total += float(distance[newest])
    return total
