"""Checks the landings of aircraft and adds up the penalties for being early or late."""

from typing import Any

MAXIMIZE = False


def score(instance: dict[str, Any], solution: object) -> float:
    """Return the total penalty.

    Raises:
        ValueError: the solution has another form, or is infeasible.
    """
    count = len(instance["target"])
    times = _integers(solution, "times", count)
    runways = _integers(solution, "runways", count)
    total = 0
    for aircraft, (time, runway) in enumerate(zip(times, runways, strict=True)):
        if not 0 <= runway < instance["runways"]:
            raise ValueError(f"aircraft {aircraft}: there is no such runway")
        if not instance["earliest"][aircraft] <= time <= instance["latest"][aircraft]:
            raise ValueError(f"aircraft {aircraft} does not land between its earliest and latest time")
        early, late = instance["penalties"][aircraft]
        delay = time - instance["target"][aircraft]
        total += max(-delay * early, delay * late)
    _check_separation(instance, times, runways)
    return float(total)


def _check_separation(instance: dict[str, Any], times: list[int], runways: list[int]) -> None:
    """Compare each landing with the last one of each class before it on its runway."""
    last: list[dict[int, int]] = [{} for _ in range(instance["runways"])]
    for aircraft in sorted(range(len(times)), key=lambda aircraft: times[aircraft]):
        kind = instance["aircraft_class"][aircraft]
        before = last[runways[aircraft]]
        for other_kind, other in before.items():
            needed = instance["separation"][other_kind][kind]
            if times[aircraft] - times[other] < needed:
                raise ValueError(f"aircraft {aircraft} lands less than {needed} after aircraft {other}")
        before[kind] = aircraft


def _integers(solution: object, key: str, count: int) -> list[int]:
    values = solution.get(key) if isinstance(solution, dict) else None
    if (
        not isinstance(values, list)
        or len(values) != count
        or any(type(value) is not int for value in values)
    ):
        raise ValueError(f"{key} is not a list of {count} integers")
    return values


def normalised(raw: float, reference: float) -> float:
    """Return the square root of optimum / penalty; no optimum is 0."""
    return float((reference / raw) ** 0.5) if raw > 0 else 1.0
