"""Run programs in containers of a local Docker engine; the only module that imports `docker`.

It isolates files (read-only image and inputs, and the working directory), processes, network (none),
IPC, host name, environment, keys, user id and system calls (the engine's filter and ours, as older
engines allow io_uring and AF_VSOCK), and limits memory, processes and temporary files of the attempt
as a whole. The kernel is the host's, and the size of the working directory is polled, not limited by
its file system.

The engine must run on this machine, as kernels use Unix sockets in a mounted folder.
"""

import json
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comind import __version__
from comind.errors import SandboxError
from comind.session.mounts import MountingSandbox, SandboxUser
from comind.session.program import run_program
from comind.session.session_ports import CellStatus, SandboxSpec
from comind.session.system_calls import LAUNCHER, own_filter
from comind.system.interpreter import Interpreter, interpreter_for_agents
from comind.system.process_identity import has_exited, process_identity
from comind.system.supervised import describe_exit
from comind.system.temporary_folders import scratch_folder

if TYPE_CHECKING:
    from docker import DockerClient

IMAGES = (f"comind-sandbox:{__version__}", "comind-sandbox-host")
"""Images in order of preference: of `make image`, and of `make host-image`."""

_BUILD = "make image, or on this machine alone: make host-image"
_SOCKET = "unix:///var/run/docker.sock"
_OPEN_FILES = 4096  # not above what the engine itself may open, which can be little
_ENGINE_SECONDS = 120
_SUPERVISOR = Path(__file__).with_name("container_supervisor.py")
_SUPERVISOR_SECONDS = 60.0
_TRIAL_BYTES = 256 << 20
_GONE = "the container engine stopped answering, and the session was lost"
_KILLED = {"code": 128 + signal.SIGKILL, "oom": False}
_NO_DEVICE_DRIVER = (
    "install the engine's nvidia-container-toolkit, or go without GPUs: CUDA_VISIBLE_DEVICES= comind ..."
)
_OWNER = "comind.owner"


class DockerSandbox(MountingSandbox):
    """Run programs in containers, which end with the program and with this process."""

    sealed = True
    isolation = (
        "isolates files, network, processes, users, keys; filters system calls; "
        "limits memory, processes and temporary files of the attempt as a whole, and the size of a file"
    )

    def __init__(
        self,
        image: str | None = None,
        interpreter: Interpreter | None = None,
        call_filter: bytes | None = None,
    ) -> None:
        """Find engine and image, remove containers of dead processes, and run a container once.

        Without `image`, the first of `IMAGES` that was built is used. If it mounts the host's programs,
        code runs in `interpreter`; None for the toolbox, or else our own. `call_filter` is a seccomp
        program, None for this machine's.

        Raises:
            SandboxError: no engine answers, it cannot isolate, or there is no image.
        """
        self._socket = _local_socket()
        with self._engine() as engine:
            _check_limits(engine.info())
            self._version = engine.api.api_version
            found = _find_image(engine, image)
            _remove_leftovers(engine)
        name, self.digest, labels = found
        self.name = f"docker {name}@{self.digest[:19]}"
        self._programs: list[Path] = []
        self._hidden: list[Path] = []
        self.python = labels.get("comind.python", "python3")
        self.toolbox = labels.get("comind.toolbox", "")
        if labels.get("comind.programs") == "host":
            interpreter = interpreter or interpreter_for_agents()
            self._programs = [Path("/usr"), *interpreter.mounts()]
            self._hidden = interpreter.hidden()
            self.python, self.toolbox = interpreter.python, interpreter.toolbox
        self._launcher: list[str] = []
        self.gaps = self.shared_limits
        if program := own_filter() if call_filter is None else call_filter:
            self._launcher = [self.python, "-I", "-S", "-c", LAUNCHER, program.hex()]
        else:
            refused = f"no table for {platform.machine()}"
            self.gaps = (f"system calls that the engine's filter allows ({refused})", *self.gaps)
        self._probe()

    def start(self, spec: SandboxSpec) -> "DockerHandle":
        """Start a program."""
        with self.mounted(spec) as user:
            argv, settings = [*self._launcher, *spec.argv], self._settings(spec, user)
            with self._engine() as engine:
                container = engine.containers.create(self.digest, argv, **settings)
            return self._supervise(str(container.id), spec, user)

    def _supervise(self, container: str, spec: SandboxSpec, user: SandboxUser) -> "DockerHandle":
        argv = [sys.executable, "-I", "-S", str(_SUPERVISOR), self._socket, f"/v{self._version}"]
        argv += [container, str(spec.log), str(spec.log_bytes), str(spec.scratch)]
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            supervisor = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
                pass_fds=user.held,
            )
        except OSError as error:
            self._remove(container)
            raise SandboxError(f"the container's supervisor could not be started: {error}") from None
        handle = DockerHandle(supervisor, lambda: self._remove(container))
        handle.wait_for_start()
        return handle

    def _settings(self, spec: SandboxSpec, user: SandboxUser) -> dict[str, Any]:
        from docker.types import DeviceRequest, LogConfig, Ulimit

        gpus = DeviceRequest(driver="nvidia", device_ids=list(spec.gpus), capabilities=[["gpu"]])
        limits = {"nofile": _OPEN_FILES, "core": 0, "fsize": spec.file_bytes}
        # Above this an allocation raises MemoryError and variables are kept; the container's own limit
        # kills the process.
        limits["data"] = spec.memory_bytes
        return {
            "environment": dict(spec.env),
            "use_config_proxy": False,  # a proxy's address may contain a password
            "mounts": self._mounts(spec),
            "working_dir": str(self.workspace),
            "user": f"{user.uid}:{user.gid}",
            "hostname": "sandbox",
            "network_mode": "none",
            "ipc_mode": "private",
            "read_only": True,
            "tmpfs": {
                "/tmp": f"rw,exec,nosuid,nodev,size={self.tmp_bytes},mode=1777",  # noqa: S108
                **{str(folder): "ro,nosuid,nodev,size=4k" for folder in self._hidden},
            },
            "shm_size": self.tmp_bytes,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            "mem_limit": spec.memory_bytes,
            "memswap_limit": spec.memory_bytes,
            "pids_limit": spec.processes,
            "ulimits": [Ulimit(name=name, soft=most, hard=most) for name, most in limits.items()],
            "log_config": LogConfig(type="none"),  # the supervisor writes the log, and limits it
            "device_requests": [gpus] if spec.gpus else [],
            "init": True,
            "labels": {_OWNER: process_identity()},
        }

    def _mounts(self, spec: SandboxSpec) -> list[Any]:
        from docker.types import Mount

        def bind(source: Path, target: Path, *, read_only: bool) -> Mount:
            return Mount(str(target), str(source.absolute()), type="bind", read_only=read_only)

        mounts = [bind(path, path, read_only=True) for path in self._programs]
        mounts += [bind(spec.workspace, self.workspace, read_only=False)]
        mounts += [bind(spec.runtime, self.runtime, read_only=False)]
        return mounts + [bind(i.source, self.workspace / i.name, read_only=True) for i in spec.inputs]

    def _remove(self, container: str) -> None:
        """Remove a container that its supervisor did not; without an engine the next start does."""
        from docker.errors import NotFound

        with suppress(SandboxError), self._engine() as engine, suppress(NotFound):
            engine.api.remove_container(container, force=True, v=True)

    @contextmanager
    def _engine(self) -> "Iterator[DockerClient]":
        """Yield a client of the engine; its exceptions become SandboxError."""
        from docker import DockerClient
        from docker.errors import DockerException

        _check_answer(self._socket)
        try:
            base_url = f"unix://{self._socket}"
            with closing(DockerClient(base_url=base_url, timeout=_ENGINE_SECONDS)) as client:
                yield client
        except (DockerException, OSError) as error:
            raise SandboxError(
                f"container engine at {self._socket} does not answer or refuses: {_first_line(error)}",
                hint="start it, or name another one in DOCKER_HOST; comind doctor shows what works",
            ) from None

    def _probe(self) -> None:
        """Run the interpreter once, so that errors are found before the first attempt."""
        with scratch_folder("d") as folder:
            tried = run_program(
                self,
                ("-c", "pass"),
                folder,
                inputs=(),
                env={},
                seconds=_SUPERVISOR_SECONDS,
                memory_bytes=_TRIAL_BYTES,
            )
        if tried.status is not CellStatus.OK:
            raise SandboxError(
                f"a container of {self.name} cannot run {self.python}: {_first_line(tried.error)}",
                hint=_BUILD,
            )


class DockerHandle:
    """A program in its container, as reported by the container's supervisor."""

    def __init__(self, supervisor: "subprocess.Popen[bytes]", remove: Callable[[], None]) -> None:
        self._supervisor = supervisor
        self._remove = remove
        self._read = b""
        self._ended: dict[str, Any] | None = None
        self.pid: int | None = None

    def alive(self) -> bool:
        """Whether the program runs.

        Raises:
            SandboxError: the engine or the supervisor is gone, and the container with it.
        """
        while self._ended is None and (event := self._next_event(0.0)) is not None:
            self._handle_event(event)
        return self._ended is None

    def exit_code(self) -> int | None:
        """Return None while the program runs, else its exit code."""
        return None if self.alive() or self._ended is None else int(self._ended["code"])

    def exit_reason(self) -> str:
        """Return in one line why the program exited."""
        code = self.exit_code()
        return describe_exit(code, out_of_memory=self._ended is not None and self._ended["oom"])

    def stop(self) -> None:
        """Kill the program and all its descendants, and wait until its container is removed."""
        assert self._supervisor.stdin is not None
        assert self._supervisor.stdout is not None
        if self._supervisor.stdin.closed:
            return
        self._supervisor.stdin.close()
        try:
            clean = self._supervisor.wait(timeout=_SUPERVISOR_SECONDS) == 0
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
            clean = False
        self._supervisor.stdout.close()
        self._ended = self._ended or _KILLED
        if not clean:
            self._remove()

    def wait_for_start(self) -> None:
        """Wait until the container runs.

        Raises:
            SandboxError: it could not be started.
        """
        event = self._next_event(_SUPERVISOR_SECONDS)
        if event is None or event["event"] != "started":
            self.stop()
            self._remove()
            reason = "its supervisor timed out" if event is None else event.get("reason", event["event"])
            hint = _NO_DEVICE_DRIVER if "device driver" in reason else ""
            raise SandboxError(f"the container could not be started: {_first_line(reason)}", hint=hint)
        self.pid = event["pid"]

    def _handle_event(self, event: dict[str, Any]) -> None:
        if event["event"] == "ended":
            self._ended = event
        elif event["event"] == "gone":
            self._ended = _KILLED
            self.stop()
            self._remove()
            raise SandboxError(_GONE, hint="restart the engine, then resume with comind solve --resume")

    def _next_event(self, seconds: float) -> dict[str, Any] | None:
        """Return the supervisor's next event, None on timeout, `gone` if it has exited."""
        assert self._supervisor.stdout is not None
        end = time.monotonic() + seconds
        while b"\n" not in self._read:
            if self._supervisor.stdout.closed:
                return {"event": "gone"}
            descriptor = self._supervisor.stdout.fileno()
            if not select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            part = os.read(descriptor, 4096)
            if not part:
                return {"event": "gone"}
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        event: dict[str, Any] = json.loads(line)
        return event


def _local_socket() -> str:
    address = os.environ.get("DOCKER_HOST") or _SOCKET
    if not address.startswith("unix://"):
        raise SandboxError(
            f"the container engine at {address} is not on this machine",
            hint="docker needs a local engine (DOCKER_HOST=unix://...): sockets and files are shared",
        )
    return address.removeprefix("unix://")


def _check_answer(path: str) -> None:
    """Raise if nothing listens on the socket; the client would take a second and a long message."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            raise SandboxError(
                f"no container engine answers at {path} ({error.strerror})",
                hint="start it (apt-get install docker.io, as root), or name another in DOCKER_HOST",
            ) from None


def _check_limits(info: dict[str, Any]) -> None:
    """Raise if the engine would silently ignore a limit."""
    options = " ".join(info.get("SecurityOptions") or [])
    missing = [name for name in ("MemoryLimit", "PidsLimit") if not info.get(name)]
    missing += [] if "seccomp" in options and "profile=unconfined" not in options else ["seccomp"]
    if missing:
        raise SandboxError(
            f"the container engine has no {', no '.join(missing)}", hint="see docker info"
        )
    if "rootless" in options or "userns" in options:
        raise SandboxError(
            "the container engine maps user ids, so an attempt's files would have another owner",
            hint="use an engine without rootless mode and userns-remap, or bubblewrap",
        )


def _find_image(engine: "DockerClient", wanted: str | None) -> tuple[str, str, dict[str, str]]:
    """Return name, digest and labels of the image; nothing is pulled."""
    from docker.errors import ImageNotFound

    names = (wanted,) if wanted else IMAGES
    for name in names:
        with suppress(ImageNotFound):
            image = engine.images.get(name)
            return name, str(image.id), dict(image.labels or {})
    raise SandboxError(f"there is no image {' and no image '.join(names)}", hint=_BUILD)


def _remove_leftovers(engine: "DockerClient") -> None:
    """Remove containers whose process was killed together with their supervisor."""
    from docker.errors import APIError

    for container in engine.containers.list(all=True, filters={"label": _OWNER}, ignore_removed=True):
        if has_exited(container.labels.get(_OWNER, "")):
            with suppress(APIError):  # another process of ours may be removing it
                container.remove(force=True, v=True)


def _first_line(error: object) -> str:
    """Return an error's first line, truncated to 300 characters."""
    return (str(error).strip().splitlines() or ["no reason given"])[0][:300]
