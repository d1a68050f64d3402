"""The files of a problem: for agents the description and the first program, for graders the scorer.

A folder of ours has

    competition.yaml     title and limits: `program: {seconds: 10, memory_mb: 2048}`; optional
    description.md       for agents
    solver.py            the program to improve, which defines `solve`; optional
    scorer.py            `score(instance, solution)`, and `MAXIMIZE` or `normalised(raw, reference)`
    generator.py         `generate()`, a list of instances; or instances.json, the list itself

and CO-Bench's have `config.py` with all of this, beside files of instances. It is read in place.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comind.errors import CompetitionError
from comind.system.files import copy_plain_tree, write_atomically
from comind.system.syntax import parse_or_none
from comind.system.temporary_folders import scratch_folder

CONFIG, SCORER, FIRST = "config.py", "scorer.py", "solver.py"

_NOT_OF_SCORER = {
    "competition.yaml",
    "description.md",
    FIRST,
    "generator.py",
    "instances.json",
    "__pycache__",
}
_SECRET = ("norm_score", "get_dev", "load_data")
"""Functions of CO-Bench that know references, or instances that are not for development."""


def description_of(problem: Path) -> str:
    """Return the description for agents; empty if there is none."""
    if (problem / SCORER).is_file():
        page = problem / "description.md"
        return page.read_text(encoding="utf-8", errors="replace") if page.is_file() else ""
    for each in _config(problem).body:
        match each:
            case ast.Assign(targets=[ast.Name("DESCRIPTION")], value=ast.Constant(text)):
                return str(text)
    return ""


def first_program(problem: Path) -> str:
    """Return the program to improve; of CO-Bench its template, which solves nothing."""
    if (problem / SCORER).is_file():
        file = problem / FIRST
        return file.read_text(encoding="utf-8") if file.is_file() else ""
    return "\n\n".join(
        ast.unparse(each)
        for each in _config(problem).body
        if isinstance(each, ast.FunctionDef) and each.name == "solve"
    )


def copy_scorer(problem: Path, target: Path, *, public: bool) -> None:
    """Copy the files that scoring needs; to a `public` folder without what is known of instances.

    Raises:
        CompetitionError: there are links or special files.
    """
    if (problem / SCORER).is_file():
        try:
            copy_plain_tree(problem, target, skip=lambda name: name.name in _NOT_OF_SCORER)
        except ValueError as error:
            raise CompetitionError(str(error), hint="put the file itself there") from None
        return
    for file in sorted(problem.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if public and file.name == CONFIG:
            text = _without_secrets(problem)
        write_atomically(target / file.name, text)


@contextmanager
def copied_scorer(problem: Path) -> Iterator[Path]:
    """Yield a folder with a copy of the files that scoring needs."""
    with scratch_folder("c") as place:
        copy_scorer(problem, place / "problem", public=False)
        yield place / "problem"


def _config(problem: Path) -> ast.Module:
    tree = parse_or_none((problem / CONFIG).read_text(encoding="utf-8", errors="replace"))
    if tree is None:
        raise CompetitionError(f"{problem / CONFIG}: is not Python")
    return tree


def _without_secrets(problem: Path) -> str:
    tree = _config(problem)
    kept = [each for each in tree.body if getattr(each, "name", "") not in _SECRET]
    return ast.unparse(ast.Module(body=kept, type_ignores=[])) + "\n"
