"""Nearest neighbour: from each point the tour goes to the closest one that is not visited yet."""

import numpy as np


def solve(points: list[list[int]]) -> dict[str, list[int]]:
    """Find a short closed tour through all points of the plane.

    Args:
        points: the coordinates [x, y] of each point.

    Returns:
        {"tour": [indices of the points, counted from 0, in the order of the tour]}; each point is in it
        once, and the tour returns from the last point to the first.
    """
    places = np.array(points, dtype=float)
    is_left = np.ones(len(places), dtype=bool)
    tour = [0]
    is_left[0] = False
    while len(tour) < len(places):
        distances = np.hypot(*(places - places[tour[-1]]).T)
        nearest = int(np.where(is_left, distances, np.inf).argmin())
        tour.append(nearest)
        is_left[nearest] = False
    return {"tour": tour}
