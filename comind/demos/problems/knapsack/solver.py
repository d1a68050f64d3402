"""First program: items in the order of their value, as long as they fit."""


def solve(values: list[int], weights: list[list[int]], capacities: list[int]) -> dict[str, list[int]]:
    """Choose items of a high total value within all capacities.

    Args:
        values: value of each item.
        weights: for each resource, what each item needs of it.
        capacities: what there is of each resource.

    Returns:
        {"items": indices of the chosen items}
    """
    left = list(capacities)
    chosen = []
    for item in sorted(range(len(values)), key=lambda index: -values[index]):
        if all(row[item] <= rest for row, rest in zip(weights, left, strict=True)):
            left = [rest - row[item] for row, rest in zip(weights, left, strict=True)]
            chosen.append(item)
    return {"items": chosen}
