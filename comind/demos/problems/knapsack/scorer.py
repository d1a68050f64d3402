"""Checks the choice of items of a multidimensional knapsack and adds up its value."""

from typing import Any

MAXIMIZE = True


def score(instance: dict[str, Any], solution: object) -> float:
    """Return the total value of the chosen items.

    Raises:
        ValueError: the solution has another form, or is infeasible.
    """
    values = instance["values"]
    chosen = _items(solution, len(values))
    pairs = zip(instance["weights"], instance["capacities"], strict=True)
    for resource, (weights, capacity) in enumerate(pairs):
        used = sum(weights[item] for item in chosen)
        if used > capacity:
            raise ValueError(f"resource {resource}: {used} are used of {capacity}")
    return float(sum(values[item] for item in chosen))


def _items(solution: object, count: int) -> list[int]:
    items = solution.get("items") if isinstance(solution, dict) else None
    if not isinstance(items, list):
        raise ValueError('the solution is not of the form {"items": [...]}')  # noqa: TRY004 - the contract
    seen: set[int] = set()
    for item in items:
        if type(item) is not int or not 0 <= item < count:
            raise ValueError(f"an entry of items is not an integer between 0 and {count - 1}")
        if item in seen:
            raise ValueError(f"item {item} is listed twice")
        seen.add(item)
    return items
