"""Makes instances of the multidimensional knapsack, with optima of an exact solver."""

import random
from typing import Any

_PARTS = ["development"] * 8 + ["sealed"] * 24 + ["test"] * 16
# Case: resources, items.
_CASES = {"m5n100": (5, 100), "m10n60": (10, 60), "m10n80": (10, 80), "m30n50": (30, 50)}
_TIGHTNESS = (0.25, 0.5, 0.75)

# Optima in the order of the instances, by scipy.optimize.milp (HiGHS) with mip_rel_gap=0 on
# max values x, weights x <= capacities, x binary.
# fmt: off
_OPTIMA = [
    24003, 13020, 18155, 9938, 45350, 24056, 35013, 19772, 61806, 33767, 47676, 28207,
    23829, 13679, 18623, 9755, 44187, 24969, 34458, 20293, 59339, 35330, 48116, 28677,
    24175, 13212, 18157, 9818, 44901, 25355, 34788, 19589, 61903, 35396, 47403, 28606,
    23672, 13868, 18547, 10227, 42126, 25699, 32810, 19894, 61906, 38017, 50030, 28630,
]
# fmt: on


def generate() -> list[dict[str, Any]]:
    """Return all instances with their optima."""
    names = list(_CASES)
    found = []
    for number, part in enumerate(_PARTS):
        turn, place = divmod(number, len(names))
        case = names[place]
        draw = random.Random(f"knapsack:{number}")  # noqa: S311 - not for security
        instance = _instance(draw, *_CASES[case], _TIGHTNESS[turn % 3])
        reference = float(_OPTIMA[number])
        found.append(
            {
                "id": f"{case}-{turn:02d}",
                "case": case,
                "part": part,
                "instance": instance,
                "reference": reference,
            }
        )
    return found


def _instance(draw: random.Random, resources: int, items: int, tightness: float) -> dict[str, Any]:
    weights = [[draw.randint(1, 1000) for _ in range(items)] for _ in range(resources)]
    values = [
        sum(row[item] for row in weights) // resources + draw.randint(1, 500) for item in range(items)
    ]
    capacities = [int(tightness * sum(row)) for row in weights]
    return {"values": values, "weights": weights, "capacities": capacities}
