"""Problems in CO-Bench's form, in place: scores are those of CO-Bench's own procedure."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from comind.competitions.competition_folder import load_competition
from comind.programs.inside.values import from_text
from comind.programs.program_answers import ProgramAnswers
from comind.programs.program_grader import ProgramGrader
from comind.programs.program_split import make_program_split
from comind.session.bubblewrap import BubblewrapSandbox
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_tree

_FIXTURES = Path(__file__).parents[1] / "fixtures" / "cobench"
_SEED = 1
_WITHHELD = ("best_known", "optimal_route")
_PLAIN = """
def solve(**kwargs):
    room, chosen = kwargs["capacity"], []
    if room == 9:
        return {"chosen": [0, 0]}
    if room == 8:
        raise ValueError("no idea")
    for number, size in sorted(enumerate(kwargs["sizes"]), key=lambda each: -each[1]):
        if size <= room:
            chosen.append(number)
            room -= size
    return {"chosen": chosen}
"""
_TYPED = """
import numpy as np
def solve(distances, demands, pair, names):
    assert isinstance(distances, np.ndarray) and distances.dtype == np.float64
    assert isinstance(pair, tuple) and all(isinstance(each, int) for each in demands)
    assert isinstance(names, set)
    start, end = pair
    rest = sorted(set(demands) - {start, end})
    return {"route": tuple([start, *rest, end]), 1: "ignored"}
"""


@pytest.fixture(autouse=True)
def imported_here(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The original's modules can be imported in this process, and are forgotten after a test."""
    monkeypatch.syspath_prepend(problem)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture(scope="module")
def sandbox() -> BubblewrapSandbox:
    """The sandbox of programs and scorers."""
    return BubblewrapSandbox()


@pytest.fixture(scope="module", params=["plain_sizes", "typed_routes"])
def problem(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of each fixture that cannot be written to."""
    folder = tmp_path_factory.mktemp("cobench") / request.param
    shutil.copytree(_FIXTURES / request.param, folder)
    for path in [*folder.iterdir(), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


@pytest.fixture(scope="module")
def split(
    problem: Path, sandbox: BubblewrapSandbox, tmp_path_factory: pytest.TempPathFactory
) -> SplitFolder:
    """Its split."""
    splits = tmp_path_factory.mktemp("splits")
    return make_program_split(load_competition(problem), splits, seed=_SEED, sandbox=sandbox)


def _program(problem: Path) -> str:
    return _PLAIN if problem.name == "plain_sizes" else _TYPED


def _config(problem: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"config_of_{problem.name}", problem / "config.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _original(problem: Path, code: str) -> dict[str, list[Any]]:
    """Return the normalised scores by case, as CO-Bench's procedure has them: a failure is text."""
    config, names = _config(problem), dict[str, Any]()
    exec(code, names)
    solve: Callable[..., dict[Any, Any]] = names["solve"]
    results: dict[str, tuple[list[Any], None]] = {}
    for file in sorted(problem.iterdir()):
        if file.suffix == ".py":
            continue
        scores: list[Any] = []
        for instance in config.load_data(str(file)):
            try:
                known = {name: value for name, value in instance.items() if name not in _WITHHELD}
                solution = {str(name): value for name, value in solve(**known).items()}
                scores.append(config.eval_func(**instance, **solution))
            except Exception as error:  # noqa: BLE001 - as the original
                scores.append(f"Exception: {error}")
        results[file.name] = (scores, None)
    return {case: scores for case, (scores, _) in config.norm_score(results).items()}


def _mean(scores: dict[str, list[Any]]) -> float:
    """Return the mean over cases of their means; failures are 0."""
    means = [
        sum(0 if isinstance(each, str) else each for each in found) / len(found)
        for found in scores.values()
    ]
    return sum(means) / len(means)


def _chosen(problem: Path, scores: dict[str, list[Any]], *, development: bool) -> dict[str, list[Any]]:
    named = _config(problem).get_dev()
    found = {
        case: [
            each for number, each in enumerate(of_case) if (number in named.get(case, ())) == development
        ]
        for case, of_case in scores.items()
    }
    return {case: of_case for case, of_case in found.items() if of_case}


def test_test_scores_are_those_of_the_original(
    problem: Path, sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """A program's score on the test instances is what CO-Bench's own procedure gives."""
    file = tmp_path / "solver.py"
    file.write_text(_program(problem))
    expected = _chosen(problem, _original(problem, file.read_text()), development=False)
    grade = ProgramAnswers(load_competition(problem), _SEED, sandbox).grade(file)
    assert grade.valid
    assert grade.score == pytest.approx(_mean(expected))
    assert 0.5 < _mean(expected) < 1
    failed = sum(isinstance(each, str) for found in expected.values() for each in found)
    assert len(grade.notes) == (failed > 0)


def test_development_scores_are_those_of_the_original(
    problem: Path, split: SplitFolder, sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """On development and on validation instances a program has the scores of the original."""
    grader, file = ProgramGrader(split, sandbox, tmp_path / "kept"), tmp_path / "solver.py"
    file.write_text(_program(problem))
    report = grader.grade(file, file)
    assert report.score is not None
    original = _original(problem, file.read_text())
    expected: dict[str, dict[str, list[Any]]] = {"development": {}, "validation": {}}
    for part, folder in (("development", split.public), ("validation", split.sealed)):
        for each in json.loads((folder / f"{part}.json").read_text()):
            score = original[each["case"]][each["reference"][0]]
            expected[part].setdefault(each["case"], []).append(score)
    assert report.score.value.value == pytest.approx(_mean(expected["validation"]))
    shown = grader.try_out(file.read_bytes()).splitlines()[-1]
    assert shown.endswith(f": {_mean(expected['development']):.4f}")


def test_references_are_withheld(split: SplitFolder, problem: Path) -> None:
    """Fields with references are no arguments of `solve`; others keep their types."""
    given = from_text((split.public / "development.json").read_text())
    for each in given:
        assert not set(_WITHHELD) & set(each["instance"])
        if problem.name == "typed_routes":
            assert set(each["withheld"]) == set(_WITHHELD)
            assert list(each["instance"]["demands"]) == [1, 2, 3, 4]
            assert type(each["instance"]["pair"]) is tuple
    if problem.name == "typed_routes":
        assert "Only the scorer gets: best_known, optimal_route." in split.facts.read_text()


def test_test_instances_are_sealed(split: SplitFolder, problem: Path) -> None:
    """Public are development instances alone, and no function or constant that knows references."""
    sealed = json.loads((split.sealed / "test.json").read_text())
    public = json.loads((split.public / "development.json").read_text())
    named = _config(problem).get_dev()
    for given, is_public in ((public, True), (sealed, False)):
        assert given
        for each in given:
            assert (each["reference"][0] in named.get(each["case"], ())) == is_public
    code = (split.public / "problem" / "config.py").read_text()
    for word in ("norm_score", "get_dev", "load_data", "OPTIMA", "314159"):
        assert word not in code
    assert "def eval_func" in code
    assert {each.name for each in (split.public / "problem").iterdir()} <= {"config.py", "checks.py"}


def test_the_description_is_the_original(split: SplitFolder, problem: Path) -> None:
    """Agents get CO-Bench's description, and its template of `solve`."""
    assert (split.public / "description.md").read_text() == _config(problem).DESCRIPTION
    assert (split.public / "solver.py").read_text().startswith("def solve(**kwargs):")


def test_the_folder_stays_as_it_is(problem: Path, sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Nothing is written to a problem that is used in place."""
    before = sorted(each.name for each in problem.iterdir()), hash_tree(problem)
    file = tmp_path / "solver.py"
    file.write_text(_program(problem))
    make_program_split(load_competition(problem), tmp_path / "splits", seed=2, sandbox=sandbox)
    ProgramAnswers(load_competition(problem), _SEED, sandbox).grade(file)
    assert (sorted(each.name for each in problem.iterdir()), hash_tree(problem)) == before
