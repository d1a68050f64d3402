"""A problem's own code: its instances, objectives, and normalised scores."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest

from comind.programs.inside.problem import INFEASIBLE, SCORER, Problem
from comind.programs.inside.values import from_text
from tests.unit.programs.conftest import Limited
from tests.unit.programs.small_problems import GENERATOR, write_problem
from tests.unit.programs.small_problems import SCORER as NUMBERS

_GIVEN: dict[str, Any] = {
    "id": "a",
    "case": "numbers.txt",
    "instance": {"n": 3},
    "reference": 10.0,
    "withheld": {},
}


@pytest.fixture(autouse=True)
def own_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules and paths of a problem are forgotten after its test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def _problem(folder: Path, scorer: str) -> Problem:
    return Problem(write_problem(folder, scorer_py=scorer))


@pytest.mark.parametrize(
    ("scorer", "score"),
    [
        ("MAXIMIZE = True\ndef score(instance, solution): return solution", 0.5),
        ("MAXIMIZE = False\ndef score(instance, solution): return solution", 2.0),
        ("MAXIMIZE = False\ndef score(instance, solution): return -solution", 0.0),
        ("MAXIMIZE = False\ndef score(instance, solution): return 0", 0.0),
        ("MAXIMIZE = True\ndef score(instance, solution): return -solution", 0.0),
        ("def score(i, s): return s\ndef normalised(raw, reference): return raw / 100", 0.05),
        ("def score(i, s): return s\ndef normalised(raw, reference): return -1", 0.0),
        ("MAXIMIZE = True\ndef score(instance, solution, seconds): return seconds * 4", 0.6),
    ],
)
def test_objectives_are_normalised(scorer: str, score: float, tmp_path: Path) -> None:
    """An objective is divided by the reference, or the other way round, and never counts below 0."""
    assert _problem(tmp_path, scorer).score(_GIVEN, 5, 1.5)[0] == pytest.approx(score)


@pytest.mark.parametrize("raw", ["math.nan", "math.inf", "True", "'5'", "None", "[5]", "10 ** 400"])
def test_objectives_are_finite_numbers(raw: str, tmp_path: Path) -> None:
    """A scorer's NaN, infinity, truth value, text or nothing is no score: the solution is infeasible."""
    problem = _problem(tmp_path, f"import math\nMAXIMIZE = True\ndef score(i, s): return {raw}")
    with pytest.raises(ValueError, match="its objective is"):
        problem.score(_GIVEN, 5, 0.0)


def test_normalised_scores_are_finite_numbers(tmp_path: Path) -> None:
    """A normalised score that is no number is no score."""
    scorer = "def score(i, s): return s\ndef normalised(raw, reference): return float('nan')"
    with pytest.raises(ValueError, match="its normalised score is"):
        _problem(tmp_path, scorer).score(_GIVEN, 5, 0.0)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ("[5]", "instance 0 is no mapping"),
        ("[{'instance': 5}]", "instance 0 is no mapping"),
        ("[{'instance': {'n': 1}}]", "instance 0 has no reference"),
    ],
)
def test_instances_are_checked(made: str, reason: str, tmp_path: Path) -> None:
    """Instances are mappings with fields and, if the default normalises, a reference."""
    code = f"def generate(): return {made}"
    problem = Problem(write_problem(tmp_path, scorer_py=NUMBERS, generator_py=code))
    with pytest.raises((TypeError, ValueError), match=reason):
        list(problem.instances())


def test_instances_may_be_a_file(tmp_path: Path) -> None:
    """instances.json has the instances of a problem without a generator; names are numbered."""
    text = '[{"instance": {"n": 1}, "reference": 1}, {"instance": {"n": 2}, "reference": 2}]'
    problem = write_problem(tmp_path)
    (problem / "instances.json").write_text(text)
    found = list(Problem(problem).instances())
    assert [each["id"] for each in found] == ["000", "001"]
    assert [each["part"] for each in found] == ["", ""]


def test_instances_keep_references_apart(tmp_path: Path) -> None:
    """The fields of an instance are those for the program; the reference is beside them."""
    found = list(Problem(write_problem(tmp_path, generator_py=GENERATOR)).instances())
    assert len(found) == 8
    assert set(found[0]["instance"]) == {"room", "numbers"}
    assert found[0]["reference"] == 7000


def _scored(limited: Limited, folder: Path, value: bytes, given: dict[str, Any] = _GIVEN) -> list[Any]:
    """Return the score of a solution by the problem in a folder."""
    body = f"""
from pathlib import Path
from comind.programs.inside.limits import Ended
from comind.programs.inside.problem import Problem
from comind.programs.inside.score_solutions import score_of
from comind.programs.inside.values import to_text
scored = score_of(Problem(Path({str(folder)!r})), {given!r}, Ended({value!r}, seconds=1.0), 1.0)
packed = Ended(to_text(scored).encode()).packed()
"""
    found: list[Any] = from_text(limited(body).value)
    return found


@pytest.mark.parametrize(
    ("scorer", "failure", "detail"),
    [
        ("raise ValueError('item 7 is there twice')", INFEASIBLE, "item 7 is there twice"),
        ("raise ValueError", INFEASIBLE, ""),
        ("return instance['m']", SCORER, "KeyError: 'm'"),
        ("return 1 / 0", SCORER, "ZeroDivisionError: division by zero"),
        ("raise SystemExit", SCORER, "SystemExit: "),
        ("while True: pass", SCORER, "ran out of processor time"),
        ("import os; os._exit(0)", SCORER, "ended without a solution"),
        ("return math.nan", INFEASIBLE, "its objective is nan"),
    ],
)
def test_failures_of_scorers_are_told_apart(
    scorer: str, failure: str, detail: str, tmp_path: Path, limited: Limited
) -> None:
    """A ValueError means an infeasible solution; anything else is the scorer's own, and scores 0."""
    text = f"import math\nMAXIMIZE = True\ndef score(instance, solution):\n    {scorer}"
    found = _scored(limited, write_problem(tmp_path, scorer_py=text), b"5")
    assert found[:4] == [0.0, None, failure, detail]
    assert found[4] == 1.0


@pytest.mark.parametrize("text", [b"", b"[" * 50_000, b"\xff", b'{"__comind__": "dict", "items": 5}'])
def test_values_that_nobody_wrote_are_infeasible(text: bytes, tmp_path: Path, limited: Limited) -> None:
    """A solution that is no value at all is infeasible, and the scorer never sees it."""
    scorer = "def score(instance, solution): raise KeyError"
    found = _scored(limited, write_problem(tmp_path, scorer_py=scorer), text)
    assert found[2] == INFEASIBLE


_CONFIG = """
def load_data(path):
    return [{"n": 1, "best_known": 3, "upper_bound": 4}, {"n": 2, "best_known": 5}]
def eval_func(n, best_known, upper_bound=0, **found):
    if found.get("size") == 7:
        raise KeyError("seven")
    return found["size"]
def norm_score(results):
    return {
        case: ([b if isinstance(b, str) else a / b for a, b in zip([3, 5], scores)], error)
        for case, (scores, error) in results.items()
    }
"""


def _cobench(folder: Path, more: str = "") -> Problem:
    (folder / "config.py").write_text(_CONFIG + more)
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("data\n")
    (folder / "__pycache__").mkdir()
    return Problem(folder)


@pytest.mark.parametrize(
    ("listed", "public"),
    [
        ("{'a.txt': [1], 'b.txt': []}", ["a-001", "b-000"]),
        ("{'a.txt': [0, 1]}", ["a-000", "a-001"]),
        ("{}", []),
        ("None", []),
    ],
)
def test_development_instances_of_cobench_are_public(
    listed: str, public: list[str], tmp_path: Path
) -> None:
    """`get_dev` names the development instances; of an empty list the first one is meant."""
    problem = _cobench(tmp_path, f"def get_dev(): return {listed}")
    found = list(problem.instances())
    assert [each["id"] for each in found] == ["a-000", "a-001", "b-000", "b-001"]
    assert [each["id"] for each in found if each["part"] == "public"] == public


def test_references_in_instances_of_cobench_are_withheld(tmp_path: Path) -> None:
    """Fields with the names of references are for the scorer alone."""
    first = next(_cobench(tmp_path).instances())
    assert first["instance"] == {"n": 1}
    assert first["withheld"] == {"best_known": 3, "upper_bound": 4}


@pytest.mark.parametrize(
    "name", ["optimal_route", "best", "Best_Known", "bestknown", "opt", "lower_bound"]
)
def test_names_of_references_are_known(name: str, tmp_path: Path) -> None:
    """Names that begin with best, optimal or reference, and bounds, are those of references."""
    code = f"def load_data(path):\n    return [{{'options': 1, 'bestow': 2, 'bound': 3, {name!r}: 4}}]\n"
    first = next(_cobench(tmp_path, code).instances())
    assert first["instance"] == {"options": 1, "bestow": 2, "bound": 3}
    assert first["withheld"] == {name: 4}


@pytest.mark.parametrize(
    ("solution", "score"),
    [({"size": 10}, (0.5, 10.0)), ({"size": 10, 3: "ignored"}, (0.5, 10.0)), ({"size": 5}, (1.0, 5.0))],
)
def test_scores_of_cobench_are_its_own(
    solution: dict[Any, Any], score: tuple[float, float], tmp_path: Path
) -> None:
    """A solution's objective is normalised by the problem's own function, at the instance's place."""
    problem = _cobench(tmp_path)
    given = [*problem.instances()][1]
    assert problem.score(given, solution, 0.0) == score


@pytest.mark.parametrize(("share", "score"), [("a / b", -10.0), ("b / a", 10.0)])
def test_agents_score_cobench_without_references(share: str, score: float, tmp_path: Path) -> None:
    """Agents' copy has no references: the score is the objective, negative where that is minimised."""
    problem = _cobench(tmp_path, f"{_CONFIG.replace('a / b', share)}\n")
    given = [*problem.instances()][1]
    public = tmp_path / "public"
    public.mkdir()
    (public / "config.py").write_text(_CONFIG.partition("def norm_score")[0])
    copied = Problem(public)
    assert problem.normalises
    assert not copied.normalises
    assert copied.score(given, {"size": 10}, 0.0) == (score, 10.0)


@pytest.mark.parametrize(
    ("solution", "reason"),
    [
        (5, "instead of a dictionary"),
        ({"size": 3, "n": 1}, "names a field of the instance: n"),
        ({"size": 3, "best_known": 1}, "names a field of the instance: best_known"),
        ({"size": "3"}, "its objective is '3'"),
        ({"size": math.nan}, "its objective is nan"),
    ],
)
def test_solutions_of_cobench_are_checked(solution: Any, reason: str, tmp_path: Path) -> None:
    """A solution is a dictionary that names no field of the instance, and its objective is a number."""
    problem = _cobench(tmp_path)
    given = next(problem.instances())
    with pytest.raises(ValueError, match=reason):
        problem.score(given, solution, 0.0)


def test_errors_of_cobench_scorers_mean_infeasible(tmp_path: Path, limited: Limited) -> None:
    """CO-Bench's scorers raise any error for an infeasible solution."""
    given = next(_cobench(tmp_path).instances())
    found = _scored(limited, tmp_path, b'{"size": 7}', given)
    assert found[2:4] == [INFEASIBLE, "KeyError: 'seven'"]
