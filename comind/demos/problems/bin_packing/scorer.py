"""Check a packing and count its bins."""

from typing import Any

MAXIMIZE = False


def score(instance: dict[str, Any], solution: object) -> float:
    """Return how many bins are used; an empty one does not count.

    Raises:
        ValueError: the packing is infeasible; the message says why.
    """
    items, capacity = instance["items"], instance["capacity"]
    match solution:
        case {"bins": list(bins)}:
            pass
        case _:
            raise ValueError('the solution is no dictionary with a list "bins"')
    packed = [False] * len(items)
    used = 0
    for number, content in enumerate(bins):
        load = _packed_now(number, content, items, packed)
        if load > capacity:
            raise ValueError(f"bin {number} holds {load}, more than {capacity}")
        used += load > 0
    if not all(packed):
        raise ValueError(f"item {packed.index(False)} is not packed")
    return float(used)


def _packed_now(number: int, content: object, items: list[int], packed: list[bool]) -> int:
    """Mark the items of a bin as packed and return their total size."""
    if not isinstance(content, list):
        raise ValueError(f"bin {number} is no list")  # noqa: TRY004 - the platform expects ValueError
    load = 0
    for item in content:
        if type(item) is not int or not 0 <= item < len(items):
            raise ValueError(f"bin {number} has an entry that is no integer from 0 to {len(items) - 1}")
        if packed[item]:
            raise ValueError(f"item {item} is packed twice")
        packed[item] = True
        load += items[item]
    return load
