"""Run cells in a persistent Jupyter kernel in a sandbox.

The kernel and a driver that speaks Jupyter's protocol with it both run inside (`comind.session.inside`).
The driver connects to us over one Unix socket in a runtime folder that sandbox and host share, so it
needs no network. What it sends is untrusted: only text and the status of cells are used.
"""

import math
import time
from collections.abc import Mapping
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from comind.domain.environment import FetchedInputs, Machine
from comind.errors import SandboxError
from comind.session.channel import Channel, ChannelError, Frame, Listener
from comind.session.inside.driver import BEGUN, DONE, ERROR, EXECUTE, GONE, INTERRUPT, OUTPUT, READY
from comind.session.load import LoadWatch
from comind.session.output import OutputBuffer, plain_text, truncate_output
from comind.session.packages import PACKAGES_AT, Packages, split_installs
from comind.session.program import environment, thread_settings
from comind.session.quota import Quota, QuotaWatch
from comind.session.session_ports import (
    CellResult,
    CellStatus,
    Handle,
    Input,
    Sandbox,
    SandboxSpec,
    Watch,
)
from comind.system.supervisor import remove_tree
from comind.system.temporary_folders import make_scratch_folder

_START_SECONDS = 120.0
_POLL_SECONDS = 0.5
_GRACE_SECONDS = 8.0
_BEGIN_SECONDS = 60.0  # timeout of the start of a cell; an earlier one may still be running
_END_SECONDS = 3.0  # timeout of a sandbox's exit after its driver disconnected
_REASON_LENGTH = 200
_PROGRAMS = ("driver.py", "kernel.py")


class _Ended(NamedTuple):
    """Reason of an interrupt, and time of the kill if it has no effect."""

    status: CellStatus
    reason: str
    kill_at: float


class KernelSession:
    """Runs cells in a kernel that is started on first use and restarted when it is lost."""

    node = ""
    machine: Machine | None = None
    fetched: FetchedInputs | None = None
    waited: float = 0.0

    def __init__(  # noqa: PLR0913 - each is an option of the session
        self,
        sandbox: Sandbox,
        workspace: Path,
        *,
        inputs: tuple[Input, ...] = (),
        env: Mapping[str, str],
        memory_bytes: int,
        log: Path,
        persistent: bool = True,
        threads: int = 0,
        quota: Quota = Quota(),  # noqa: B008 - frozen, safe to share
        packages: Packages | None = None,
        grace: float = _GRACE_SECONDS,
    ) -> None:
        """Prepare a session; the code's environment is `env`, and ours is not inherited.

        Unless `persistent`, each cell starts a new kernel. `threads` limits numerical libraries; 0: no
        limit. `log` receives what the kernel itself prints. `packages` serve `%pip install` lines, which
        without them are part of the code. `grace` is the seconds between an interrupt and the kill.
        """
        self.workspace = workspace
        self.sandbox = sandbox.name
        self.sealed = sandbox.sealed
        self.threads = threads
        self._sandbox = sandbox
        self._inputs = inputs
        self._env = dict(env) | (thread_settings(threads) if threads else {})
        self._memory_bytes = memory_bytes
        self._log = log
        self._persistent = persistent
        self._quota = quota
        self._packages = packages
        self._grace = grace
        if packages is not None and sandbox.sealed:
            self._inputs = (*inputs, Input(packages.folder, PACKAGES_AT))
        self._runtime: Path | None = None
        self._handle: Handle | None = None
        self._gpus: tuple[str, ...] = ()
        self._channel: Channel | None = None
        self._running = ExitStack()  # ends these three, in reverse order
        self._number = 0
        workspace.mkdir(parents=True, exist_ok=True)

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        """Run one cell; see `Session.run`."""
        started, printed = time.monotonic(), ""
        if self._packages is not None:
            wanted, code = split_installs(code)
            printed = self._packages.install(wanted, seconds=seconds)
        if self._handle is None or not self._handle.alive():
            self._start()
        begun = time.monotonic()
        left = seconds - (begun - started) if printed else seconds
        load = LoadWatch(self._handle.pid if self._handle else None, self._gpus)
        result = self._execute(code, begun, left, watch, load)
        changes = {"seconds": round(time.monotonic() - begun, 3), "load": load.end()}
        lost = result.status is CellStatus.DIED or self._handle is None or not self._persistent
        if lost:
            self.close()
        changes |= {"output": printed + result.output, "state_lost": lost}
        return result.model_copy(update=changes)

    def close(self) -> None:
        """Terminate the kernel and all its descendants."""
        self._running.close()
        self._runtime = self._handle = self._channel = None

    # --- start and connect ------------------------------------------------------------------------

    def _start(self) -> None:
        self.close()
        self._runtime = make_scratch_folder("k")
        self._running.callback(remove_tree, str(self._runtime))
        shared = self._runtime / "r"
        shared.mkdir(mode=0o700)
        for name in _PROGRAMS:
            program = resources.files("comind.session.inside") / name
            (shared / name).write_text(program.read_text(encoding="utf-8"), encoding="utf-8")
        listener = Listener(shared / "h")
        workspace, runtime = self._sandbox.paths_inside(self.workspace, shared)
        seen = [str(runtime / name) for name in ("driver.py", "h", "kernel.py")]
        spec = SandboxSpec(
            argv=(self._sandbox.python, "-P", *seen),
            env=environment(self._sandbox.python, runtime, self._env | self._python_path(workspace)),
            workspace=self.workspace,
            runtime=shared,
            scratch=self._runtime,
            inputs=self._inputs,
            log=self._log,
            memory_bytes=self._memory_bytes,
        )
        try:
            self._gpus = spec.gpus
            self._handle = self._sandbox.start(spec)
            self._running.callback(self._handle.stop)
            self._connect(listener)
        except BaseException:
            self.close()
            raise
        finally:
            listener.close()

    def _python_path(self, workspace: Path) -> dict[str, str]:
        """Return the environment variable that makes installed packages importable."""
        if self._packages is None:
            return {}
        # Without mounts, paths inside are those of the host.
        seen = workspace / PACKAGES_AT if self.sealed else self._packages.folder.absolute()
        return {"PYTHONPATH": str(seen)}

    def _connect(self, listener: Listener) -> None:
        """Wait for the driver, then for the kernel's first reply."""
        end = time.monotonic() + _START_SECONDS
        self._channel = listener.accept(lambda: self._check_start(end))
        self._running.callback(self._channel.close)
        while True:
            try:
                frame = self._channel.receive(_POLL_SECONDS)
            except ChannelError as error:
                self._await_end()
                self._check_start(end)
                raise SandboxError(f"the session did not start: {error}") from None
            if frame is not None and frame.type == READY:
                return
            self._check_start(end)

    def _check_start(self, end: float) -> None:
        assert self._handle is not None
        if not self._handle.alive():
            printed = _last_line(self._log)
            raise SandboxError(f"the session ended at its start: {self._handle.exit_reason()}{printed}")
        if time.monotonic() > end:
            raise SandboxError(f"the session did not start within {_START_SECONDS:.0f} seconds")

    def _await_end(self) -> None:
        """Wait for the exit of a sandbox whose driver disconnected."""
        end = time.monotonic() + _END_SECONDS
        while self._handle is not None and self._handle.alive() and time.monotonic() < end:
            time.sleep(0.01)

    # --- one cell ---------------------------------------------------------------------------------

    def _execute(
        self, code: str, begun: float, seconds: float, watch: Watch | None, load: LoadWatch
    ) -> CellResult:
        cell = _Running(self._number + 1, begun, seconds, watch, self._quota_watch(), load)
        self._number = cell.number
        try:
            assert self._channel is not None
            self._channel.send(EXECUTE, cell.number, code)
            while True:
                if cell.check_timeout(self._grace):
                    self._channel.send(INTERRUPT, cell.number)
                if reason := cell.overdue():
                    return self._killed(cell, reason)
                load.look()
                frame = self._channel.receive(cell.wait())
                if frame is not None and frame.number == cell.number and cell.take(frame):
                    return cell.result()
                if frame is None and self._handle is not None and not self._handle.alive():
                    raise ChannelError("the session ended")  # noqa: TRY301 - one end for all of these
        except ChannelError as error:
            return self._killed(cell, self._why_gone(cell, error))

    def _why_gone(self, cell: "_Running", error: ChannelError) -> str:
        self._await_end()
        assert self._handle is not None
        if cell.gone:
            return f"the interpreter was ended: {cell.gone}"
        if self._handle.alive():
            return f"the interpreter was ended: {error}"
        return f"the interpreter died: {self._handle.exit_reason()}"

    def _killed(self, cell: "_Running", reason: str) -> CellResult:
        assert self._handle is not None
        self._handle.stop()
        return CellResult(status=CellStatus.DIED, output=cell.output.text(), error=reason)

    def _quota_watch(self) -> QuotaWatch:
        folders = [self.workspace] if self._runtime is None else [self.workspace, self._runtime]
        inputs = [self.workspace / given.name for given in self._inputs]
        return QuotaWatch(self._quota, folders, inputs)


class _Running:
    """State of a running cell and what may stop it: timeout, watch, disk quota."""

    def __init__(
        self,
        number: int,
        begun: float,
        seconds: float,
        watch: Watch | None,
        quota: QuotaWatch,
        load: LoadWatch,
    ) -> None:
        self.number = number
        self.output = OutputBuffer()
        self.gone = ""
        """Why the driver gave up on the interpreter."""
        self._begun = begun
        self._seconds = seconds
        self._watch = watch
        self._quota = quota
        self._load = load
        self._ended: _Ended | None = None
        self._taken_up = False
        self._error = ""
        self._status = ""

    def take(self, frame: Frame) -> bool:
        """Process a frame of this cell; return whether the cell is done."""
        if frame.type == OUTPUT:
            self.output.add(frame.text)
        elif frame.type == ERROR:
            self._error = truncate_output(frame.text)
        elif frame.type == BEGUN:
            self._taken_up = True
        elif frame.type == GONE:
            self.gone = plain_text(frame.text[:_REASON_LENGTH])
        self._status = frame.text[:16] if frame.type == DONE else ""
        return frame.type == DONE

    def wait(self) -> float:
        """Return how many seconds to wait for a frame before the next check of deadlines."""
        if self._ended is not None:
            end = self._ended.kill_at
        else:
            look = self._watch.next_look if self._watch is not None else math.inf
            end = self._begun + min(self._seconds, look)
        return max(0.0, min(_POLL_SECONDS, end - time.monotonic()))

    def check_timeout(self, grace: float) -> bool:
        """Return True the first time that the timeout is over or the monitor stops the cell.

        The caller then interrupts it, and kills it after `grace` seconds.
        """
        if self._ended is not None:
            return False
        elapsed = time.monotonic() - self._begun
        kill_at = self._begun + elapsed + grace
        if elapsed >= self._seconds:
            reason = "the cell was interrupted: its time was over"
            self._ended = _Ended(CellStatus.TIMEOUT, reason, kill_at)
        elif self._watch is not None and elapsed >= self._watch.next_look:
            usage = self._load.usage(self._quota.written_at)
            stopped = self._watch.look(self.output.text(), elapsed, usage)
            if stopped is not None:
                self._ended = _Ended(CellStatus.STOPPED, stopped, kill_at)
        return self._ended is not None

    def overdue(self) -> str:
        """Return why the interpreter must be killed now; empty if it need not."""
        if self._ended is not None and time.monotonic() >= self._ended.kill_at:
            return f"{self._ended.reason}, and it did not react to an interrupt"
        if not self._taken_up and time.monotonic() > self._begun + _BEGIN_SECONDS:
            return f"the interpreter did not take the cell up within {_BEGIN_SECONDS:.0f} seconds"
        if reason := self._quota.exceeded():
            return f"the interpreter was ended: {reason}"
        return ""

    def result(self) -> CellResult:
        """Return the result of a cell that is done."""
        output = self.output.text()
        if self._ended is not None:  # the traceback is that of the interrupt
            return CellResult(status=self._ended.status, output=output, error=self._ended.reason)
        failed = bool(self._error) or self._status != "ok"
        error = self._error or ("" if not failed else f"the cell ended with status {self._status!r}")
        status = CellStatus.ERROR if failed else CellStatus.OK
        return CellResult(status=status, output=output, error=error)


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f" ({plain_text(lines[-1])[:200]})" if lines else ""
