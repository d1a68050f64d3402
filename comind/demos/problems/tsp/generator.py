"""Make instances of the travelling salesman in the plane; distances are Euclidean.

u200, u500: points drawn uniformly from a square of area A. The reference is an ESTIMATE of the optimum
for n points, 0.7124 sqrt(n A) (1 + 0.33 / n). It leaves out what the border of the square adds, so it is
2 to 8 per cent below the optimum.

c200: points around few centres. The reference is the optimum, from an exact solver.

g200: points of an even grid, turned, with gaps. The grid consists of squares of two by two points that
are connected, so a tour along the squares, as around a tree, has only steps between neighbours, and its
length, the number of points times their distance, is the optimum.
"""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

_SHARES = {"development": 2, "sealed": 6, "test": 4}  # instances of each case
_SIDE = 1_000_000
_TURNS = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29))  # sides of right triangles
_BLOCKS, _BLOCK_ROWS, _BLOCK_COLUMNS = 50, 8, 12
_CLUSTERS, _SPREAD = 8, 60_000

# Optima of c200, rounded down. Computed once with HiGHS: degrees of 2, and cuts for all subtours found.
_CLUSTERED = (
    *(8251477.051, 6995538.217, 8949677.006, 6500512.012, 7835037.789, 8175010.655),
    *(7949373.148, 7857244.433, 7755228.937, 7738381.800, 7174255.209, 7910437.398),
)

Made = tuple[list[list[int]], float]


def generate() -> list[dict[str, Any]]:
    """Return all instances; the cases alternate."""
    cases = {
        "u200": _instances("u200", lambda draw, _: _uniform(draw, 200)),
        "u500": _instances("u500", lambda draw, _: _uniform(draw, 500)),
        "c200": _instances("c200", lambda draw, number: _clustered(draw, 200, _CLUSTERED[number])),
        "g200": _instances("g200", lambda draw, _: _grid(draw)),
    }
    return [
        {**next(made), "case": case, "part": part}
        for part, share in _SHARES.items()
        for _ in range(share)
        for case, made in cases.items()
    ]


def _instances(case: str, points: Callable[[random.Random, int], Made]) -> Iterator[dict[str, Any]]:
    """Yield the instances of a case, without end."""
    number = 0
    while True:
        draw = random.Random(f"tsp {case} {number}")  # noqa: S311 - not for security
        made, reference = points(draw, number)
        draw.shuffle(made)
        yield {"id": f"{case}-{number:02d}", "instance": {"points": made}, "reference": reference}
        number += 1


def _uniform(draw: random.Random, count: int) -> Made:
    """Return points of a square, with the estimate."""
    points = [[draw.randrange(_SIDE), draw.randrange(_SIDE)] for _ in range(count)]
    return points, 0.7124 * math.sqrt(count) * _SIDE * (1 + 0.33 / count)


def _clustered(draw: random.Random, count: int, optimum: float) -> Made:
    """Return points that are spread around centres, with the optimum."""
    centres = [(draw.randrange(_SIDE), draw.randrange(_SIDE)) for _ in range(_CLUSTERS)]
    points = []
    for _ in range(count):
        x, y = draw.choice(centres)
        points.append([round(draw.gauss(x, _SPREAD)), round(draw.gauss(y, _SPREAD))])
    return points, optimum


def _grid(draw: random.Random) -> Made:
    """Return points of a turned grid; its squares of four points grow from one to a connected shape."""
    squares = {(_BLOCK_ROWS // 2, _BLOCK_COLUMNS // 2)}
    while len(squares) < _BLOCKS:
        row, column = draw.choice(sorted(squares))
        down, right = draw.choice(((0, 1), (1, 0), (0, -1), (-1, 0)))
        if 0 <= row + down < _BLOCK_ROWS and 0 <= column + right < _BLOCK_COLUMNS:
            squares.add((row + down, column + right))
    a, b, side = draw.choice(_TURNS)
    scale = draw.randint(100, 999)
    points = []
    for row, column in sorted(squares):
        for y, x in ((0, 0), (0, 1), (1, 0), (1, 1)):
            u, v = 2 * column + x, 2 * row + y
            points.append([scale * (a * u - b * v), scale * (b * u + a * v)])
    return points, float(len(points) * scale * side)
