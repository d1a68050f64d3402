"""Programs are scored on sealed instances; what is said of failures has no words of theirs."""

import json
import math
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

import pytest

from comind.competitions.competition_folder import load_competition
from comind.errors import GraderError
from comind.programs.means import mean_difference, mean_score
from comind.programs.program_answers import ProgramAnswers
from comind.programs.program_grader import ProgramGrader, check_program
from comind.programs.program_runs import Instance, InstanceScore
from comind.session.session_ports import Sandbox
from comind.splits.split_folder import SplitFolder
from tests.unit.programs.small_problems import BEST, GENERATOR, LARGEST, SCORER, split_of, write_problem

_HALF = """
def solve(room, numbers):
    if room % 2:
        raise ValueError(f"the room is {room}")
    return numbers
"""
_NONE = """
class Told(Exception):
    pass
def solve(room, numbers):
    raise Told(f"the room is {room}, the numbers are {numbers}")
"""


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The problem of numbers, with enough sealed instances for folds."""
    code = GENERATOR.replace('"sealed": 4', '"sealed": 12')
    return write_problem(tmp_path_factory.mktemp("given") / "numbers", generator_py=code)


@pytest.fixture(scope="module")
def split(problem: Path, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> SplitFolder:
    """Its split."""
    return split_of(problem, tmp_path_factory.mktemp("splits"), sandbox)


@pytest.fixture(scope="module")
def grader(
    split: SplitFolder, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> ProgramGrader:
    """Its grader."""
    return ProgramGrader(split, sandbox, tmp_path_factory.mktemp("kept"))


def _program(folder: Path, code: str) -> Path:
    file = folder / "solver.py"
    file.write_text(code)
    return file


def test_the_best_program_scores_one(grader: ProgramGrader, tmp_path: Path) -> None:
    """A program that reaches all references scores 1, on validation and on development instances."""
    file = _program(tmp_path, BEST)
    report = grader.grade(file, file)
    assert (report.valid, report.message) == (True, "")
    assert report.score is not None
    assert report.score.value.value == 1
    assert report.score.rows == 4
    interval = report.score.interval
    assert (interval.low, interval.high) == (1, 1)
    lines = grader.try_out(BEST.encode()).splitlines()
    assert lines[0].startswith("development-0: 1.0000, objective 7000")
    assert lines[-1] == "mean score on 2 development instances: 1.0000"


def test_programs_are_compared_in_pairs(grader: ProgramGrader, tmp_path: Path) -> None:
    """The difference of two programs is that of their means, and the other way round its negative."""
    (tmp_path / "other").mkdir()
    one, other = _program(tmp_path, BEST), _program(tmp_path / "other", LARGEST)
    found, back = grader.compare(one, other), grader.compare(other, one)
    assert found.difference == pytest.approx(-back.difference)
    assert found.standard_error == pytest.approx(back.standard_error)
    assert found.interval.low == pytest.approx(-back.interval.high)
    scores = [grader.grade(file, file).score for file in (one, other)]
    assert scores[0] is not None
    assert scores[1] is not None
    assert found.difference == pytest.approx(scores[0].value.value - scores[1].value.value)
    assert 0 < found.standard_error < 0.001
    assert grader.compare(one, one).difference == 0


def test_a_program_that_always_fails_is_invalid(grader: ProgramGrader, tmp_path: Path) -> None:
    """A program without any solution is invalid; the reason has nothing of sealed instances."""
    file = _program(tmp_path, _NONE)
    report = grader.grade(file, file)
    reason = "it scores 0: score 0 on 4 of 4 sealed instances: 4 x raised an exception"
    assert (report.valid, report.message, report.score) == (False, reason, None)
    assert "Told: the room is 7000" in grader.try_out(file.read_bytes())


def test_a_program_that_fails_at_times_is_valid(
    grader: ProgramGrader, split: SplitFolder, tmp_path: Path
) -> None:
    """Instances without a solution score 0; the others count, and the message says how many."""
    file = _program(tmp_path, _HALF)
    report = grader.grade(file, file)
    given = json.loads((split.sealed / "validation.json").read_text())
    odd = sum(each["instance"]["room"] % 2 for each in given)
    assert report.valid
    assert report.message == f"score 0 on {odd} of 4 sealed instances: {odd} x raised an exception"
    assert report.score is not None
    assert report.score.value.value == pytest.approx(1 - odd / 4)
    assert report.score.interval.low < report.score.value.value < report.score.interval.high


def test_infeasible_solutions_are_explained_in_development_alone(
    grader: ProgramGrader, tmp_path: Path
) -> None:
    """What the scorer says of a solution is shown of development instances, and of no sealed one."""
    file = _program(tmp_path, "def solve(room, numbers):\n    return [room]\n")
    assert grader.grade(file, file).message.endswith("4 x infeasible")
    assert "infeasible: a number is not there" in grader.try_out(file.read_bytes())


def test_folds_have_instances_of_their_own(
    grader: ProgramGrader, split: SplitFolder, tmp_path: Path
) -> None:
    """Each further fold scores the same program on other sealed instances."""
    file = _program(tmp_path, BEST)
    for number in (1, 2):
        report = grader.fold(number).grade(file, file)
        assert report.score is not None
        assert (report.score.value.value, report.score.rows) == (1, 4)
    names = ("validation", "fold-1", "fold-2")
    ids = [
        each["id"] for name in names for each in json.loads((split.sealed / f"{name}.json").read_text())
    ]
    assert len(ids) == len(set(ids)) == 12


def test_scores_are_kept(
    grader: ProgramGrader, split: SplitFolder, sandbox: Sandbox, tmp_path: Path
) -> None:
    """A program is run once: a later grader has its kept scores, which are not public."""
    file = _program(tmp_path, BEST)
    kept = tmp_path / "kept"
    first = ProgramGrader(split, sandbox, kept).grade(file, file)
    before = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert ProgramGrader(split, sandbox, kept).grade(file, file) == first
    assert {path: path.stat().st_mtime_ns for path in kept.iterdir()} == before
    assert not any("kept" in path.name or "scores" in path.name for path in split.public.rglob("*"))


def test_public_files_have_nothing_of_sealed_instances(split: SplitFolder) -> None:
    """Agents get development instances with their references; no other instance, and no generator."""
    text = "".join(path.read_text() for path in split.public.rglob("*") if path.is_file())
    assert "development-1" in text
    for word in ("sealed-", "test-0", "7007", "def generate"):
        assert word not in text
    assert "sealed-" not in split.facts.read_text()
    assert split.sealed.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = 1", "defines no function solve"),
        ("def solve(:", "defines no function solve"),
        ("class solve: pass", "defines no function solve"),
        ("def solve(): pass\n\0", "defines no function solve"),
        (b"\xff\xfe", "cannot be read"),
        ("(" * 5_000, "defines no function solve"),
    ],
)
def test_programs_are_checked_before_they_run(code: str | bytes, reason: str, tmp_path: Path) -> None:
    """What is no Python, or defines no function `solve`, is invalid and never run."""
    file = tmp_path / "solver.py"
    file.write_bytes(code if isinstance(code, bytes) else code.encode())
    report = check_program(file)
    assert not report.valid
    assert reason in report.message


def test_a_broken_scorer_is_no_fault_of_a_program(sandbox: Sandbox, tmp_path: Path) -> None:
    """A scorer that cannot be run is an error of the grader; one that fails on a solution scores 0."""
    for number, (scorer, said) in enumerate(
        [("import nothing_of_this_name", ""), (SCORER.replace("sum(solution) >", "sum() >"), "was not")]
    ):
        problem = write_problem(tmp_path / f"given-{number}")
        split = split_of(problem, tmp_path / "splits", sandbox)
        (split.problem / "scorer.py").write_text(scorer)
        grader = ProgramGrader(split, sandbox, tmp_path / f"kept-{number}")
        file = _program(tmp_path, BEST)
        if said:
            assert said in grader.grade(file, file).message
        else:
            with pytest.raises(GraderError, match="the scorer failed"):
                grader.grade(file, file)


def test_test_scores_are_of_the_test_instances(problem: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    """A program of a past competition is scored on the test instances."""
    grade = ProgramAnswers(load_competition(problem), 1, sandbox).grade(_program(tmp_path, LARGEST))
    assert grade.valid
    assert grade.score == pytest.approx(fmean([4000 / 7000, 4001 / 7001]))


def test_data_classes_and_pools_work(grader: ProgramGrader) -> None:
    """A program may define data classes with annotations as text, and use processes and threads."""
    code = """
from __future__ import annotations
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import Pool
import numpy as np

@dataclass
class Choice:
    numbers: list[int] = field(default_factory=list)

def double(number: int) -> int:
    return 2 * number

def solve(room, numbers):
    with Pool(2) as pool:
        assert pool.map(double, numbers) == [2 * each for each in numbers]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(int, np.array(Choice(numbers).numbers)))
"""
    assert "mean score on 2 development instances: 1.0000" in grader.try_out(code.encode())


def test_agents_can_score_programs_as_the_grader_does(
    grader: ProgramGrader, split: SplitFolder, tmp_path: Path
) -> None:
    """The public runner scores functions and files on development instances as the grader does."""
    file = tmp_path / "solver.py"
    file.write_text(LARGEST)
    code = f"""
import sys
sys.path.insert(0, {str(split.public)!r})
from runner.evaluate import evaluate
{LARGEST}
first = evaluate({str(file)!r})
assert evaluate(solve) == first
evaluate(lambda room, numbers: [room], most=1)
"""
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True)
    lines, expected = done.stdout.splitlines(), grader.try_out(LARGEST.encode()).splitlines()
    assert lines[:3] == lines[3:6]
    assert [each[:30] for each in lines[:2]] == [each[:30] for each in expected[:2]]
    assert lines[2].rpartition(" ")[2] == expected[2].rpartition(" ")[2]
    assert lines[6].startswith("development-0: 0.0000: infeasible a number is not there")


def _scored(cases: dict[str, list[float]]) -> tuple[list[Instance], list[InstanceScore]]:
    instances = [
        Instance(f"{case}-{number}", case, "", {})
        for case in cases
        for number in range(len(cases[case]))
    ]
    scores = [InstanceScore(each, each, "", "", 0.0) for found in cases.values() for each in found]
    return instances, scores


def test_all_cases_have_the_same_weight() -> None:
    """The mean is that of the means of cases; with equal cases, the mean of all with its usual error."""
    found = mean_score(*_scored({"a": [1.0], "b": [0.2, 0.4, 0.6]}))
    assert found.value.value == pytest.approx((1 + 0.4) / 2)
    values = [0.1, 0.5, 0.9, 0.3]
    equal = mean_score(*_scored({"a": values[:2], "b": values[2:]}))
    half = 1.959964 * stdev(values) / math.sqrt(4)
    assert equal.value.value == pytest.approx(fmean(values))
    assert equal.interval.high - equal.interval.low == pytest.approx(2 * half, rel=1e-5)
    single = mean_score(*_scored({"a": [0.5]}))
    assert (single.interval.low, single.interval.high) == (0.5, 0.5)


def test_differences_have_the_same_weights() -> None:
    """The difference of two programs is that of their means, whatever the sizes of cases."""
    instances, one = _scored({"a": [1.0], "b": [0.2, 0.4, 0.6]})
    _, other = _scored({"a": [0.5], "b": [0.3, 0.3, 0.3]})
    expected = mean_score(instances, one).value.value - mean_score(instances, other).value.value
    assert mean_difference(instances, one, other).difference == pytest.approx(expected)
