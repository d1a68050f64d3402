"""Where hostile programs are scored: a problem with canaries as references, its split and grader."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from comind.programs.inside.problem import INFEASIBLE
from comind.programs.program_grader import ProgramGrader
from comind.programs.program_runs import Instance, InstanceScore, ProgramRuns
from comind.programs.program_split import read_part
from comind.session.session_ports import Sandbox
from comind.splits.split_folder import SplitFolder
from comind.system import temporary_folders
from tests.unit.programs.small_problems import split_of, write_problem

__all__ = ["FORGE", "HONEST", "Arena", "arena", "built_arena"]

HONEST = "def solve(numbers):\n    return numbers\n"
"""It has half of the best score."""

FORGE = """
import os, signal, sys, time
line = b'["", "", 0.0]\\n[770001, 2, 3]'
def forge():
    for name in ("solution", "solution-0", "solution-1", "solutions.json", "scores.json"):
        with open(name, "wb") as file:
            file.write(line)
"""
"""A program that begins with this can write good results where they are expected."""

_CANARY = 918_273_645
_SCORER = f"""
MAXIMIZE = True
def score(instance, solution):
    if solution != instance["numbers"]:
        raise ValueError(f"found {{solution!r}}")
    return {_CANARY} / 2
"""
"""It shows its solution as the reason; an honest program gets half of the reference."""
_GENERATOR = f"""
def generate():
    parts = {{"development": 2, "sealed": 2, "test": 1}}
    return [
        {{
            "id": f"{{part}}-{{number}}",
            "part": part,
            "instance": {{"numbers": [770_001 + number, 2, 3]}},
            "reference": {_CANARY},
        }}
        for part, count in parts.items()
        for number in range(count)
    ]
"""


@dataclass(frozen=True, slots=True)
class Arena:
    """A grader, and what it must not give away."""

    split: SplitFolder
    problem: Path
    kept: Path
    grader: ProgramGrader
    runs: ProgramRuns

    @property
    def sealed(self) -> tuple[Instance, ...]:
        """Its sealed instances."""
        return read_part(self.split.sealed / "validation.json")

    def scores(self, code: str) -> list[InstanceScore]:
        """Return the scores of a program on sealed instances, with what is kept from agents."""
        return self.runs(code.encode(), self.sealed)

    def found(self, code: str) -> list[str]:
        """Return what a program returned of each sealed instance, as the scorer saw it."""
        scores = self.scores(code)
        assert {each.failure for each in scores} == {INFEASIBLE}, scores
        return [each.detail.removeprefix("found ") for each in scores]

    def report(self, folder: Path, code: str) -> str:
        """Return what is said of an invalid program."""
        file = folder / "solver.py"
        file.write_text(code)
        report = self.grader.grade(file, file)
        assert not report.valid
        assert report.score is None
        return report.message


@pytest.fixture(scope="module")
def built_arena(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """The arena of a module; after all its attacks an honest program has its score."""
    folder = tmp_path_factory.mktemp("arena")
    problem = write_problem(folder / "given", seconds=1, scorer_py=_SCORER, generator_py=_GENERATOR)
    split = split_of(problem, folder / "splits", sandbox)
    grader, program = ProgramGrader(split, sandbox, folder / "kept"), split.read().program
    assert program is not None
    runs = ProgramRuns(sandbox, program, split.problem)
    built = Arena(split, problem, folder / "kept", grader, runs)
    yield built
    assert [each.score for each in built.scores(HONEST)] == [0.5, 0.5]


@pytest.fixture
def arena(built_arena: Arena) -> Iterator[Arena]:
    """The arena; after an attack no process runs that did not before, and no file is left."""
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    base = temporary_folders._bases[psutil.Process().pid][0]  # other tests may have left some
    files = {*base.iterdir()}
    yield built_arena
    assert {*base.iterdir()} <= files
    assert [each for each in psutil.Process().children(recursive=True) if each.pid not in before] == []
