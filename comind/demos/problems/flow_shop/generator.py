"""Make the flow shops that Taillard published in 1993, with the best makespans that are known.

His generator of processing times is a linear congruential one, started from a seed that he published for
each instance. For the 40 instances here the best known makespan is proven to be the optimum.
"""

from typing import Any

_SIZES = {"j20m5": (20, 5), "j20m10": (20, 10), "j20m20": (20, 20), "j50m5": (50, 5)}
_SHARES = {"development": 2, "sealed": 4, "test": 4}  # instances of each case

# For each size the seed and the optimal makespan of the ten instances, in the published order.
_PUBLISHED = {
    "j20m5": (
        (873654221, 1278),
        (379008056, 1359),
        (1866992158, 1081),
        (216771124, 1293),
        (495070989, 1235),
        (402959317, 1195),
        (1369363414, 1234),
        (2021925980, 1206),
        (573109518, 1230),
        (88325120, 1108),
    ),
    "j20m10": (
        (587595453, 1582),
        (1401007982, 1659),
        (873136276, 1496),
        (268827376, 1377),
        (1634173168, 1419),
        (691823909, 1397),
        (73807235, 1484),
        (1273398721, 1538),
        (2065119309, 1593),
        (1672900551, 1591),
    ),
    "j20m20": (
        (479340445, 2297),
        (268827376, 2099),
        (1958948863, 2326),
        (918272953, 2223),
        (555010963, 2291),
        (2010851491, 2226),
        (1519833303, 2273),
        (1748670931, 2200),
        (1923497586, 2237),
        (1829909967, 2178),
    ),
    "j50m5": (
        (1328042058, 2724),
        (200382020, 2834),
        (496319842, 2621),
        (1203030903, 2751),
        (1730708564, 2863),
        (450926852, 2829),
        (1303135678, 2725),
        (1273398721, 2683),
        (587288402, 2552),
        (248421594, 2782),
    ),
}

_MODULUS, _FACTOR, _QUOTIENT, _REMAINDER = 2147483647, 16807, 127773, 2836


def generate() -> list[dict[str, Any]]:
    """Return all instances; the sizes alternate."""
    parts = [part for part, share in _SHARES.items() for _ in range(share)]
    return [_instance(case, number, part) for number, part in enumerate(parts) for case in _SIZES]


def _instance(case: str, number: int, part: str) -> dict[str, Any]:
    """Return one instance of a size."""
    seed, makespan = _PUBLISHED[case][number]
    return {
        "id": f"{case}-{number:02d}",
        "case": case,
        "part": part,
        "instance": {"times": _times(seed, *_SIZES[case])},
        "reference": float(makespan),
    }


def _times(seed: int, jobs: int, machines: int) -> list[list[int]]:
    """Return the processing times, uniform in 1 to 99: a row for each machine, a column for each job."""
    rows = []
    for _ in range(machines):
        row = []
        for _ in range(jobs):
            seed = _FACTOR * (seed % _QUOTIENT) - _REMAINDER * (seed // _QUOTIENT)
            seed += _MODULUS if seed < 0 else 0
            row.append(1 + int(seed / _MODULUS * 99))
        rows.append(row)
    return rows
