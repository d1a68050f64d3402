"""Makes arrivals of aircraft at airports, with optima of an exact solver."""

import random
from typing import Any

_PARTS = ["development"] * 8 + ["sealed"] * 24 + ["test"] * 16
# Case: aircraft, runways, mean time between targets.
_CASES = {"r1n20": (20, 1, 4.8), "r1n30": (30, 1, 4.8), "r2n40": (40, 2, 2.3), "r3n60": (60, 3, 1.5)}
# Heavy, medium, light: on one runway by both classes, on several by that of the first aircraft alone.
_SEPARATION = [[4, 5, 6], [3, 3, 5], [3, 3, 3]]
_SEPARATION_BY_FIRST = [[6, 6, 6], [4, 4, 4], [3, 3, 3]]

# Optima in the order of the instances, by scipy.optimize.milp (HiGHS) with mip_rel_gap=0 on the
# model with a binary variable for each aircraft and time (where only the first aircraft's class counts,
# no more than `runways` aircraft are within their separation at any time; runways follow from that).
# fmt: off
_OPTIMA = [
    209, 390, 843, 768, 398, 433, 643, 889, 372, 572, 486, 895,
    657, 557, 763, 870, 397, 471, 351, 301, 756, 755, 454, 697,
    418, 563, 739, 828, 688, 313, 1216, 1169, 966, 419, 510, 946,
    324, 457, 655, 724, 313, 491, 490, 1056, 194, 848, 694, 871,
]
# fmt: on


def generate() -> list[dict[str, Any]]:
    """Return all instances with their optima."""
    names = list(_CASES)
    found = []
    for number, part in enumerate(_PARTS):
        turn, place = divmod(number, len(names))
        case = names[place]
        draw = random.Random(f"aircraft_landing:{number}")  # noqa: S311 - not for security
        found.append(
            {
                "id": f"{case}-{turn:02d}",
                "case": case,
                "part": part,
                "instance": _instance(draw, *_CASES[case]),
                "reference": float(_OPTIMA[number]),
            }
        )
    return found


def _instance(draw: random.Random, count: int, runways: int, spacing: float) -> dict[str, Any]:
    target = [20 + int(draw.uniform(0, count * spacing)) for _ in range(count)]
    earliest = [time - draw.randint(5, 15) for time in target]
    latest = [time + draw.randint(120, 180) for time in target]
    early = [draw.randint(3, 15) for _ in target]
    late = [draw.randint(5, 30) for _ in target]
    return {
        "earliest": earliest,
        "target": target,
        "latest": latest,
        "penalties": [list(pair) for pair in zip(early, late, strict=True)],
        "aircraft_class": draw.choices(range(3), (3, 5, 2), k=count),
        "separation": _SEPARATION if runways == 1 else _SEPARATION_BY_FIRST,
        "runways": runways,
    }
