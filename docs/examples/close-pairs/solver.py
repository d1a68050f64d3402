def solve(points, radius):
    """Return how many pairs of points are closer than the radius."""
    found = 0
    for number, (x, y) in enumerate(points):
        for a, b in points[:number]:
            if (x - a) ** 2 + (y - b) ** 2 < radius**2:
                found += 1
    return found
