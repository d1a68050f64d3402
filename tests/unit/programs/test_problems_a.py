"""Problems with sequences, sets and graphs: checkers that are not fooled, references that hold."""

import ast
import copy
import importlib.util
import json
import math
import random
import sys
import time
from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import comind
from tests.examples import examples
from tests.unit.programs.objectives_again import AGAIN, Instance

_FOLDER = Path(comind.__file__).parent / "demos" / "problems"
_BAD = (True, False, 0.0, 1.0, 1.5, math.nan, math.inf, "0", "", None, -1, 10**9, 10**5000, [], [0], {})
_LONGEST_MESSAGE = 100


@cache
def _load(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_{file}", _FOLDER / name / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _made(name: str) -> list[dict[str, Any]]:
    return list(_load(name, "generator").generate())


@cache
def _smallest(name: str) -> tuple[Instance, dict[str, Any]]:
    """Return the shortest instance and what the first program returns for it."""
    instance = min((each["instance"] for each in _made(name)), key=lambda each: len(json.dumps(each)))
    return instance, _load(name, "solver").solve(**instance)


_EACH = pytest.mark.parametrize("name", AGAIN)


def _scored(name: str, instance: Instance, solution: object) -> float | None:
    """Return the score, or None where it is refused with one short line; another error is a bug."""
    try:
        return float(_load(name, "scorer").score(instance, solution))
    except ValueError as error:
        message = str(error)
        assert 0 < len(message) <= _LONGEST_MESSAGE
        assert "\n" not in message
        return None


# --- checkers ---------------------------------------------------------------------------------------


def _lists(value: object) -> list[list[Any]]:
    """Return all lists within a value."""
    if isinstance(value, dict):
        return [each for item in value.values() for each in _lists(item)]
    return [value, *(each for item in value for each in _lists(item))] if isinstance(value, list) else []


def _mutate(draw: st.DrawFn, solution: dict[str, Any]) -> None:
    """Change one thing in a solution."""
    kind = draw(
        st.sampled_from(["put", "drop", "repeat", "swap", "append", "nest", "copy", "key", "whole"])
    )
    if kind == "key":
        solution[draw(st.sampled_from(["score", "value", "0"]))] = draw(st.sampled_from(_BAD))
        return
    if kind == "whole":
        solution[next(iter(solution))] = draw(st.sampled_from(_BAD))
        return
    within = [each for each in _lists(solution) if each]
    if not within:
        return
    target = draw(st.sampled_from(within))
    one, other = (draw(st.integers(0, len(target) - 1)) for _ in range(2))
    match kind:
        case "put":
            target[one] = draw(st.sampled_from(_BAD) | st.integers(-3, 500))
        case "drop":
            del target[one]
        case "repeat":
            target.insert(other, target[one])
        case "swap":
            target[one], target[other] = target[other], target[one]
        case "append":
            target.append(draw(st.sampled_from(_BAD) | st.integers(-3, 500)))
        case "nest":
            target[one] = [target[one]]
        case _:
            target[one] = target[other]


@_EACH
@given(data=st.data())
@examples(60)
def test_a_changed_solution_is_refused_or_scored_as_what_it_is(name: str, data: st.DataObject) -> None:
    """After mutations the score is that of a second implementation, or both find it infeasible."""
    instance, solution = copy.deepcopy(_smallest(name))
    for _ in range(data.draw(st.integers(1, 3))):
        _mutate(data.draw, solution)
    again = AGAIN[name](instance, solution)
    scored = _scored(name, instance, solution)
    assert scored == (again if again is None else pytest.approx(again))


@_EACH
def test_a_value_that_python_takes_for_an_index_is_refused(name: str) -> None:
    """Truth values, floats, texts, lists and negative numbers are refused where an integer is due."""
    instance, known = _smallest(name)
    size = max(len(value) if isinstance(value, list) else value for value in instance.values())
    for number, target in enumerate(_lists(known)):
        for place, entry in enumerate(target):
            if isinstance(entry, int) and (entry < 2 or place < 5):
                below = [each for each in (entry - size, entry - len(target), -1 - entry) if each < 0]
                like = [float(entry), str(entry), [entry], *below]
                for bad in [*like, bool(entry)] if entry < 2 else like:
                    solution = copy.deepcopy(known)
                    _lists(solution)[number][place] = bad
                    assert _scored(name, instance, solution) is None


def test_an_empty_bin_does_not_count() -> None:
    """A list without items is feasible and adds nothing."""
    instance, known = _smallest("bin_packing")
    more = {"bins": [[], *known["bins"], []]}
    assert _scored("bin_packing", instance, more) == _scored("bin_packing", instance, known)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*AGAIN, "bins", "tour", "order", "colours"]), inner)
    ),
)


@_EACH
@given(solution=_JSON)
@examples(40)
def test_any_value_is_refused_or_scored(name: str, solution: object) -> None:
    """Whatever JSON can hold is refused with one line, under the right key, too."""
    instance, known = _smallest(name)
    assert _scored(name, instance, solution) is None
    scored = _scored(name, instance, {next(iter(known)): solution})
    assert scored is None or (name, scored) == ("independent_set", len(solution))  # type: ignore[arg-type]


@_EACH
def test_a_deep_solution_is_refused(name: str) -> None:
    """Nesting beyond what recursion bears is refused like any other value."""
    instance, known = _smallest(name)
    deep: list[Any] = []
    for _ in range(10 * sys.getrecursionlimit()):
        deep = [deep]
    for solution in (deep, {next(iter(known)): deep}, {next(iter(known)): [deep]}):
        assert _scored(name, instance, solution) is None


_EDGE = {"vertices": 2, "edges": [[0, 1]]}
_SETS = {"rows": 2, "columns": [[0], [1]], "costs": [1, 1]}


@pytest.mark.parametrize(
    ("name", "instance", "solution", "reason"),
    [
        (
            "bin_packing",
            {"capacity": 5, "items": [3, 3]},
            {"bins": [[0, 1]]},
            "bin 0 holds 6, more .*",
        ),
        ("bin_packing", {"capacity": 9, "items": [3]}, {"bins": [[0], [0]]}, "item 0 is packed twice"),
        ("tsp", {"points": [[0, 0], [0, 1]]}, {"tour": [1]}, "point 0 is not visited"),
        ("set_covering", _SETS, {"columns": [0]}, "row 1 is not covered"),
        ("flow_shop", {"times": [[1, 2]]}, {"order": [0, 0]}, "job 0 is in the order twice"),
        (
            "graph_colouring",
            _EDGE,
            {"colours": [1, 1]},
            "vertices 0 and 1 are joined and have the same colour",
        ),
        ("independent_set", _EDGE, {"vertices": [1, 0]}, "vertices 0 and 1 are both .*"),
    ],
)
def test_a_reason_names_what_is_infeasible(
    name: str, instance: Instance, solution: object, reason: str
) -> None:
    """The message says which item, point, row, job or edge is at fault."""
    with pytest.raises(ValueError, match=f"^{reason}$"):
        _load(name, "scorer").score(instance, solution)


# --- instances --------------------------------------------------------------------------------------


@_EACH
def test_instances_are_as_the_contract_says(name: str) -> None:
    """Each part has its size and all cases in about equal shares; all is JSON and repeatable."""
    made = _made(name)
    assert list(_load(name, "generator").generate()) == made
    assert json.loads(json.dumps(made)) == made
    assert len({each["id"] for each in made}) == len(made)
    parts = Counter(each["part"] for each in made)
    assert parts == {"development": 8, "sealed": 16 if name == "flow_shop" else 24, "test": 16}
    cases = {each["case"] for each in made}
    assert 2 <= len(cases) <= 4
    for part in parts:
        shares = Counter(each["case"] for each in made if each["part"] == part)
        assert {*shares} == cases
        assert max(shares.values()) - min(shares.values()) <= 1


@_EACH
def test_an_instance_does_not_tell_its_reference(name: str) -> None:
    """No field is named like the reference, and none is equal to it; no instance occurs twice."""
    seen = set()
    for each in _made(name):
        assert {*each} == {"id", "case", "part", "instance", "reference"}
        assert type(each["reference"]) is float
        assert "reference" not in json.dumps(each["instance"])
        assert each["reference"] not in each["instance"].values()
        seen.add(json.dumps(each["instance"]))
    assert len(seen) == len(_made(name))


def test_all_instances_are_made_within_seconds() -> None:
    """The six generators together take less than 10 s of processor time."""
    begin = time.process_time()
    for name in AGAIN:
        _load(name, "generator").generate()
    assert time.process_time() - begin < 10


@_EACH
def test_the_first_program_is_feasible_and_leaves_something_to_gain(name: str) -> None:
    """It solves each instance, never better than the reference, and scores 0.6 to 0.95 on average."""
    scores = []
    for each in _made(name):
        raw = _scored(name, each["instance"], _load(name, "solver").solve(**each["instance"]))
        assert raw is not None, each["id"]
        pair = (each["reference"], raw)
        scores.append(min(pair) / max(pair))
        is_better = pair == tuple(sorted(pair, reverse=_load(name, "scorer").MAXIMIZE))
        assert is_better, each["id"]
    assert 0.6 < sum(scores) / len(scores) < 0.95


@_EACH
def test_files_stand_alone(name: str) -> None:
    """They import the standard library, numpy and scipy only; the folder has five files."""
    files = {path.name for path in (_FOLDER / name).iterdir() if path.is_file()}
    assert files == {"competition.yaml", "description.md", "generator.py", "scorer.py", "solver.py"}
    for path in (_FOLDER / name).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for imported in names:
                assert imported.split(".")[0] in {*sys.stdlib_module_names, "numpy", "scipy"}


# --- references -------------------------------------------------------------------------------------


def test_bins_of_the_reference_are_full() -> None:
    """All items together fill the bins of the reference, so fewer do not suffice."""
    for each in _made("bin_packing"):
        assert sum(each["instance"]["items"]) == each["reference"] * each["instance"]["capacity"]


@given(seed=st.integers(0, 10**6))
@examples(10)
def test_a_tour_of_the_grid_has_the_length_of_the_reference(seed: int) -> None:
    """Squares of four points are joined to one tour of steps between neighbours; no step is shorter."""
    points, reference = _load("tsp", "generator")._grid(random.Random(seed))
    step = reference / len(points)
    near = [
        (a, b) for a, b in combinations(range(len(points)), 2) if math.dist(points[a], points[b]) == step
    ]
    assert min(math.dist(*pair) for pair in combinations(points, 2)) == step
    edges = {pair for pair in near if pair[0] // 4 == pair[1] // 4}
    tree = {0}
    while facing := sorted(p for p in near if (p[0] // 4 in tree) != (p[1] // 4 in tree)):
        squares = [each // 4 for each in facing[0]]
        bridge = [pair for pair in near if sorted(each // 4 for each in pair) == sorted(squares)]
        edges ^= {*bridge, *(tuple(sorted(ends)) for ends in zip(*bridge, strict=True))}
        tree |= {*squares}
    tour = [0]
    while edges:
        edge = next(pair for pair in sorted(edges) if tour[-1] in pair)
        edges.remove(edge)
        tour.append(sum(edge) - tour[-1])
    assert tour.pop() == 0
    assert AGAIN["tsp"]({"points": points}, {"tour": tour}) == pytest.approx(reference)


def test_the_solver_confirms_an_optimum_of_the_table() -> None:
    """HiGHS finds the cost that is written down for an instance of set covering."""
    each = next(each for each in _made("set_covering") if each["id"] == "d200-02")
    costs, columns = each["instance"]["costs"], each["instance"]["columns"]
    covers = np.array(
        [[row in {*column} for column in columns] for row in range(each["instance"]["rows"])]
    )
    found = milp(costs, integrality=1, bounds=Bounds(0, 1), constraints=LinearConstraint(covers, lb=1))
    assert round(found.fun) == each["reference"]


def test_flow_shops_are_those_that_were_published() -> None:
    """The first row begins as printed; NEH is mostly within 7 % of the makespans and never below."""
    made = {each["id"]: each for each in _made("flow_shop")}
    assert made["j20m5-00"]["instance"]["times"][0][:5] == [54, 83, 15, 71, 77]
    score = _load("flow_shop", "scorer").score
    ratios = []
    for each in made.values():
        times = np.array(each["instance"]["times"])
        order: list[int] = []
        for job in np.argsort(-times.sum(axis=0), kind="stable").tolist():
            tries = [[*order[:place], job, *order[place:]] for place in range(len(order) + 1)]
            order = min(
                tries,
                key=lambda jobs: score(
                    {"times": times[:, jobs].tolist()}, {"order": [*range(len(jobs))]}
                ),
            )
        ratios.append(score(each["instance"], {"order": order}) / each["reference"])
    assert min(ratios) >= 1
    assert max(ratios) < 1.08
    assert sum(ratio < 1.07 for ratio in ratios) > 36


def _chromatic(vertices: int, edges: list[tuple[int, int]]) -> int:
    """Return the chromatic number, by trying."""

    def fits(colours: list[int], most: int) -> bool:
        taken = {colours[min(pair)] for pair in edges if max(pair) == len(colours)}
        return len(colours) == vertices or any(
            fits([*colours, each], most)
            for each in range(min(most, max(colours, default=-1) + 2))
            if each not in taken
        )

    return next(most for most in range(1, vertices + 1) if fits([], most))


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 4), density=st.sampled_from([0.3, 0.6, 1.0]))
@examples(10)
def test_constructed_graphs_need_as_many_colours(seed: int, classes: int, density: float) -> None:
    """Small graphs of each construction have the chromatic number that it claims."""
    generator = _load("graph_colouring", "generator")
    graph = generator._partite(random.Random(seed), classes, 2, density)
    assert _chromatic(*graph[:2]) == graph[2] == classes
    larger = generator._mycielskian(*graph)
    assert _chromatic(*larger[:2]) == larger[2] == classes + 1
    rows, columns = 1 + seed % 5, 5
    assert _chromatic(*generator._queens(rows, columns, columns)[:2]) == columns


@given(seed=st.integers(0, 10**6), sizes=st.lists(st.integers(1, 4), min_size=2, max_size=4))
@examples(10)
def test_constructed_graphs_have_an_independent_set_of_a_vertex_of_each_clique(
    seed: int, sizes: list[int]
) -> None:
    """The largest independent set has as many vertices as there are cliques."""
    edges = _load("independent_set", "generator")._edges(np.random.default_rng(seed), sizes, 40)
    assert edges == sorted(edges)
    assert all(one < other for one, other in edges)
    best = max(
        len(chosen)
        for size in range(1, len(sizes) + 2)
        for chosen in combinations(range(sum(sizes)), size)
        if not any([*pair] in edges for pair in combinations(chosen, 2))
    )
    assert best == len(sizes)


def test_edges_do_not_tell_the_order_in_which_they_were_drawn() -> None:
    """Edges of graphs are sorted, each once, none from a vertex to itself."""
    for each in [*_made("graph_colouring"), *_made("independent_set")]:
        edges = each["instance"]["edges"]
        assert all(one < other for one, other in pairwise(edges))
        assert all(0 <= one < other < each["instance"]["vertices"] for one, other in edges)
