"""First program: aircraft choose their cheapest free landing, those first that pay most for lateness."""


def solve(
    earliest: list[int],
    target: list[int],
    latest: list[int],
    penalties: list[list[int]],
    aircraft_class: list[int],
    separation: list[list[int]],
    runways: int,
) -> dict[str, list[int]]:
    """Choose times and runways of landings so that the total penalty is low.

    Args:
        earliest: earliest time of each aircraft.
        target: time of each aircraft without a penalty.
        latest: latest time of each aircraft.
        penalties: [early, late] of each aircraft: per unit of time before or after its target.
        aircraft_class: class of each aircraft, an index of separation.
        separation: separation[a][b]: least time from a landing of class a to a later one of class b
            on the same runway.
        runways: number of runways.

    Returns:
        {"times": time of each landing, an integer, "runways": runway of each, from 0}
    """
    count = len(target)
    times, chosen = [0] * count, [0] * count
    landings: list[list[tuple[int, int]]] = [[] for _ in range(runways)]  # time, class

    def free(time: int, kind: int, runway: int) -> bool:
        return all(
            time - other >= separation[other_kind][kind] or other - time >= separation[kind][other_kind]
            for other, other_kind in landings[runway]
        )

    for aircraft in sorted(range(count), key=lambda index: -penalties[index][1]):
        kind, due = aircraft_class[aircraft], target[aircraft]
        early, late = penalties[aircraft]
        costs = [
            (max((due - time) * early, (time - due) * late), time)
            for time in range(earliest[aircraft], latest[aircraft] + 1)
        ]
        _, times[aircraft], chosen[aircraft] = min(
            (cost, time, runway)
            for cost, time in costs
            for runway in range(runways)
            if free(time, kind, runway)
        )
        landings[chosen[aircraft]].append((times[aircraft], kind))
    return {"times": times, "runways": chosen}
