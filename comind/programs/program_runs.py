"""Run programs on instances and score their solutions, each in a fresh sandbox of its own.

The program's sandbox has instances without references, the scorer's has solutions without the program.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from comind.domain.competition import ProgramLimits
from comind.errors import CompetitionError, SubmissionError
from comind.session.program import run_program, thread_settings
from comind.session.session_ports import CellResult, CellStatus, Input, Sandbox
from comind.system.files import copy_plain_tree, read_untrusted
from comind.system.hardware import usable_cores
from comind.system.temporary_folders import scratch_folder

ENTRY = "solve"
"""The function that a program defines, with the fields of an instance as arguments by name."""
RUNNER = "runner"
"""Name of the folder with what runs inside, in sandboxes and in the public folder of a split."""

_MOST_WORKERS = 2
_START_SECONDS, _READ_SECONDS, _SCORE_SECONDS = 60.0, 300.0, 600.0
_RESULT_BYTES = 512 << 20
_RUNNER_MEMORY = 1 << 30
_DETAIL = 200


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a problem; values as JSON, in the form of `inside/values.py`."""

    id: str
    case: str
    part: str
    instance: dict[str, Any]
    """The arguments of `solve`."""
    reference: Any = None
    withheld: dict[str, Any] | None = None
    """Fields that only the scorer gets."""


class InstanceScore(NamedTuple):
    """The score of a program on one instance."""

    score: float
    """Normalised; 0 where there is no feasible solution."""
    objective: float | None
    failure: str
    """Why the score is 0, in words of ours; empty if there is a feasible solution."""
    detail: str
    """More on that, in words of the program or the scorer; never shown of sealed instances."""
    seconds: float
    """Of processor time."""


def read_instances(sandbox: Sandbox, problem: Path) -> tuple[Instance, ...]:
    """Return the instances of a problem's folder; its code runs in the sandbox.

    Raises:
        CompetitionError: it fails, or there are none.
        SandboxError: the sandbox cannot be started.
    """
    with _place() as root:
        inputs = (Input(_readable(problem.absolute(), root), "problem"),)
        result = _run(sandbox, "read_instances", "", root, inputs, _READ_SECONDS, 8 * _RUNNER_MEMORY)
        if result.status is not CellStatus.OK:
            last = result.error.strip().rpartition("\n")[2][:_DETAIL]
            raise CompetitionError(f"{problem}: its instances cannot be read: {last}")
        found = [Instance(**each) for each in _written(root, "instances.json")]
    if not found:
        raise CompetitionError(f"{problem}: has no instance")
    repeated = {each.id for each in found if sum(other.id == each.id for other in found) > 1}
    if repeated:
        raise CompetitionError(f"{problem}: two instances have the id {min(repeated)!r}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ProgramRuns:
    """Runs programs on instances of one problem."""

    sandbox: Sandbox
    limits: ProgramLimits
    problem: Path
    """The folder with its scorer."""

    def __call__(self, program: bytes, instances: Sequence[Instance]) -> list[InstanceScore]:
        """Return the score of a program on each instance.

        Raises:
            CompetitionError: the scorer cannot be run.
            SandboxError: the sandbox cannot be started.
        """
        solutions = self._solutions(program, instances)
        with _place() as root:
            _write(root / "cases" / "instances.json", [asdict(each) for each in instances])
            _write(root / "cases" / "solutions.json", solutions)
            inputs = (Input(self.problem.absolute(), "problem"), Input(root / "cases", "cases"))
            script, memory = "score_solutions", 8 * _RUNNER_MEMORY
            result = _run(self.sandbox, script, "", root, inputs, _SCORE_SECONDS, memory)
            if result.status is not CellStatus.OK:
                last = result.error.strip().rpartition("\n")[2][:_DETAIL]
                raise CompetitionError(f"the scorer failed: {last}")
            return [InstanceScore(*each) for each in _written(root, "scores.json")]

    def _solutions(self, program: bytes, instances: Sequence[Instance]) -> list[Any]:
        workers = min(_MOST_WORKERS, usable_cores(), len(instances))
        seconds = _START_SECONDS + -(-len(instances) // workers) * (2 * self.limits.seconds + 12)
        memory = _RUNNER_MEMORY + workers * (self.limits.memory_mb << 20)
        with _place() as root:
            (root / "program").mkdir()
            (root / "program" / "solver.py").write_bytes(program)
            _write(root / "cases" / "instances.json", [each.instance for each in instances])
            inputs = (Input(root / "program", "program"), Input(root / "cases", "cases"))
            arguments = f"{self.limits.seconds}, {self.limits.memory_mb}, {workers}"
            result = _run(self.sandbox, "run_program", arguments, root, inputs, seconds, memory)
            try:
                found = _written(root, "solutions.json")
            except CompetitionError:
                found = []
        if len(found) == len(instances):
            return found
        why = "did not end in time" if result.status is CellStatus.TIMEOUT else "ended the sandbox"
        return [[None, why, "", 0.0]] * len(instances)


@contextmanager
def _place() -> Iterator[Path]:
    with scratch_folder("i") as root:
        write_runner(root / RUNNER)
        yield root


def _readable(folder: Path, root: Path) -> Path:
    """Return a folder that the sandbox's user can read: this one, or a copy below `root`."""
    paths = [folder, *folder.rglob("*")]
    if all(path.stat().st_mode & (0o005 if path.is_dir() else 0o004) for path in paths):
        return folder
    copy_plain_tree(folder, root / "problem")
    for path in [root / "problem", *(root / "problem").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return root / "problem"


def write_runner(target: Path) -> None:
    """Copy what runs inside to a new folder."""
    with resources.as_file(resources.files("comind.programs.inside")) as source:
        copy_plain_tree(source, target)
    shutil.rmtree(target / "__pycache__", ignore_errors=True)


def _run(
    sandbox: Sandbox,
    script: str,
    arguments: str,
    root: Path,
    inputs: tuple[Input, ...],
    seconds: float,
    memory_bytes: int,
) -> CellResult:
    code = f"import sys; sys.path.insert(0, ''); from {RUNNER}.{script} import main; main({arguments})"
    return run_program(
        sandbox,
        ("-c", code),
        root / "workspace",
        inputs=(Input(root / RUNNER, RUNNER), *inputs),
        env={**thread_settings(1), "PYTHONHASHSEED": "0"},
        seconds=seconds,
        memory_bytes=memory_bytes,
    )


def _write(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value), encoding="utf-8")
    file.chmod(0o644)


def _written(root: Path, name: str) -> list[Any]:
    """Return a list that a sandbox wrote.

    Raises:
        CompetitionError: it wrote none.
    """
    try:
        found = json.loads(read_untrusted(root / "workspace", name, limit=_RESULT_BYTES))
    except (SubmissionError, OSError, ValueError) as error:
        raise CompetitionError(f"{name} cannot be read: {error}") from None
    if not isinstance(found, list):
        raise CompetitionError(f"{name} is no list")
    return found
