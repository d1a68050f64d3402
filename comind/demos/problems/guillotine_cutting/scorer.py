"""Checks a layout of pieces on a sheet, with guillotine cuts only, and adds up its value."""

from itertools import combinations
from typing import Any, NamedTuple

MAXIMIZE = True


class _Placed(NamedTuple):
    piece: int
    low: tuple[int, int]
    high: tuple[int, int]


def score(instance: dict[str, Any], solution: object) -> float:
    """Return the total value of the pieces that are cut.

    Raises:
        ValueError: the solution has another form, or is infeasible.
    """
    layout = _layout(instance, solution)
    _check_cuts(layout)
    return float(sum(instance["pieces"][placed.piece][2] for placed in layout))


def _layout(instance: dict[str, Any], solution: object) -> list[_Placed]:
    placements = solution.get("placements") if isinstance(solution, dict) else None
    if not isinstance(placements, list):
        raise ValueError('the solution is not of the form {"placements": [...]}')  # noqa: TRY004 - the contract
    left = [demand for _, _, _, demand in instance["pieces"]]
    layout = []
    for number, entry in enumerate(placements):
        if not isinstance(entry, list) or [type(value) for value in entry] != [int, int, int]:
            raise ValueError(f"placement {number} is not a list of three integers")
        piece, x, y = entry
        if not 0 <= piece < len(left):
            raise ValueError(f"placement {number}: there is no such piece")
        width, height = instance["pieces"][piece][:2]
        if not (0 <= x <= instance["width"] - width and 0 <= y <= instance["height"] - height):
            raise ValueError(f"placement {number}: piece {piece} is not within the sheet")
        if left[piece] == 0:
            raise ValueError(f"piece {piece} is cut more often than its demand")
        left[piece] -= 1
        layout.append(_Placed(piece, (x, y), (x + width, y + height)))
    return layout


def _check_cuts(layout: list[_Placed]) -> None:
    """Cut until all pieces are alone; what can be cut so has no overlaps either."""
    waiting = [layout]
    while waiting:
        group = waiting.pop()
        if len(group) < 2:  # noqa: PLR2004 - nothing to cut
            continue
        parts = _parts(group, 0)
        if len(parts) == 1:
            parts = _parts(group, 1)
        if len(parts) == 1:
            _refuse(group)
        waiting += parts


def _parts(group: list[_Placed], axis: int) -> list[list[_Placed]]:
    """Return the groups between all straight cuts across this axis that go through no piece."""
    parts: list[list[_Placed]] = []
    reach = -1
    for placed in sorted(group, key=lambda placed: placed.low[axis]):
        if reach <= placed.low[axis]:
            parts.append([])
        parts[-1].append(placed)
        reach = max(reach, placed.high[axis])
    return parts


def _refuse(group: list[_Placed]) -> None:
    for one, other in combinations(group, 2):
        if all(one.low[axis] < other.high[axis] and other.low[axis] < one.high[axis] for axis in (0, 1)):
            raise ValueError(f"pieces {one.piece} and {other.piece} overlap")
    raise ValueError(
        f"no guillotine cut separates the {len(group)} pieces around piece {group[0].piece}"
    )
