"""A persistent Jupyter kernel in a sandbox; the one module that knows `jupyter_client`.

The kernel speaks over Unix sockets in a runtime folder that sandbox and host share, so that it needs no
network. Its messages come from inside the sandbox and are untrusted: only their text is used.
"""

import contextlib
import math
import queue
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from comind.errors import SandboxError
from comind.session.base import CellResult, CellStatus, Handle, Input, Sandbox, SandboxSpec, Watch
from comind.session.environment import environment, thread_settings
from comind.session.output import Output, plain_text

__all__ = ["KernelSession"]

_START_SECONDS = 120.0
_POLL_SECONDS = 0.5
_GRACE_SECONDS = 8.0  # between the interrupt and the kill
_PORTS = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")


@dataclass(frozen=True, slots=True)
class _Ended:
    """Why a cell is interrupted, and when it is killed if it does not mind."""

    status: CellStatus
    reason: str
    kill_at: float

    def wait(self) -> float:
        """Return how long to wait for a message."""
        return min(_POLL_SECONDS, self.kill_at - time.monotonic())


@dataclass(frozen=True, slots=True)
class _Limits:
    """What may end a running cell from outside: its time, and whoever watches it."""

    begun: float
    seconds: float
    watch: Watch | None

    def wait(self) -> float:
        """Return how long to wait for a message before looking at the clock again."""
        look = self.watch.next_look if self.watch is not None else math.inf
        return min(_POLL_SECONDS, self.begun + min(self.seconds, look) - time.monotonic())

    def reached(self, output: Output) -> _Ended | None:
        """Return why the cell has to end now, if it has to."""
        elapsed = time.monotonic() - self.begun
        kill_at = self.begun + elapsed + _GRACE_SECONDS
        if elapsed >= self.seconds:
            return _Ended(CellStatus.TIMEOUT, "the cell was interrupted: its time was over", kill_at)
        if self.watch is not None and elapsed >= self.watch.next_look:
            reason = self.watch.look(output.text(), elapsed)
            if reason is not None:
                return _Ended(CellStatus.STOPPED, reason, kill_at)
        return None


class KernelSession:
    """Runs cells in a kernel that is started at the first cell and again when it is lost."""

    def __init__(  # noqa: PLR0913 - each is a fact of the session
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
    ) -> None:
        """Prepare a session.

        Args:
            sandbox: where the kernel runs.
            workspace: its working directory on the host.
            inputs: folders that it may read, below its working directory.
            env: settings for the code, such as seeds; nothing else of our environment is passed on.
            memory_bytes: limit of the kernel's memory.
            log: file for what the kernel itself prints.
            persistent: whether variables live from cell to cell; else each cell starts afresh.
            threads: cores that its libraries may use at once; 0: as many as they find.
        """
        self.workspace = workspace
        self.sandbox = sandbox.name
        self.sealed = sandbox.sealed
        self.threads = threads
        self._sandbox = sandbox
        self._inputs = inputs
        self._env = {**env, **(thread_settings(threads) if threads else {})}
        self._memory_bytes = memory_bytes
        self._log = log
        self._persistent = persistent
        self._runtime: Path | None = None
        self._handle: Handle | None = None
        self._client: BlockingKernelClient | None = None
        workspace.mkdir(parents=True, exist_ok=True)

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        """Run one cell; returns within `seconds` and a short grace, whatever the code does.

        What `watch` wants stopped is interrupted as at the deadline.

        Raises:
            SandboxError: no kernel can be started.
        """
        if self._handle is None or not self._handle.alive():
            self._start()
        begun = time.monotonic()
        result = self._execute(code, _Limits(begun, seconds, watch))
        lost = result.status is CellStatus.DIED or self._handle is None or not self._persistent
        if lost:
            self._stop()
        elapsed = round(time.monotonic() - begun, 3)
        return result.model_copy(update={"seconds": elapsed, "state_lost": lost})

    def close(self) -> None:
        """End the kernel and everything it started."""
        self._stop()

    # --- the kernel's life ------------------------------------------------------------------------

    def _start(self) -> None:
        self._stop()
        # Unix socket paths end at 107 bytes, so the sockets cannot lie in the campaign's folder.
        self._runtime = Path(tempfile.mkdtemp(prefix="comind-k-"))
        shared = self._runtime / "r"
        shared.mkdir(mode=0o700)
        _, runtime = self._sandbox.seen_as(self.workspace, shared)
        connection = shared / "c.json"
        _, info = write_connection_file(
            str(connection),
            transport="ipc",
            ip=str(runtime / "s"),
            **{port: number for number, port in enumerate(_PORTS, start=1)},
        )
        argv = (self._sandbox.python, "-P", "-m", "ipykernel_launcher", "-f", str(runtime / "c.json"))
        quiet = ("--HistoryManager.enabled=False", "--IPKernelApp.log_level=40")
        spec = SandboxSpec(
            argv=(*argv, *quiet),
            env=environment(self._sandbox.python, runtime, self._env),
            workspace=self.workspace,
            runtime=shared,
            scratch=self._runtime,
            inputs=self._inputs,
            log=self._log,
            memory_bytes=self._memory_bytes,
        )
        self._handle = self._sandbox.start(spec)
        try:
            self._connect({**info, "ip": str(shared / "s")}, shared)
        except BaseException:
            self._stop()
            raise

    def _connect(self, info: dict[str, Any], shared: Path) -> None:
        """Wait for the kernel's sockets, then for its first reply."""
        end = time.monotonic() + _START_SECONDS
        sockets = [shared / f"s-{number}" for number in range(1, len(_PORTS) + 1)]
        while not all(socket.exists() for socket in sockets):
            self._check_start(end)
            time.sleep(0.01)
        client = BlockingKernelClient()
        client.load_connection_info(info)
        client.start_channels(hb=False)  # liveness comes from the sandbox, not from heartbeats
        self._client = client
        while True:
            client.kernel_info()
            with contextlib.suppress(queue.Empty):
                if client.get_shell_msg(timeout=2)["msg_type"] == "kernel_info_reply":
                    return
            self._check_start(end)

    def _check_start(self, end: float) -> None:
        assert self._handle is not None
        if not self._handle.alive():
            said = _last_line(self._log)
            raise SandboxError(f"the session ended at its start: {self._handle.exit_reason()}{said}")
        if time.monotonic() > end:
            raise SandboxError(f"the session did not start within {_START_SECONDS:.0f} seconds")

    def _stop(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
            self._client = None
        if self._handle is not None:
            self._handle.kill()
            self._handle = None
        if self._runtime is not None:
            shutil.rmtree(self._runtime, ignore_errors=True)
            self._runtime = None

    # --- one cell ---------------------------------------------------------------------------------

    def _execute(self, code: str, limits: "_Limits") -> CellResult:
        client, handle = self._client, self._handle
        assert client is not None
        assert handle is not None
        # Without stop_on_error=False the cell after a failed one may come back as aborted.
        request = client.execute(code, allow_stdin=False, stop_on_error=False)
        output, error = Output(), ""
        ended: _Ended | None = None
        while True:
            if ended is None:
                ended = limits.reached(output)
                if ended is not None:
                    client.control_channel.send(client.session.msg("interrupt_request", {}))
            elif time.monotonic() >= ended.kill_at:
                handle.kill()
                reason = f"{ended.reason}, and it did not react to an interrupt"
                return CellResult(status=CellStatus.DIED, output=output.text(), error=reason)
            message = self._next_message(request, limits.wait() if ended is None else ended.wait())
            if message is None:
                if not handle.alive():
                    reason = f"the interpreter died: {handle.exit_reason()}"
                    return CellResult(status=CellStatus.DIED, output=output.text(), error=reason)
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content.get("execution_state") == "idle":
                break
            if kind == "error":
                error = plain_text("\n".join(map(str, content.get("traceback", []))))
            else:
                output.add(_text_of(kind, content))
        if ended is not None:  # the traceback is that of the interrupt
            return CellResult(status=ended.status, output=output.text(), error=ended.reason)
        status = CellStatus.ERROR if error else CellStatus.OK
        return CellResult(status=status, output=output.text(), error=_bounded(error))

    def _next_message(self, request: str, seconds: float) -> dict[str, Any] | None:
        """Return the next message that belongs to `request`, if one comes within `seconds`."""
        assert self._client is not None
        end = time.monotonic() + seconds
        while True:
            try:
                left = end - time.monotonic()
                message: dict[str, Any] = self._client.get_iopub_msg(timeout=max(left, 0.01))
            except (queue.Empty, ValueError):  # ValueError: a message that was not signed by our kernel
                return None
            if message["parent_header"].get("msg_id") == request:
                return message
            if left <= 0:  # a thread of an earlier cell may print without end
                return None


def _text_of(kind: str, content: dict[str, Any]) -> str:
    if kind == "stream":
        return str(content.get("text", ""))
    if kind in ("execute_result", "display_data"):
        text = content.get("data", {}).get("text/plain", "")
        return f"{text}\n"
    return ""


def _bounded(traceback: str) -> str:
    kept = Output(head=4_000, tail=12_000)
    kept.add(traceback)
    return kept.text()


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f" ({plain_text(lines[-1])[:200]})" if lines else ""
