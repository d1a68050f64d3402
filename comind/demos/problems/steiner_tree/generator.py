"""Makes terminals in a square, with lengths of good Steiner trees.

The references are estimates, not optima: a better tree has a normalised score above 1.
"""

import random
from typing import Any

_PARTS = ["development"] * 8 + ["sealed"] * 24 + ["test"] * 16
_SIDE = 1000
# Case: terminals.
_CASES = {"uniform50": 50, "uniform100": 100, "clusters80": 80, "grid90": 90}

# Lengths in the order of the instances: the better of two runs of annealing over trees (Steiner
# points added where they save most, moved to the best places, removed, all from perturbed trees).
# fmt: off
_LENGTHS = [
    4502.427, 6668.675, 2843.800, 7134.917, 4787.741, 6744.032, 3939.520, 7139.779,
    4528.855, 6598.092, 2911.057, 7114.297, 4543.060, 6263.477, 3188.481, 6980.053,
    4530.046, 6411.436, 3042.098, 7059.718, 4924.654, 6499.246, 3188.177, 7192.316,
    4620.011, 6328.993, 3240.582, 7240.609, 4530.546, 6766.698, 2632.903, 7199.763,
    4834.061, 6551.735, 3290.529, 7179.913, 4445.116, 6799.524, 3328.001, 7297.784,
    4454.391, 6654.716, 3036.717, 7028.530, 4623.245, 6569.844, 3220.227, 7329.752,
]
# fmt: on


def generate() -> list[dict[str, Any]]:
    """Return all instances with estimates of their shortest trees."""
    names = list(_CASES)
    found = []
    for number, part in enumerate(_PARTS):
        turn, place = divmod(number, len(names))
        case = names[place]
        draw = random.Random(f"steiner_tree:{number}")  # noqa: S311 - not for security
        found.append(
            {
                "id": f"{case}-{turn:02d}",
                "case": case,
                "part": part,
                "instance": {"terminals": _terminals(draw, case, _CASES[case]), "side": _SIDE},
                "reference": _LENGTHS[number],
            }
        )
    return found


def _terminals(draw: random.Random, case: str, count: int) -> list[list[int]]:
    """Return different points with whole coordinates."""
    if case.startswith("grid"):  # places of a grid, slightly moved
        step = _SIDE // 12
        places = draw.sample([(x, y) for x in range(12) for y in range(12)], count)
        return [[step * x + draw.randint(30, 50), step * y + draw.randint(30, 50)] for x, y in places]
    centres = [(draw.randint(100, 900), draw.randint(100, 900)) for _ in range(8)]
    found: dict[tuple[int, int], None] = {}
    while len(found) < count:
        point = draw.randint(0, _SIDE), draw.randint(0, _SIDE)
        if case.startswith("clusters"):
            x, y = draw.choice(centres)
            point = x + round(draw.gauss(0, 50)), y + round(draw.gauss(0, 50))
        if all(0 <= value <= _SIDE for value in point):
            found[point] = None
    return [list(point) for point in found]
