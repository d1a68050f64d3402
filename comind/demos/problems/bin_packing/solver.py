"""First fit: each item goes into the first open bin that has room for it."""


def solve(capacity: int, items: list[int]) -> dict[str, list[list[int]]]:
    """Pack items into as few bins as possible.

    Args:
        capacity: what a bin can hold.
        items: the size of each item, between 1 and the capacity.

    Returns:
        {"bins": [[indices of the items in a bin, counted from 0], ...]}; each item is in one bin.
    """
    bins: list[list[int]] = []
    room: list[int] = []
    for item, size in enumerate(items):
        number = next((number for number, left in enumerate(room) if size <= left), len(bins))
        if number == len(bins):
            bins.append([])
            room.append(capacity)
        bins[number].append(item)
        room[number] -= size
    return {"bins": bins}
