"""Instances, first programs and scorers of six problems, with solutions that try to fool the scorers."""

import copy
import hashlib
import inspect
import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

import comind

_FOLDER = Path(comind.__file__).parent / "demos" / "problems"
# Digests of all instances of problems with a table of references: other instances need another table.
_DIGESTS = {
    "aircraft_landing": "34012dad6137994a",
    "crew_scheduling": "6ef98c79a57939d0",
    "knapsack": "97f12492837b827f",
    "steiner_tree": "bd57f7713e6b44d7",
}
_DEEP: list[Any] = []
for _ in range(50_000):
    _DEEP = [_DEEP]
_JUNK = (
    *(None, True, False, -1, 0, 1, 2, 7, 2**70, -(2**70), 10**400, 0.0, 1.0, 0.5, -0.5, 1e308, math.nan),
    *(math.inf, -math.inf, "", "1", [], [0], [[0]], [0, 0, 0], [1, 2], {}, {"0": 0}),
)

Instance = dict[str, Any]


@cache
def _load(problem: str, file: str) -> ModuleType:
    spec = spec_from_file_location(f"{problem}_{file}", _FOLDER / problem / f"{file}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _entries(problem: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = _load(problem, "generator").generate()
    return entries


@cache
def _first(problem: str, number: int) -> Any:
    return _load(problem, "solver").solve(**copy.deepcopy(_entries(problem)[number]["instance"]))


def _normalised(problem: str, raw: float, reference: float) -> float:
    scorer = _load(problem, "scorer")
    if hasattr(scorer, "normalised"):
        return float(scorer.normalised(raw, reference))
    return raw / reference if scorer.MAXIMIZE else reference / raw


# Recomputation: any exception says that a solution is infeasible.
def _whole(value: Any, low: int, high: int) -> int:
    assert type(value) is int
    assert low <= value <= high
    return value


def _list(value: Any, length: int | None = None) -> list[Any]:
    assert isinstance(value, list)
    assert length in (None, len(value))
    return value


def _aircraft_landing(instance: Instance, solution: Any) -> float:
    count = len(instance["target"])
    times = [_whole(value, -(10**9), 10**9) for value in _list(solution["times"], count)]
    runways = [_whole(value, 0, instance["runways"] - 1) for value in _list(solution["runways"], count)]
    kinds, separation = instance["aircraft_class"], instance["separation"]
    for i, j in combinations(range(count), 2):
        one, other = (i, j) if times[i] <= times[j] else (j, i)
        if runways[i] == runways[j]:
            assert times[other] - times[one] >= separation[kinds[one]][kinds[other]]
    total = 0.0
    for i, (early, late) in enumerate(instance["penalties"]):
        assert instance["earliest"][i] <= times[i] <= instance["latest"][i]
        delay = times[i] - instance["target"][i]
        total += delay * late if delay > 0 else -delay * early
    return total


def _crew_scheduling(instance: Instance, solution: Any) -> float:
    count = len(instance["starts"])
    duties = [[_whole(task, 0, count - 1) for task in _list(duty)] for duty in _list(solution["crews"])]
    assert sorted(task for duty in duties for task in duty) == list(range(count))
    assert len(duties) <= instance["crews"]
    costs = {(one, other): cost for one, other, cost in instance["transitions"]}
    for duty in duties:
        assert instance["ends"][duty[-1]] <= instance["starts"][duty[0]] + instance["duty_limit"]
    return float(sum(costs[pair] for duty in duties for pair in pairwise(duty)))


def _guillotine_cutting(instance: Instance, solution: Any) -> float:
    pieces = instance["pieces"]
    used = np.zeros((instance["width"], instance["height"]), dtype=int)
    boxes, counts = [], Counter[int]()
    for entry in _list(solution["placements"]):
        piece, x, y = _list(entry, 3)
        wide, high = pieces[_whole(piece, 0, len(pieces) - 1)][:2]
        right, top = _whole(x, 0, used.shape[0] - wide) + wide, _whole(y, 0, used.shape[1] - high) + high
        used[x:right, y:top] += 1
        counts[piece] += 1
        boxes.append((x, y, right, top))
    assert used.max() <= 1
    assert all(number <= pieces[piece][3] for piece, number in counts.items())
    assert _can_be_cut(boxes)
    return float(sum(pieces[piece][2] * number for piece, number in counts.items()))


def _can_be_cut(boxes: list[tuple[int, int, int, int]]) -> bool:
    """Try all cuts along a side of a piece, and go on with the first that goes through none."""
    if len(boxes) <= 1:
        return True
    for axis in (0, 1):
        for at in {box[axis] for box in boxes}:
            below = [box for box in boxes if box[axis + 2] <= at]
            above = [box for box in boxes if box[axis] >= at]
            if below and above and len(below) + len(above) == len(boxes):
                return _can_be_cut(below) and _can_be_cut(above)
    return False


def _job_shop(instance: Instance, solution: Any) -> float:
    jobs = instance["jobs"]
    spans = []
    for job, times in zip(jobs, _list(solution["starts"], len(jobs)), strict=True):
        ready = 0
        for (machine, duration), start in zip(job, _list(times, len(job)), strict=True):
            ready = _whole(start, ready, 10**9) + duration
            spans.append((machine, start, ready))
    for (machine, start, end), (other, later, last) in combinations(spans, 2):
        assert machine != other or end <= later or last <= start
    return float(max(end for _, _, end in spans))


def _knapsack(instance: Instance, solution: Any) -> float:
    count = len(instance["values"])
    items = [_whole(item, 0, count - 1) for item in _list(solution["items"])]
    assert len(set(items)) == len(items)
    chosen = np.zeros(count)
    chosen[items] = 1
    assert (np.array(instance["weights"]) @ chosen <= instance["capacities"]).all()
    return float(chosen @ instance["values"])


def _steiner_tree(instance: Instance, solution: Any) -> float:
    terminals, side = instance["terminals"], instance["side"]
    points = [_list(point, 2) for point in _list(solution["points"])]
    assert len(points) <= len(terminals) - 2
    assert all(type(value) in (int, float) and 0 <= value <= side for point in points for value in point)
    places = np.array(terminals + points, dtype=float)
    # The summand gives an edge to equal places.
    return float(minimum_spanning_tree(cdist(places, places) + 1e-3).sum() - 1e-3 * (len(places) - 1))


# Keys of a solution, and its value.
_PROBLEMS: dict[str, tuple[tuple[str, ...], Callable[[Instance, Any], float]]] = {
    "aircraft_landing": (("times", "runways"), _aircraft_landing),
    "crew_scheduling": (("crews",), _crew_scheduling),
    "guillotine_cutting": (("placements",), _guillotine_cutting),
    "job_shop": (("starts",), _job_shop),
    "knapsack": (("items",), _knapsack),
    "steiner_tree": (("points",), _steiner_tree),
}
_each_problem = pytest.mark.parametrize("problem", sorted(_PROBLEMS))


def _compare(problem: str, instance: Instance, solution: Any) -> None:
    """The scorer refuses what the recomputation refuses, and else both have the same value."""
    try:
        expected = _PROBLEMS[problem][1](instance, solution)
    except Exception:  # noqa: BLE001 - whatever it is
        with pytest.raises(ValueError, match=r"^.{5,120}$"):
            _load(problem, "scorer").score(instance, solution)
        return
    found = _load(problem, "scorer").score(instance, solution)
    assert type(found) is float
    assert found == pytest.approx(expected, rel=1e-9)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of all entries of nested lists and objects."""
    found = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        keys = (
            list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        )
        found += [(node, key) for key in keys]
        waiting += [node[key] for key in keys]
    return found


def _mutate(draw: random.Random, tree: Any) -> None:
    node, key = draw.choice(_places(tree))
    value = node[key]
    kind = draw.randrange(7)
    if kind == 0:
        node[key] = draw.choice(_JUNK)
    elif kind == 1:
        del node[key]
    elif kind == 2 and isinstance(node, list):
        node.insert(draw.randrange(len(node) + 1), copy.deepcopy(value))
    elif kind == 3:
        other, place = draw.choice(_places(tree))
        node[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(value)
    elif kind == 4 and isinstance(value, int | float):
        node[key] = value + draw.choice((-1, 1, 2, 10, -10, 1000, 0.0, 0.25))
    elif kind == 5 and isinstance(value, list):
        draw.shuffle(value)
    elif isinstance(node, dict):
        node["score"] = draw.choice(_JUNK)


@_each_problem
@given(seed=st.integers(0, 2**32), number=st.integers(0, 7), times=st.integers(1, 3))
def test_mutated_solutions_are_refused_or_valued_right(
    problem: str, seed: int, number: int, times: int
) -> None:
    """A feasible solution with up to three mutations has the score of a recomputation, or is refused."""
    draw = random.Random(seed)
    solution = copy.deepcopy(_first(problem, number))
    for _ in range(times):
        if _places(solution):
            _mutate(draw, solution)
    _compare(problem, _entries(problem)[number]["instance"], solution)


_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(_JUNK),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@_each_problem
@given(value=_VALUE, other=_VALUE)
def test_any_value_is_refused_or_valued_right(problem: str, value: Any, other: Any) -> None:
    """Whatever a program returns, no exception but ValueError leaves the scorer."""
    instance = _entries(problem)[0]["instance"]
    _compare(problem, instance, value)
    _compare(problem, instance, dict(zip(_PROBLEMS[problem][0], (value, other), strict=False)))


@_each_problem
def test_deep_lists_and_long_integers_are_refused(problem: str) -> None:
    """A list in fifty thousand lists is refused without recursion, and an integer of many digits."""
    instance = _entries(problem)[0]["instance"]
    for solution in (
        _DEEP,
        {_PROBLEMS[problem][0][0]: _DEEP},
        {key: [10**5000] for key in _PROBLEMS[problem][0]},
    ):
        with pytest.raises(ValueError, match=r"^.{5,120}$"):
            _load(problem, "scorer").score(instance, solution)


@_each_problem
def test_parts_and_cases(problem: str) -> None:
    """Each part has its number of instances and all cases; their fields are the arguments of solve."""
    entries = _entries(problem)
    arguments = list(inspect.signature(_load(problem, "solver").solve).parameters)
    assert Counter(entry["part"] for entry in entries) == {"development": 8, "sealed": 24, "test": 16}
    cases = {entry["case"] for entry in entries}
    assert len({(entry["part"], entry["case"]) for entry in entries}) == 3 * len(cases)
    assert {entry["case"] for entry in entries[: len(cases)]} == cases, "cases are not interleaved"
    assert len({entry["id"] for entry in entries}) == len(entries)
    for entry in entries:
        assert set(entry) == {"id", "case", "part", "instance", "reference"}
        assert set(entry["instance"]) == set(arguments)
        assert json.loads(json.dumps(entry["instance"])) == entry["instance"]
        assert type(entry["reference"]) is float
        assert entry["reference"] > 0
        assert entry["reference"] not in entry["instance"].values()


def test_instances_are_made_alike_and_quickly() -> None:
    """All generators together take less than ten seconds, and make the same again."""
    start = time.process_time()
    made = {problem: _load(problem, "generator").generate() for problem in _PROBLEMS}
    assert time.process_time() - start < 10
    assert made == {problem: _entries(problem) for problem in _PROBLEMS}


@pytest.mark.parametrize("problem", sorted(_DIGESTS))
def test_instances_are_those_of_the_table_of_references(problem: str) -> None:
    """Instances whose references are in a table have not changed since."""
    text = json.dumps([entry["instance"] for entry in _entries(problem)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == _DIGESTS[problem]


@_each_problem
def test_first_programs_are_feasible_and_can_be_improved(problem: str) -> None:
    """The first program is feasible on all instances and no better than references."""
    values = []
    for number, entry in enumerate(_entries(problem)):
        _compare(problem, entry["instance"], _first(problem, number))
        raw = _load(problem, "scorer").score(entry["instance"], _first(problem, number))
        values.append(_normalised(problem, raw, entry["reference"]))
    assert max(values) <= 1 + 1e-9
    assert 0.6 < sum(values) / len(values) < 0.95


def test_references_of_knapsacks_are_near_the_relaxation() -> None:
    """No optimum exceeds that of the linear relaxation, and none is far below."""
    for entry in _entries("knapsack"):
        data = entry["instance"]
        relaxed = -linprog(
            -np.array(data["values"]), data["weights"], data["capacities"], bounds=(0, 1)
        ).fun
        assert 0.9 * relaxed < entry["reference"] <= relaxed


@given(seed=st.integers(0, 2**32), jobs=st.integers(1, 12), machines=st.integers(1, 8))
def test_drawn_schedules_of_job_shops_are_optimal(seed: int, jobs: int, machines: int) -> None:
    """The drawn schedule is feasible, and its makespan is the load of machine 0."""
    routes, makespan = _load("job_shop", "generator")._schedule(random.Random(seed), jobs, machines)
    operations = [
        [[machine, min(end, makespan) - start] for machine, start, end in route] for route in routes
    ]
    instance = {"jobs": operations, "machines": machines}
    starts = {"starts": [[start for _, start, _ in route] for route in routes]}
    assert _load("job_shop", "scorer").score(instance, starts) == makespan
    assert sum(span for route in operations for machine, span in route if machine == 0) == makespan


def test_values_of_sheets_are_bounded_by_their_area() -> None:
    """No piece is worth more than its area, and the reference is the area of the sheet."""
    for entry in _entries("guillotine_cutting"):
        data = entry["instance"]
        assert all(min(piece) > 0 and piece[2] <= piece[0] * piece[1] for piece in data["pieces"])
        assert entry["reference"] == data["width"] * data["height"]


def test_a_layout_without_a_straight_cut_is_refused() -> None:
    """Four pieces around a fifth, in a circle, do not overlap and cannot be cut."""
    pieces = [[2, 1, 2, 2], [1, 2, 2, 2], [1, 1, 1, 1]]
    instance = {"width": 3, "height": 3, "pieces": pieces}
    wheel = [[0, 0, 0], [1, 2, 0], [0, 1, 2], [1, 0, 1]]
    score = _load("guillotine_cutting", "scorer").score
    with pytest.raises(ValueError, match="no guillotine cut"):
        score(instance, {"placements": wheel})
    assert score(instance, {"placements": wheel[:3]}) == 6


def test_separation_holds_between_landings_that_are_not_neighbours() -> None:
    """A landing between two others does not replace their separation."""
    instance = {
        "earliest": [0] * 3,
        "target": [0, 1, 2],
        "latest": [9] * 3,
        "penalties": [[1, 1]] * 3,
        "aircraft_class": [0, 1, 2],
        "separation": [[1, 1, 5], [1, 1, 1], [1, 1, 1]],
        "runways": 1,
    }
    score = _load("aircraft_landing", "scorer").score
    with pytest.raises(ValueError, match="aircraft 2 lands less than 5 after aircraft 0"):
        score(instance, {"times": [0, 1, 2], "runways": [0] * 3})
    assert score(instance, {"times": [0, 1, 5], "runways": [0] * 3}) == 3


def test_a_square() -> None:
    """Two Steiner points shorten the tree of a square's corners from three sides to 1 + sqrt(3)."""
    instance = {"terminals": [[0, 0], [6, 0], [0, 6], [6, 6]], "side": 6}
    score = _load("steiner_tree", "scorer").score
    assert score(instance, {"points": []}) == 18
    points = [[3**0.5, 3], [6 - 3**0.5, 3]]
    assert score(instance, {"points": points}) == pytest.approx(6 * (1 + 3**0.5))
