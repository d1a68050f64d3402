"""Check the number of pairs, and score the time."""

from collections import defaultdict


def score(instance, solution, seconds):
    """Return the seconds of processor time that a right answer took."""
    if isinstance(solution, bool) or solution != _close_pairs(**instance):
        raise ValueError("the number of pairs is wrong")
    return seconds


def normalised(seconds, reference):
    """Return the share of 0.05 s in 0.05 s and the time."""
    return 0.05 / (0.05 + seconds)


def _close_pairs(points, radius):
    cells = defaultdict(list)
    found = 0
    for x, y in points:
        column, row = int(x // radius), int(y // radius)
        for near in [(column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]:
            found += sum((x - a) ** 2 + (y - b) ** 2 < radius**2 for a, b in cells[near])
        cells[column, row].append((x, y))
    return found
