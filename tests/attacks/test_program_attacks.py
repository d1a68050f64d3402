"""Programs that are handed in for scoring, and try to get more than the score that they deserve."""

import json
from pathlib import Path

import pytest

import comind
from comind.programs.inside import limits
from comind.programs.program_runs import ProgramRuns
from comind.session.choice import SANDBOXES
from comind.system.interpreter import Interpreter, own_interpreter
from tests.attacks.program_arena import FORGE, HONEST, Arena

_SEARCH = """
import os
canary = str(918_273_644 + 1).encode()
names = ("scorer.py", "generator.py", "validation.json", "development.json", "split.json", "references")

def files():
    for folder, below, found in os.walk("/"):
        if folder == "/":
            below[:] = set(below) - {"proc", "sys", "dev"}
        yield from (os.path.join(folder, each) for each in found)

def solve(numbers):
    found = []
    for path in files():
        if path.startswith(("/usr/", sys_prefix, base_prefix)):
            continue
        found += [path] if os.path.basename(path) in names else []
        try:
            with open(path, "rb") as file:
                found += [path] if canary in file.read() else []
        except OSError:
            pass
    return found
"""


def test_no_file_has_references_or_scorer(arena: Arena) -> None:
    """A search through all files finds no reference, scorer, generator or other part of the split."""
    prefixes = "import sys\nsys_prefix, base_prefix = sys.prefix, sys.base_prefix\n"
    slow = arena.runs.limits.model_copy(update={"seconds": 30.0})
    runs = ProgramRuns(arena.runs.sandbox, slow, arena.runs.problem)
    found = runs((prefixes + _SEARCH).encode(), arena.sealed[:1])
    assert [each.detail for each in found] == ["found []"]


def test_folders_of_the_host_are_not_there(arena: Arena) -> None:
    """The split, the problem, kept scores and our sources cannot be seen by their paths."""
    places = [arena.split.root, arena.split.sealed, arena.split.public, arena.problem, arena.kept]
    places += [
        Path(comind.__file__).parent,
        Path(__file__).parent,
        Path("/root/.ssh"),
        Path("/root/.bashrc"),
    ]
    code = f"""
import os
def solve(numbers):
    return [each for each in {[str(each) for each in places]!r} if os.path.exists(each)]
"""
    assert arena.found(code) == ["[]", "[]"]


def test_our_package_cannot_be_imported(arena: Arena) -> None:
    """Our package, which makes the instances of problems that ship, is not there."""
    code = """
import importlib.util, sys
def solve(numbers):
    try:
        import comind.demos
        return ["comind"]
    except ImportError as error:
        return [str(error)]
"""
    assert all("No module named 'comind" in each for each in arena.found(code))


def test_our_package_is_hidden_beside_the_interpreter(
    arena: Arena,
    place: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Where our package is installed beside the interpreter of programs, its folder is empty there."""
    own, package = own_interpreter(), Path(comind.__file__).resolve().parent
    beside = Interpreter(own.python, (*own.prefixes, package.parent))
    assert beside.hidden() == [package]
    assert Interpreter(own.python, (tmp_path,)).hidden() == []
    if place == "docker":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("engine"))
    runs = ProgramRuns(SANDBOXES[place](interpreter=beside), arena.runs.limits, arena.runs.problem)
    code = f"""
import os
def solve(numbers):
    parts = os.listdir({str(package.parent)!r}), os.listdir({str(package)!r})
    try:
        open({str(package / "more.py")!r}, "w")
        return ["written"]
    except OSError:
        return ["comind" in parts[0], parts[1]]
"""
    found = runs(code.encode(), arena.sealed)
    assert {each.detail for each in found} == {"found [True, []]"}


def test_memory_of_the_driver_is_closed(arena: Arena) -> None:
    """A program can read and write no memory, descriptor or environment of the process that runs it."""
    code = """
import os
def solve(numbers):
    found = []
    for process in [os.getppid()]:
        for name, flags in (("mem", os.O_RDWR), ("mem", os.O_RDONLY), ("maps", os.O_RDONLY)):
            try:
                os.read(os.open(f"/proc/{process}/{name}", flags), 1)
                found.append(name)
            except OSError:
                pass
        for folder in ("fd", "cwd", "root", "map_files"):
            try:
                os.listdir(f"/proc/{process}/{folder}")
                found.append(folder)
            except OSError:
                pass
        try:
            text = open(f"/proc/{process}/environ", "rb").read()
            found += [] if b"arena" not in text else [text]
        except OSError:
            pass
    return found
"""
    assert arena.found(code) == ["[]", "[]"]


def test_its_surroundings_cannot_be_changed(arena: Arena) -> None:
    """Runner, program and instance are read-only; what a program adds is not there the next time."""
    code = """
import os
def solve(numbers):
    done = ["left"] if os.path.exists("/tmp/left") or os.path.exists("left") else []
    for name in ("runner/limits.py", "runner/new.py", "program/solver.py", "cases/instance.json"):
        try:
            open(name, "w").write("raise SystemExit")
            done.append(name)
        except OSError:
            pass
        try:
            os.rename(name.partition("/")[0], "elsewhere")
            done.append(name)
        except OSError:
            pass
    open("/tmp/left", "w").write("1")
    open("left", "w").write("1")
    open("json.py", "w").write("raise SystemExit")
    return done
"""
    assert arena.found(code) == ["[]", "[]"]


_DAEMON = """
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                forge()
        os._exit(0)
    time.sleep(0.2)
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("forge(); return numbers", ""),
        ("forge(); os._exit(0)", limits.ENDED),
        ("forge(); os.kill(os.getppid(), 9); time.sleep(1)", limits.INTERFERED),
        ("forge(); os.kill(-1, 9)", limits.INTERFERED),
        ("forge(); os.kill(os.getppid(), 15); time.sleep(1)", limits.INTERFERED),
        (_DAEMON, limits.ENDED),
        ("os.mkdir('solution'); return numbers", limits.INTERFERED),
        ("os.mkfifo('solution'); return numbers", ""),
        ("os.symlink('program/solver.py', 'solution'); return numbers", ""),
        ("os.link(__file__, 'x'); return numbers", limits.RAISED),
        ("os.chmod('.', 0); return numbers", None),
    ],
)
def test_results_cannot_be_forged(arena: Arena, code: str, failure: str | None) -> None:
    """What a program writes where its result is expected is no result, also if it ends what runs it."""
    scores = arena.scores(f"{FORGE}\ndef solve(numbers):\n    {code}\n")
    expected = (limits.INTERFERED, "") if failure is None else (failure,)
    for each in scores:
        assert each.failure in expected, scores
        assert each.score == (0.0 if each.failure else 0.5)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError(f'the numbers are {numbers}')", "2 x raised an exception"),
        ("raise type(f'Numbers{numbers[0]}', (Exception,), {})", "2 x raised an exception"),
        ("return {'numbers are': numbers}", "2 x infeasible"),
        ("return 'the objective is 770001'", "2 x infeasible"),
        ('answer(f\'["numbers {numbers}", "", 0.0]\')', "2 x ended without a solution"),
        ('answer(f\'["", "numbers {numbers}", 0.0]\\n[\')', "2 x infeasible"),
        ("print(numbers); sys.exit(f'numbers {numbers}')", "2 x raised an exception"),
    ],
)
def test_nothing_of_sealed_instances_is_told(
    arena: Arena, body: str, reason: str, tmp_path: Path
) -> None:
    """What an agent is told of failures on sealed instances has no word of the program."""
    code = f"""
import os, sys
def answer(text):
    for descriptor in range(3, 99):
        try: os.write(descriptor, text.encode())
        except OSError: pass
    os._exit(0)
def solve(numbers):
    {body}
"""
    found = arena.report(tmp_path, code)
    assert found == f"it scores 0: score 0 on 2 of 2 sealed instances: {reason}"


def test_kept_scores_are_those_of_the_run(arena: Arena, tmp_path: Path) -> None:
    """Kept scores are written by the grader alone, and a changed program has none."""
    file = tmp_path / "solver.py"
    file.write_text(HONEST)
    assert arena.grader.grade(file, file).valid
    kept = {path.name: json.loads(path.read_text()) for path in arena.kept.iterdir()}
    code = f"""
import glob
def solve(numbers):
    return glob.glob({str(arena.kept)!r} + "/*") + glob.glob("/*/*-validation.json")
"""
    assert arena.found(code) == ["[]", "[]"]
    assert all(json.loads((arena.kept / name).read_text()) == found for name, found in kept.items())


def test_modules_in_its_folder_are_not_the_scorers(arena: Arena) -> None:
    """Modules that a program writes are not imported where its solutions are scored."""
    code = """
import os
def solve(numbers):
    for name in ("numpy", "math", "inspect", "json", "scorer", "runner"):
        os.makedirs(name, exist_ok=True)
        for file in (f"{name}.py", f"{name}/__init__.py"):
            try: open(file, "w").write("raise SystemExit(0)")
            except OSError: pass
    return numbers
"""
    assert [each.score for each in arena.scores(code)] == [0.5, 0.5]
