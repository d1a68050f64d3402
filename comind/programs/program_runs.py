"""Run programs on instances, each in a fresh sandbox, and score their solutions in another one.

A program's sandbox has one instance without its reference, the scorer's has solutions without the
program. What a program wrote is not decoded outside of a sandbox.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from comind.domain.competition import ProgramLimits
from comind.domain.value import one_line
from comind.errors import CompetitionError, SubmissionError
from comind.programs.inside.limits import INTERFERED, MOST_BYTES, WAITED, Ended, unpacked
from comind.programs.inside.run_program import SOLUTION
from comind.session.program import run_program, thread_settings
from comind.session.quota import Quota
from comind.session.session_ports import CellResult, CellStatus, Input, Sandbox
from comind.system.files import copy_plain_tree, read_untrusted
from comind.system.hardware import usable_cores
from comind.system.supervisor import remove_tree
from comind.system.temporary_folders import scratch_folder

RUNNER = "runner"
"""Name of the folder with what runs inside, in sandboxes and in the public folder of a split."""

_MOST_WORKERS = 2
_START_SECONDS, _READ_SECONDS = 60.0, 300.0
_SCORE_SECONDS, _SCORE_EACH = 540.0, 20.0
"""For scoring all solutions at least, and for each on average."""
_RESULT_BYTES = 512 << 20
_RUNNER_MEMORY, _SCORE_MEMORY = 1 << 30, 8 << 30
_QUOTA = Quota(disk_bytes=1 << 30, files=20_000)
_DETAIL = 300


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
        result = _run(sandbox, "read_instances main()", root, root, inputs, _READ_SECONDS, _SCORE_MEMORY)
        if result.status is not CellStatus.OK:
            last = result.error.strip().rpartition("\n")[2][:_DETAIL]
            raise CompetitionError(f"{problem}: its instances cannot be read: {last}")
        found = [Instance(**each) for each in _written(root, "instances.json")]
    if not found:
        raise CompetitionError(f"{problem}: has no instance")
    name, count = Counter(each.id for each in found).most_common(1)[0]
    if count > 1:
        raise CompetitionError(f"{problem}: two instances have the id {name!r}")
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
            CompetitionError: the scorer cannot be run, whatever it is given.
            SandboxError: the sandbox cannot be started.
        """
        with _place() as root:
            cases = root / "cases"
            for number, ended in enumerate(self._solutions(program, instances)):
                _write(cases / f"solution-{number}", ended.packed())
            _write(cases / "instances.json", _json([asdict(each) for each in instances]))
            inputs = (Input(self.problem.absolute(), "problem"), Input(cases, "cases"))
            seconds = max(_SCORE_SECONDS, _SCORE_EACH * len(instances))
            script = f"score_solutions main({seconds})"
            result = _run(
                self.sandbox, script, root, root, inputs, seconds + _START_SECONDS, _SCORE_MEMORY
            )
            if result.status is not CellStatus.OK:
                last = result.error.strip().rpartition("\n")[2][:_DETAIL]
                raise CompetitionError(f"the scorer failed: {last}")
            found = [InstanceScore(*each) for each in _written(root, "scores.json")]
        return [each._replace(detail=one_line(each.detail, _DETAIL)) for each in found]

    def _solutions(self, program: bytes, instances: Sequence[Instance]) -> list[Ended]:
        """Return how the program ends on each instance, each time in a sandbox of its own."""
        workers = min(_MOST_WORKERS, usable_cores(), len(instances))
        with _place() as root, ThreadPoolExecutor(workers) as pool:
            _write(root / "program" / "solver.py", program)
            places = [root / str(number) for number in range(len(instances))]
            try:
                return list(pool.map(partial(self._solution, root), places, instances))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _solution(self, root: Path, place: Path, instance: Instance) -> Ended:
        _write(place / "cases" / "instance.json", _json(instance.instance))
        inputs = (Input(root / "program", "program"), Input(place / "cases", "cases"))
        script = f"run_program main({self.limits.seconds}, {self.limits.memory_mb})"
        seconds = 2 * self.limits.seconds + _START_SECONDS
        memory = _RUNNER_MEMORY + (self.limits.memory_mb << 20)
        try:
            result = _run(self.sandbox, script, root, place, inputs, seconds, memory)
            if result.status is not CellStatus.OK:
                waited = result.status is CellStatus.TIMEOUT
                return Ended(failure=WAITED if waited else INTERFERED)
            return unpacked(read_untrusted(place / "workspace", SOLUTION, limit=MOST_BYTES))
        except (SubmissionError, PermissionError, ValueError):  # the program changed what we wrote
            return Ended(failure=INTERFERED)
        finally:
            remove_tree(str(place))


@contextmanager
def _place() -> Iterator[Path]:
    with scratch_folder("i") as root:
        write_runner(root / RUNNER)
        yield root


def _readable(folder: Path, root: Path) -> Path:
    """Return a folder that the sandbox's user can read: this one, or a copy below `root`.

    Raises:
        CompetitionError: there are links or special files, which cannot be copied.
    """
    wanted = ((path, 0o005 if path.is_dir() else 0o004) for path in (folder, *folder.rglob("*")))
    if all(path.lstat().st_mode & bits == bits for path, bits in wanted):
        return folder
    try:
        copy_plain_tree(folder, root / "problem")
    except ValueError as error:
        raise CompetitionError(str(error), hint="put the file itself there") from None
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
    root: Path,
    place: Path,
    inputs: tuple[Input, ...],
    seconds: float,
    memory_bytes: int,
) -> CellResult:
    """Run a module of the runner in `root`, named with its call, in the workspace of `place`."""
    module, _, call = script.partition(" ")
    code = f"import sys; sys.path.insert(0, ''); from {RUNNER}.{module} import main; {call}"
    return run_program(
        sandbox,
        ("-c", code),
        place / "workspace",
        inputs=(Input(root / RUNNER, RUNNER), *inputs),
        env={**thread_settings(1), "PYTHONHASHSEED": "0"},
        seconds=seconds,
        memory_bytes=memory_bytes,
        quota=_QUOTA,
    )


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
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
