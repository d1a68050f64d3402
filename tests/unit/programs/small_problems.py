"""Small problems, and what it takes to run programs on them."""

from pathlib import Path

from comind.competitions.competition_folder import load_competition
from comind.programs.program_split import make_program_split
from comind.session.session_ports import Sandbox
from comind.splits.split_folder import SplitFolder

SCORER = '''
"""The sum of the chosen numbers, which may be no more than the room."""

MAXIMIZE = True


def score(instance, solution):
    if not isinstance(solution, list) or not all(type(each) is int for each in solution):
        raise ValueError("the solution is no list of integers")
    if sorted(set(solution)) != sorted(solution) or not set(solution) <= set(instance["numbers"]):
        raise ValueError("a number is not there, or chosen twice")
    if sum(solution) > instance["room"]:
        raise ValueError(f"the sum is {sum(solution)}, more than {instance['room']}")
    return sum(solution)
'''
GENERATOR = '''
"""Instances of two cases in which all numbers have room; the sum is the reference."""


def generate():
    parts = {"development": 2, "sealed": 4, "test": 2}
    return [
        {
            "id": f"{part}-{number}",
            "case": "ab"[number % 2],
            "part": part,
            "instance": {"room": 7000 + number, "numbers": [1000, 2000, 4000 + number]},
            "reference": 7000 + number,
        }
        for part, count in parts.items()
        for number in range(count)
    ]
'''
BEST = "def solve(room, numbers):\n    return numbers\n"
LARGEST = "def solve(room, numbers):\n    return [max(numbers)]\n"
CONFIG = "title: Numbers\nprogram:\n  seconds: {seconds}\n  memory_mb: 512\n"


def write_problem(folder: Path, *, seconds: float = 2, **files: str) -> Path:
    """Write the problem of numbers; further files by their names, with `_` for the dot."""
    texts = {
        "competition.yaml": CONFIG.format(seconds=seconds),
        "description.md": "Choose numbers.\n",
        "scorer.py": SCORER,
        "generator.py": GENERATOR,
        "solver.py": LARGEST,
    }
    for name, text in (texts | {each.replace("_", "."): text for each, text in files.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def split_of(problem: Path, splits: Path, sandbox: Sandbox) -> SplitFolder:
    """Return the split of a problem's instances."""
    return make_program_split(load_competition(problem), splits, seed=1, sandbox=sandbox)
