"""Makes days of tasks for crews, with optima of an exact solver."""

import random
from typing import Any

_PARTS = ["development"] * 8 + ["sealed"] * 24 + ["test"] * 16
# Case: tasks, places at which they start and end, longest duty.
_CASES = {"t60": (60, 4, 540), "t100": (100, 5, 480), "t150": (150, 6, 480), "t200": (200, 8, 480)}
_DAY = 1080  # minutes
_LONGEST_WAIT = 150

# Optima in the order of the instances, by scipy.optimize.milp (HiGHS) with mip_rel_gap=0 on duties: each
# task in one, `crews` at most. Duties whose reduced cost exceeds the relaxation's gap are left out.
# fmt: off
_OPTIMA = [
    3122, 5037, 6989, 8938, 2275, 4854, 6617, 8953, 2442, 5021, 6814, 9504,
    3217, 5245, 7581, 10056, 3589, 5162, 6724, 10187, 3088, 5411, 7436, 10558,
    2828, 4007, 7228, 8640, 2887, 4239, 7544, 9665, 3401, 4597, 6489, 10431,
    3373, 4452, 6861, 8394, 3452, 4558, 7679, 9098, 3589, 5540, 7487, 10333,
]
# fmt: on


def generate() -> list[dict[str, Any]]:
    """Return all instances with their optima."""
    names = list(_CASES)
    found = []
    for number, part in enumerate(_PARTS):
        turn, place = divmod(number, len(names))
        case = names[place]
        draw = random.Random(f"crew_scheduling:{number}")  # noqa: S311 - not for security
        instance = _instance(draw, *_CASES[case])
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


def _instance(draw: random.Random, count: int, places: int, duty_limit: int) -> dict[str, Any]:
    tasks = [
        (start, start + draw.randint(40, 120), draw.randrange(places), draw.randrange(places))
        for start in sorted(draw.randint(0, _DAY - 120) for _ in range(count))
    ]
    transitions = []
    for one, (_, end, _, place) in enumerate(tasks):
        for other, (start, _, origin, _) in enumerate(tasks):
            travel = 0 if place == origin else 15 + 15 * abs(place - origin)
            if end + travel < start <= end + travel + _LONGEST_WAIT:
                # Waiting, travel, and what else differs from pair to pair.
                transitions.append([one, other, start - end + 2 * travel + draw.randint(0, 60)])
    starts, ends = [task[0] for task in tasks], [task[1] for task in tasks]
    return {
        "starts": starts,
        "ends": ends,
        "transitions": transitions,
        "crews": _crews(starts, ends, transitions, duty_limit),
        "duty_limit": duty_limit,
    }


def _crews(starts: list[int], ends: list[int], transitions: list[list[int]], duty_limit: int) -> int:
    """Return how many crews are enough where each task goes to the one that it costs least."""
    costs = {(one, other): cost for one, other, cost in transitions}
    duties: list[list[int]] = []
    for task, end in enumerate(ends):
        able = [
            duty for duty in duties if (duty[-1], task) in costs and end - starts[duty[0]] <= duty_limit
        ]
        if able:
            min(able, key=lambda duty: costs[duty[-1], task]).append(task)
        else:
            duties.append([task])
    return len(duties)
