"""First program: the minimum spanning tree, with a Steiner point in each sharp corner of its edges."""

from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

Points = np.ndarray[Any, np.dtype[np.float64]]

_LARGEST_COSINE = -0.5  # of 120 degrees: a wider corner has no use for a point


def solve(terminals: list[list[int]], side: int) -> dict[str, list[list[float]]]:
    """Add points so that the minimum spanning tree over terminals and points is short.

    Args:
        terminals: [x, y] of each terminal.
        side: largest coordinate; the smallest is 0.

    Returns:
        {"points": [x, y] of each Steiner point, at most two fewer than terminals}
    """
    places = np.array(terminals, dtype=float)
    tree = minimum_spanning_tree(cdist(places, places))
    neighbours: list[list[int]] = [[] for _ in terminals]
    for one, other in zip(*tree.nonzero(), strict=True):
        neighbours[one].append(other)
        neighbours[other].append(one)
    corners = []
    for corner in range(len(places)):
        for one, other in combinations(neighbours[corner], 2):
            u, v = places[one] - places[corner], places[other] - places[corner]
            corners.append((u @ v / np.linalg.norm(u) / np.linalg.norm(v), corner, one, other))
    points: list[list[float]] = []
    used: set[frozenset[int]] = set()
    for cosine, corner, one, other in sorted(corners, reverse=True):
        edges = {frozenset((corner, one)), frozenset((corner, other))}
        if cosine > _LARGEST_COSINE and not edges & used:
            used |= edges
            points.append(_middle(places[[corner, one, other]]).clip(0, side).tolist())
    return {"points": points}


def _middle(triangle: Points) -> Points:
    """Return the point with the least sum of distances to the corners, by Weiszfeld's iteration."""
    point = triangle.mean(axis=0)
    for _ in range(50):
        weights = 1 / np.maximum(np.linalg.norm(triangle - point, axis=1), 1e-9)
        point = weights @ triangle / weights.sum()
    return np.asarray(point)
