"""Make instances of bin packing that have a packing without a gap, so the optimum is known.

Triplets (t120, t249) are after Falkenauer: three items fill a bin, and one of the three is large. The
other bins (u120, u250) are cut into pieces at random. As all bins of the packing are full, no packing
has fewer, and the reference is the optimum.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

_SHARES = {"development": 2, "sealed": 6, "test": 4}  # instances of each case
_TRIPLET_CAPACITY, _LARGE, _SMALLEST = 1000, (380, 490), 250
_CUT_CAPACITY, _PIECE = 150, (20, 100)


def generate() -> list[dict[str, Any]]:
    """Return all instances; the cases alternate."""
    cases: dict[str, Iterator[dict[str, Any]]] = {
        "t120": _instances("t120", _TRIPLET_CAPACITY, _triplets, 120),
        "t249": _instances("t249", _TRIPLET_CAPACITY, _triplets, 249),
        "u120": _instances("u120", _CUT_CAPACITY, _pieces, 120),
        "u250": _instances("u250", _CUT_CAPACITY, _pieces, 250),
    }
    return [
        {**next(made), "case": case, "part": part}
        for part, share in _SHARES.items()
        for _ in range(share)
        for case, made in cases.items()
    ]


def _instances(
    case: str, capacity: int, full_bins: Callable[[random.Random, int], list[list[int]]], count: int
) -> Iterator[dict[str, Any]]:
    """Yield instances of about `count` items, without end."""
    number = 0
    while True:
        draw = random.Random(f"bin packing {case} {number}")  # noqa: S311 - not for security
        bins = full_bins(draw, count)
        items = [size for content in bins for size in content]
        draw.shuffle(items)
        yield {
            "id": f"{case}-{number:02d}",
            "instance": {"capacity": capacity, "items": items},
            "reference": float(len(bins)),
        }
        number += 1


def _triplets(draw: random.Random, count: int) -> list[list[int]]:
    """Return bins of three items: one between 38 % and 49 % of a bin, two that share the rest."""
    bins = []
    for _ in range(count // 3):
        large = draw.randint(*_LARGE)
        rest = _TRIPLET_CAPACITY - large
        small = draw.randint(_SMALLEST, rest // 2)
        bins.append([large, small, rest - small])
    return bins


def _pieces(draw: random.Random, count: int) -> list[list[int]]:
    """Return bins cut into pieces of 20 to 100, with at least `count` pieces in all."""
    least, most = _PIECE
    bins: list[list[int]] = []
    while sum(map(len, bins)) < count:
        rest, content = _CUT_CAPACITY, []
        while rest > most or (rest >= 2 * least and draw.random() < 1 / 2):
            content.append(draw.randint(least, min(most, rest - least)))
            rest -= content[-1]
        bins.append([*content, rest])
    return bins
