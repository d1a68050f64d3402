"""Makes sheets for guillotine cutting with known optima.

The sheet is cut at random into pieces that are worth their area. Further pieces come from other sheets,
cut alike, and are worth at most their area. So no layout is worth more than the sheet's area, and one is
worth that.
"""

import random
from collections import Counter
from typing import Any

_PARTS = ["development"] * 8 + ["sealed"] * 24 + ["test"] * 16
# Case: width and height of the sheet, pieces that it is cut into, further ones, some of them worth less.
_CASES = {
    "p20": (120, 80, 20, 12, False),
    "p40": (250, 150, 40, 30, False),
    "p60": (400, 400, 60, 60, False),
    "w40": (250, 200, 40, 60, True),
}


def generate() -> list[dict[str, Any]]:
    """Return all instances with their optima."""
    names = list(_CASES)
    found = []
    for number, part in enumerate(_PARTS):
        turn, place = divmod(number, len(names))
        case = names[place]
        width, height, count, more, weighted = _CASES[case]
        draw = random.Random(f"guillotine_cutting:{number}")  # noqa: S311 - not for security
        needed = Counter(_cut(draw, width, height, count))
        others = [size for _ in range(2) for size in _cut(draw, width, height, count)]
        further = _further(draw, draw.sample(others, more), needed)
        pieces = [[*size, size[0] * size[1], times] for size, times in needed.items()]
        pieces += [[*size, _value(draw, size, weighted), times] for size, times in further.items()]
        draw.shuffle(pieces)
        found.append(
            {
                "id": f"{case}-{turn:02d}",
                "case": case,
                "part": part,
                "instance": {"width": width, "height": height, "pieces": pieces},
                "reference": float(width * height),
            }
        )
    return found


def _cut(draw: random.Random, width: int, height: int, count: int) -> list[tuple[int, int]]:
    """Cut the sheet at random into so many pieces, large ones first."""
    pieces = [(width, height)]
    while len(pieces) < count:
        piece = max(pieces, key=lambda size: size[0] * size[1] * draw.uniform(0.2, 1))
        pieces.remove(piece)
        wide, high = piece
        if draw.random() < wide**2 / (wide**2 + high**2):
            at = round(wide * draw.uniform(0.2, 0.8))
            pieces += [(at, high), (wide - at, high)]
        else:
            at = round(high * draw.uniform(0.2, 0.8))
            pieces += [(wide, at), (wide, high - at)]
    return pieces


def _further(
    draw: random.Random, sizes: list[tuple[int, int]], needed: Counter[tuple[int, int]]
) -> Counter[tuple[int, int]]:
    """Return sizes beside the needed ones, some of them twice; a few needed ones get one more."""
    for size in list(needed):
        needed[size] += draw.random() < 0.15  # noqa: PLR2004 - a share
    return Counter({size: 1 + (draw.random() < 0.15) for size in sizes if size not in needed})  # noqa: PLR2004


def _value(draw: random.Random, size: tuple[int, int], weighted: bool) -> int:
    area = size[0] * size[1]
    if not weighted or draw.random() < 0.4:  # noqa: PLR2004 - a share
        return area
    return max(1, int(area * draw.uniform(0.7, 1)))
