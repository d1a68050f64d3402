"""Run programs in Linux namespaces through bubblewrap.

It isolates files (read-only system programs, interpreter and inputs, and the working directory),
processes, network (none), IPC, host name, environment, keys and, if we are root, the user id, and
filters system calls. Memory and processes are limited for the attempt as a whole through control
groups, or else per process.
"""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from comind.errors import SandboxError
from comind.session.mounts import MountingSandbox, SandboxUser
from comind.session.process import start_with_limits
from comind.session.session_ports import SandboxSpec
from comind.session.system_calls import own_filter
from comind.system.interpreter import Interpreter, interpreter_for_agents
from comind.system.supervised import SupervisedProcess

_PROBE_SECONDS = 20
_PROCESSES_OF_ALL = 16_384


class BubblewrapSandbox(MountingSandbox):
    """Run programs in new namespaces, which end with the program and with this process."""

    name = "bubblewrap"
    sealed = True
    isolation = (
        "isolates files, network, processes, users, keys; filters system calls; "
        "limits memory and processes of the attempt as a whole where control groups can be made "
        "(else of each process), temporary files, and the size of a file"
    )

    def __init__(self, interpreter: Interpreter | None = None, call_filter: bytes | None = None) -> None:
        """Find bubblewrap and run it once; code runs in `interpreter`, else in the toolbox or our own.

        `call_filter` is a seccomp program, None for this machine's. Without one, and where the kernel
        refuses it, calls are not filtered, which `gaps` names.

        Raises:
            SandboxError: bubblewrap is not installed or does not work on this machine.
        """
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxError(
                "bubblewrap is not installed", hint="apt-get install bubblewrap (as root)"
            )
        self._interpreter = interpreter or interpreter_for_agents()
        self.python, self.toolbox = self._interpreter.python, self._interpreter.toolbox
        self._program = program
        self._root = os.getuid() == 0
        self._filter = own_filter() if call_filter is None else call_filter
        refused = self._probe() if self._filter else f"no table for {platform.machine()}"
        self.gaps = self.shared_limits
        if refused:
            self._filter = b""
            self.gaps = (f"system calls and the keys of its user ({refused})", *self.gaps)
            if reason := self._probe():
                raise SandboxError(
                    f"bubblewrap does not work here: {reason}",
                    hint="allow unprivileged user namespaces, or run as root",
                )

    def start(self, spec: SandboxSpec) -> SupervisedProcess:
        """Start a program."""
        with self.mounted(spec) as user, self._filtered() as (filtered, passed):
            argv = [*self._arguments(spec), *filtered, *self._user(user), *_limits(spec), *spec.argv]
            # Empty, as bubblewrap's own environment can be read inside, at /proc/1/environ.
            return start_with_limits(spec, argv, env={}, passed=passed, held=user.held)

    def _arguments(self, spec: SandboxSpec) -> list[str]:
        argv = [*self._namespaces(), *_environment(spec.env), *self._system()]
        for folder, seen in ((spec.workspace, self.workspace), (spec.runtime, self.runtime)):
            argv += [*_parents(seen), "--bind", str(folder.absolute()), str(seen)]
        if spec.gpus:  # all devices: only CUDA_VISIBLE_DEVICES selects among them
            devices = sorted(Path("/dev").glob("nvidia*"))
            argv += [part for path in devices for part in ("--dev-bind-try", str(path), str(path))]
        for given in spec.inputs:
            target = self.workspace / given.name
            argv += ["--ro-bind", str(given.source.absolute()), str(target)]
        return [*argv, "--chdir", str(self.workspace)]

    def _probe(self) -> str:
        """Run a program; return why it did not run, empty if it did."""
        with self.user() as user, self._filtered() as (filtered, passed):
            argv = [*self._namespaces(), *self._system(), *filtered, *self._user(user), "/bin/true"]
            probe = subprocess.run(
                argv,
                env={},
                capture_output=True,
                text=True,
                timeout=_PROBE_SECONDS,
                check=False,
                pass_fds=passed,
            )
        if probe.returncode == 0:
            return ""
        return (probe.stderr.strip().splitlines() or ["no reason given"])[-1]

    @contextmanager
    def _filtered(self) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """Yield the option for the filter of system calls, and the descriptor that bubblewrap reads."""
        if not self._filter:
            yield [], ()
            return
        descriptor = os.memfd_create("filter")
        try:
            os.write(descriptor, self._filter)
            os.lseek(descriptor, 0, os.SEEK_SET)
            yield ["--seccomp", str(descriptor)], (descriptor,)
        finally:
            os.close(descriptor)

    def _namespaces(self) -> list[str]:
        common = [self._program, "--die-with-parent", "--new-session", "--clearenv"]
        if not self._root:
            return [*common, "--unshare-all", "--unshare-user", "--disable-userns"]
        kinds = ("ipc", "pid", "net", "uts")
        return [*common, *(f"--unshare-{kind}" for kind in kinds), "--unshare-cgroup-try"]

    def _system(self) -> list[str]:
        """Mount the system's programs and the interpreter read-only, and nothing else of the host."""
        argv = ["--ro-bind", "/usr", "/usr"]
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            path = Path("/") / name
            if path.is_symlink():
                argv += ["--symlink", str(path.readlink()), str(path)]
            elif path.is_dir():
                argv += ["--ro-bind", str(path), str(path)]
        argv += ["--proc", "/proc", "--dev", "/dev"]
        for name in ("/proc/keys", "/proc/key-users"):  # they list keys of the user, also those outside
            argv += ["--ro-bind", "/dev/null", name] if Path(name).exists() else []
        for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - joblib's semaphores are in /dev/shm
            argv += ["--perms", "1777", "--size", str(self.tmp_bytes), "--tmpfs", folder]
        for prefix in self._interpreter.mounts():
            argv += [*_parents(prefix), "--ro-bind", str(prefix), str(prefix)]
        for hidden in map(str, self._interpreter.hidden()):
            argv += ["--perms", "0755", "--tmpfs", hidden, "--remount-ro", hidden]
        return argv

    def _user(self, user: SandboxUser) -> list[str]:
        """Drop all capabilities and, if we are root, the user id."""
        if not self._root:
            return ["--cap-drop", "ALL"]
        kept = [a for name in ("SETUID", "SETGID", "SETPCAP") for a in ("--cap-add", f"CAP_{name}")]
        ids = [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        none = ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
        return ["--cap-drop", "ALL", *kept, "/usr/bin/setpriv", *ids, *none]


def _environment(env: Mapping[str, str]) -> list[str]:
    return [part for name, value in env.items() for part in ("--setenv", name, value)]


def _limits(spec: SandboxSpec) -> list[str]:
    return [
        "/usr/bin/prlimit",
        f"--as={spec.memory_bytes}",
        # Counted by user: a last resort where no control group can be created.
        f"--nproc={_PROCESSES_OF_ALL}",
        f"--fsize={spec.file_bytes}",
        "--core=0",
    ]


def _parents(path: Path) -> list[str]:
    """Make the folders above a mount readable; bubblewrap creates them readable for root only."""
    shown = {Path("/"), Path("/tmp"), Path("/usr")}  # noqa: S108 - mounted above
    above = [parent for parent in reversed(path.parents) if parent not in shown]
    return [part for parent in above for part in ("--perms", "0755", "--dir", str(parent))]
