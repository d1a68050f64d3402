"""Objectives of problems in a second implementation; None where a solution is infeasible."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

__all__ = ["AGAIN", "Instance"]

Instance = dict[str, Any]


def _numbers(value: object, below: int) -> list[int] | None:
    """Return the list if it has only integers from 0 to below."""
    if type(value) is not list or any(type(each) is not int for each in value):
        return None
    return value if all(each in range(below) for each in value) else None


def _bins(instance: Instance, solution: dict[str, Any]) -> float | None:
    sizes, bins = instance["items"], solution["bins"]
    if type(bins) is not list or None in [_numbers(each, len(sizes)) for each in bins]:
        return None
    if sorted(item for each in bins for item in each) != list(range(len(sizes))):
        return None
    fits = all(sum(sizes[item] for item in each) <= instance["capacity"] for each in bins)
    return sum(each != [] for each in bins) if fits else None


def _length(instance: Instance, solution: dict[str, Any]) -> float | None:
    tour = _numbers(solution["tour"], len(instance["points"]))
    if tour is None or sorted(tour) != list(range(len(instance["points"]))):
        return None
    places = np.array(instance["points"], dtype=float)[tour]
    return float(np.linalg.norm(places - np.roll(places, 1, axis=0), axis=1).sum())


def _cost(instance: Instance, solution: dict[str, Any]) -> float | None:
    chosen = _numbers(solution["columns"], len(instance["columns"]))
    if chosen is None or max(Counter(chosen).values(), default=0) > 1:
        return None
    covered = {row for column in chosen for row in instance["columns"][column]}
    return sum(instance["costs"][each] for each in chosen) if len(covered) == instance["rows"] else None


def _makespan(instance: Instance, solution: dict[str, Any]) -> float | None:
    times = np.array(instance["times"])
    order = _numbers(solution["order"], times.shape[1])
    if order is None or sorted(order) != list(range(times.shape[1])):
        return None
    ends = np.zeros((times.shape[0] + 1, times.shape[1] + 1))
    for machine, place in product(range(times.shape[0]), range(times.shape[1])):
        begin = max(ends[machine, place + 1], ends[machine + 1, place])
        ends[machine + 1, place + 1] = begin + times[machine, order[place]]
    return float(ends[-1, -1])


def _colours(instance: Instance, solution: dict[str, Any]) -> float | None:
    colours = _numbers(solution["colours"], instance["vertices"])
    if colours is None or len(colours) != instance["vertices"]:
        return None
    classes = [{v for v, each in enumerate(colours) if each == colour} for colour in {*colours}]
    is_proper = not any({*edge} <= each for edge in instance["edges"] for each in classes)
    return len(classes) if is_proper else None


def _chosen(instance: Instance, solution: dict[str, Any]) -> float | None:
    chosen = _numbers(solution["vertices"], instance["vertices"])
    if chosen is None or max(Counter(chosen).values(), default=0) > 1:
        return None
    return None if any({*edge} <= {*chosen} for edge in instance["edges"]) else len(chosen)


AGAIN: dict[str, Callable[[Instance, dict[str, Any]], float | None]] = {
    "bin_packing": _bins,
    "tsp": _length,
    "set_covering": _cost,
    "flow_shop": _makespan,
    "graph_colouring": _colours,
    "independent_set": _chosen,
}
