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
from comind.programs.public_code import needed_files, public_config
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
        _copy_own(problem, target, public=public)
        return
    code = public_config(_config(problem)) if public else ""
    shown = needed_files(problem, [code]) if public else set()
    for file in sorted(problem.glob("*.py")):
        if file.name == CONFIG and public:
            write_atomically(target / CONFIG, code)
        elif not public or file.name in shown:
            write_atomically(target / file.name, file.read_text(encoding="utf-8"))


def _copy_own(problem: Path, target: Path, *, public: bool) -> None:
    needed = {each.name for each in problem.iterdir()} - _NOT_OF_SCORER
    if public:
        code = (problem / SCORER).read_text(encoding="utf-8", errors="replace")
        needed &= {SCORER, *needed_files(problem, [code])}
    for each in (problem / name for name in sorted(needed)):
        try:
            _copy_plain(each, target / each.name)
        except ValueError as error:
            raise CompetitionError(str(error), hint="put the file itself there") from None


def _copy_plain(source: Path, target: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        copy_plain_tree(source, target, skip=lambda name: name.name == "__pycache__")
    elif source.is_symlink() or not source.is_file():
        raise ValueError(f"{source} is no plain file")
    else:
        write_atomically(target, source.read_bytes())


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
