"""Run programs as plain processes of the same user, without isolation.

For our own baseline, and for users who choose it explicitly: the code can read every file that we can,
sealed labels and keys among them, and use the network.
"""

import platform
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from comind.errors import SandboxError
from comind.session.session_ports import SandboxSpec
from comind.session.system_calls import ARCHITECTURES
from comind.system.cgroups import create_cgroup
from comind.system.files import copy_plain_tree
from comind.system.interpreter import Interpreter, interpreter_for_agents
from comind.system.supervised import Inherited, SupervisedProcess, start_supervised


class ProcessSandbox:
    """Runs programs as plain processes; results are marked as not sealed."""

    name = "process"
    sealed = False
    isolation = "isolates nothing; limits the size of a file"
    gaps: tuple[str, ...] = ("files", "network", "keys", "system calls", "limits by user")

    def __init__(self, interpreter: Interpreter | None = None) -> None:
        """Prepare to run programs in `interpreter`; None for the toolbox, or else our own."""
        interpreter = interpreter or interpreter_for_agents()
        self.python, self.toolbox = interpreter.python, interpreter.toolbox

    def paths_inside(self, workspace: Path, runtime: Path) -> tuple[Path, Path]:
        """Return the folders themselves."""
        return workspace.absolute(), runtime.absolute()

    def start(self, spec: SandboxSpec) -> SupervisedProcess:
        """Start a program; its inputs are copied or linked, as nothing can be mounted."""
        for given in spec.inputs:
            target = spec.workspace / given.name
            if given.linked:
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.unlink(missing_ok=True)  # a link to the store's former folder
                    target.symlink_to(given.source.absolute())
            elif not target.exists():
                copy_plain_tree(given.source, target)
        limits = ["prlimit", f"--fsize={spec.file_bytes}", "--core=0"] if shutil.which("prlimit") else []
        return start_with_limits(spec, [*limits, *spec.argv], env=spec.env, cwd=spec.workspace)


def start_with_limits(
    spec: SandboxSpec,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    passed: Sequence[int] = (),
    held: Sequence[int] = (),
) -> SupervisedProcess:
    """Start `argv` supervised, with log, scratch folder and limits of `spec` and its own keyring.

    `passed` and `held` are descriptors, as in `Inherited`.

    Raises:
        SandboxError: it could not be started.
    """
    machine = ARCHITECTURES.get(platform.machine())
    try:
        return start_supervised(
            argv,
            env=env,
            cwd=cwd,
            log=spec.log,
            log_bytes=spec.log_bytes,
            scratch=spec.scratch,
            group=create_cgroup(memory_bytes=spec.memory_bytes, processes=spec.processes),
            grace=0.0,
            inherited=Inherited(passed, held, machine.keyctl if machine else 0),
        )
    except OSError as error:
        raise SandboxError(f"{argv[0]} could not be started: {error}") from None
