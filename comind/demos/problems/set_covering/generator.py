"""Make instances of weighted set covering, with optima from an exact solver.

s300, s400: columns of random rows, each covers about 2 % of them; costs are random. d200: the same with
5 %. g400: rows are points of a square; a column covers the points of a disc and costs about its area.
"""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

_SHARES = {"development": 2, "sealed": 6, "test": 4}  # instances of each case
_COSTS = (1, 100)
_RADII = (0.05, 0.2)

# Computed once, with scipy.optimize.milp (HiGHS) and a gap of 0: the optimum of each instance of a case.
_OPTIMA = {
    "s300": (418, 468, 361, 349, 458, 377, 401, 389, 409, 423, 410, 415),
    "s400": (350, 358, 431, 374, 426, 433, 448, 441, 423, 388, 404, 435),
    "d200": (154, 157, 135, 157, 163, 160, 173, 165, 136, 198, 183, 154),
    "g400": (1063, 1060, 1046, 1035, 1056, 1022, 989, 1050, 1051, 1005, 1039, 1014),
}

Drawn = tuple[list[list[int]], list[int]]  # the rows of each column, and its cost


def generate() -> list[dict[str, Any]]:
    """Return all instances; the cases alternate."""
    cases = {
        "s300": _instances("s300", lambda draw: _scattered(draw, 300, 1500, 30)),
        "s400": _instances("s400", lambda draw: _scattered(draw, 400, 2000, 40)),
        "d200": _instances("d200", lambda draw: _scattered(draw, 200, 1000, 50)),
        "g400": _instances("g400", lambda draw: _discs(draw, 400, 800)),
    }
    return [
        {**next(made), "case": case, "part": part}
        for part, share in _SHARES.items()
        for _ in range(share)
        for case, made in cases.items()
    ]


def _instances(case: str, drawn: Callable[[random.Random], Drawn]) -> Iterator[dict[str, Any]]:
    """Yield the instances of a case whose optimum is in the table."""
    for number, optimum in enumerate(_OPTIMA[case]):
        draw = random.Random(f"set covering {case} {number}")  # noqa: S311 - not for security
        columns, costs = drawn(draw)
        rows = 1 + max(max(covered) for covered in columns)
        yield {
            "id": f"{case}-{number:02d}",
            "instance": {"rows": rows, "columns": columns, "costs": costs},
            "reference": float(optimum),
        }


def _scattered(draw: random.Random, rows: int, columns: int, often: int) -> Drawn:
    """Return columns with random rows; each row is in about `often` columns, each column has a row."""
    covered = [{draw.randrange(rows)} for _ in range(columns)]
    for row in range(rows):
        for column in draw.sample(range(columns), draw.randint(often // 2, often * 3 // 2)):
            covered[column].add(row)
    return [sorted(each) for each in covered], [draw.randint(*_COSTS) for _ in range(columns)]


def _discs(draw: random.Random, rows: int, columns: int) -> Drawn:
    """Return discs of random radius; one around each point, the others anywhere."""
    points = [(draw.random(), draw.random()) for _ in range(rows)]
    centres = [*points, *((draw.random(), draw.random()) for _ in range(columns - rows))]
    draw.shuffle(centres)
    covered, costs = [], []
    for centre in centres:
        radius = draw.uniform(*_RADII)
        inside = [row for row, point in enumerate(points) if math.dist(point, centre) < radius]
        if inside:
            covered.append(inside)
            costs.append(round(20 + 2000 * radius**2 * draw.uniform(0.8, 1.2)))
    return covered, costs
