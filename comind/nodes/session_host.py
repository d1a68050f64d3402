"""Run one session on a node for a driver elsewhere, from dial-in to the end of its sandbox.

The host holds no key and no label. It ends its sandbox when the driver closes the session, refuses it
or is not reachable for a minute, and with it when the host itself is killed.
"""

import asyncio
import logging
import math
import shutil
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from comind import __version__
from comind.domain.environment import FetchedInputs, Machine
from comind.domain.resources import MEMORY_SHARE, StoreFolders
from comind.errors import ComindError, NodeBusyError, SandboxError
from comind.nodes.driver_client import Connection, Transfers
from comind.nodes.messages import (
    CellDone,
    CloseSession,
    DriverMessage,
    HostFailed,
    HostMessage,
    HostState,
    OpenSession,
    OutputSoFar,
    RunCell,
    SendOutput,
    SessionReady,
    StopCell,
)
from comind.nodes.object_cache import ObjectCache
from comind.nodes.placement import HostOrder
from comind.nodes.workspace_files import Changes, WorkspaceFiles
from comind.session.choice import choose_sandbox
from comind.session.kernel_session import KernelSession
from comind.session.load import CellUsage
from comind.session.packages import PACKAGES_AT
from comind.session.session_ports import CellResult, Input, Sandbox
from comind.session.user_store import store_settings
from comind.system.hardware import describe_machine, usable_cores, usable_memory
from comind.system.leases import Cores, Gpus
from comind.system.redaction import redact
from comind.system.temporary_folders import scratch_folder

_log = logging.getLogger(__name__)
_PATIENCE_SECONDS = 60.0
_MOST_NAMED = 5
_MEMORY_TOLERANCE = 0.9
_cores, _gpus = Cores(usable_cores()), Gpus()  # of the machine, shared by all processes


SEALED = ("docker", "bubblewrap")
"""Sandboxes that a node accepts unless its owner names others."""


def host_session(
    order: HostOrder,
    cache: Path,
    *,
    node: str = "",
    patience: float = _PATIENCE_SECONDS,
    accepted: tuple[str, ...] = SEALED,
) -> str:
    """Run the session of an order to its end; return why it ended.

    Args:
        order: where the driver is, and the token.
        cache: folder of contents that nodes on this machine share.
        node: name of this node; by default the machine's.
        patience: seconds without the driver after which the session ends.
        accepted: sandboxes in which the node's owner lets sessions run.
    """
    with scratch_folder("node") as scratch:  # removed on SIGKILL, too
        here = node or socket.gethostname()
        host = _SessionHost(order, ObjectCache(cache), scratch, here, patience, accepted)
        return asyncio.run(host.serve())


class _SessionHost:
    """Takes the driver's messages in an event loop, and runs cells in a thread."""

    def __init__(
        self,
        order: HostOrder,
        cache: ObjectCache,
        scratch: Path,
        node: str,
        patience: float,
        accepted: tuple[str, ...],
    ) -> None:
        self._node = node
        self._accepted = accepted
        self._transfers = Transfers(order, patience=patience)
        self._connection = Connection(order, self._hello, patience=patience)
        self._cache = cache
        self._scratch = scratch
        self._machine = Machine.model_validate(describe_machine())
        self._session: _NodeSession | None = None
        self._opening = False
        self._last: HostMessage | None = None
        """The answer to the driver's last order, sent again after a reconnect."""
        self._taken = 0
        self._watch = _DriverWatch()
        self._work: set[asyncio.Future[None]] = set()

    async def serve(self) -> str:
        """Serve until the driver closes the session or is gone; returns the reason."""
        try:
            return await self._connection.receive(self._take)
        finally:
            await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._watch.stop("the session is closed")
        if self._session is not None:
            self._session.close()
        self._transfers.close()

    def _hello(self) -> list[HostMessage]:
        state = HostState(
            node=self._node,
            version=__version__,
            machine=self._machine,
            ready=self._opening,
            taken=self._taken,
        )
        return [state] if self._last is None else [state, self._last]

    def _take(self, message: DriverMessage) -> None:
        match message:
            case OpenSession() if not self._opening:
                self._opening = True
                self._start(self._open(message))
            case RunCell() if message.number > self._taken:
                self._taken = message.number
                self._start(self._run(message))
            case SendOutput() if message.number == self._taken:
                self._watch.look_now()
            case StopCell() if message.number == self._taken:
                self._watch.stop(message.reason)
            case CloseSession():
                self._start(self._connection.end("the driver closed the session"))
            case _:
                pass  # sent again after a reconnect

    def _start(self, answer: Coroutine[Any, Any, HostMessage | None]) -> None:
        """Run `answer` beside the connection, and send what it returns."""

        async def work() -> None:
            message = await answer
            if message is not None:
                self._last = message
                await self._connection.send(message)

        task = asyncio.ensure_future(work())
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _open(self, opening: OpenSession) -> HostMessage:
        try:
            self._session = await asyncio.to_thread(
                _NodeSession,
                opening,
                self._cache,
                self._transfers,
                self._scratch,
                self._accepted,
            )
        except Exception as error:  # noqa: BLE001 - the driver waits for an answer, whatever it is
            return _failure(error)
        return self._session.ready

    async def _run(self, cell: RunCell) -> HostMessage:
        assert self._session is not None
        loop = asyncio.get_running_loop()
        self._watch = _DriverWatch(
            lambda output, seconds, usage: asyncio.run_coroutine_threadsafe(
                self._connection.send(
                    OutputSoFar(number=cell.number, output=output, seconds=seconds, usage=usage)
                ),
                loop,
            )
        )
        try:
            result, changes = await asyncio.to_thread(self._session.run, cell, self._watch)
        except Exception as error:  # noqa: BLE001 - the driver waits for an answer, whatever it is
            return _failure(error)
        return CellDone(
            number=cell.number,
            result=_with_note(result, changes),
            written=changes.written,
            removed=changes.removed,
        )


class _NodeSession:
    """A kernel session with inputs from the cache, and its share of this machine."""

    def __init__(
        self,
        opening: OpenSession,
        cache: ObjectCache,
        transfers: Transfers,
        scratch: Path,
        accepted: tuple[str, ...],
    ) -> None:
        """Fetch what is missing and lease cores and GPUs; the kernel starts with the first cell.

        Raises:
            SandboxError: the node cannot run it, or the driver is gone.
        """
        self._cache = cache
        self._transfers = transfers
        transfers.use_store = opening.store
        self._packages = scratch / "packages"
        self._fetched = FetchedInputs()
        self._held = ExitStack()
        workspace = scratch / "workspace"
        sandbox = _sandbox(opening, accepted)
        own = ObjectCache(scratch / "uncached")
        _copy_tree(self._tree(opening.workspace, own), workspace)
        inputs = [
            Input(self._tree(each.manifest, cache if each.cached else own), each.name, each.linked)
            for each in opening.inputs
        ]
        env = _settings(opening, inputs, sandbox, workspace)
        self._packages.mkdir()
        if opening.packages:
            self._install(opening.packages)
            inputs.append(Input(self._packages, PACKAGES_AT))
            seen, _ = sandbox.paths_inside(workspace, workspace)
            found_at = seen / PACKAGES_AT if sandbox.sealed else self._packages
            env["PYTHONPATH"] = str(found_at)
        _require_memory(opening.memory_gb)
        gpus, threads = self._lease(str(scratch), opening)
        self._session = KernelSession(
            sandbox,
            workspace,
            inputs=tuple(inputs),
            env={**env, "CUDA_VISIBLE_DEVICES": ",".join(gpus)},
            memory_bytes=math.floor(usable_memory() * MEMORY_SHARE),
            log=scratch / "session.log",
            persistent=opening.persistent,
            threads=threads,
        )
        known = own.manifest(opening.workspace, transfers.fetch)  # fetched before
        names = {entry.name: entry.sha256 for entry in known.files}
        self._files = WorkspaceFiles(workspace, names, transfers.send)
        self.ready = SessionReady(
            sandbox=sandbox.name,
            sealed=sandbox.sealed,
            threads=threads,
            gpus=gpus,
            fetched=self._fetched,
        )

    def _lease(self, name: str, opening: OpenSession) -> tuple[tuple[str, ...], int]:
        """Lease GPUs and cores; return them until the session ends."""
        self._held.enter_context(_cores.holding(name))
        self._held.enter_context(_gpus.holding(name))
        gpus = _gpus.lease(name, opening.holders)
        if len(gpus) < opening.gpus:
            self._held.close()
            raise NodeBusyError(f"{len(gpus)} of {opening.gpus} GPUs are free")
        return gpus, _cores.lease(name, opening.threads)

    def run(self, cell: RunCell, watch: "_DriverWatch") -> tuple[CellResult, Changes]:
        """Run a cell and send the files that it wrote."""
        if cell.packages:
            self._install(cell.packages)
        result = self._session.run(cell.code, seconds=cell.seconds, watch=watch)
        return result, self._files.send_changes()

    def close(self) -> None:
        """End the sandbox and release the leases."""
        self._session.close()
        self._held.close()

    def _tree(self, sha256: str, cache: ObjectCache) -> Path:
        begun = time.monotonic()
        folder, size = self._transfers.retry(lambda: cache.tree(sha256, self._transfers.fetch))
        self._fetched = FetchedInputs(
            size=self._fetched.size + size,
            seconds=round(self._fetched.seconds + time.monotonic() - begun, 3),
            store_failure=self._transfers.store_failure,
        )
        return folder

    def _install(self, sha256: str) -> None:
        """Add the packages that are new; the folder is mounted already."""
        _copy_tree(self._tree(sha256, self._cache), self._packages)


def _require_memory(wanted_gb: int) -> None:
    """Raise `NodeBusyError` on a machine with less than nine tenths of this memory.

    Part of a machine's nominal memory belongs to its kernel.
    """
    has = usable_memory() / 10**9
    if has < _MEMORY_TOLERANCE * wanted_gb:
        raise NodeBusyError(f"it has {has:.0f} of {wanted_gb} GB of memory")


def _failure(error: Exception) -> HostFailed:
    if isinstance(error, ComindError):
        busy = isinstance(error, NodeBusyError)
        return HostFailed(message=str(error), hint=error.hint, busy=busy)
    _log.error("the session host failed", exc_info=error)
    reason = redact(f"{type(error).__name__}: {error}")
    return HostFailed(message=f"its session host failed: {reason}")


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a folder of the cache as writable files; those that exist are replaced."""
    shutil.copytree(source, target, copy_function=shutil.copyfile, dirs_exist_ok=True)


def _sandbox(opening: OpenSession, accepted: tuple[str, ...]) -> Sandbox:
    """Return this node's sandbox; SandboxError if its owner accepts none, or its toolbox is another."""
    sandbox = choose_sandbox(
        opening.sandbox,
        own_code=opening.own_code,
        toolbox=bool(opening.toolbox),
        accepted=accepted,
    )
    if sandbox.toolbox != opening.toolbox:
        here, there = (each[:12] or "none" for each in (sandbox.toolbox, opening.toolbox))
        raise SandboxError(
            f"its toolbox is {here}, the driver's is {there}",
            hint="run make toolbox there, in the same version of CoMind",
        )
    return sandbox


def _settings(
    opening: OpenSession, inputs: list[Input], sandbox: Sandbox, workspace: Path
) -> dict[str, str]:
    models = next((str(each.source) for each in inputs if each.name == opening.models), None)
    seen, _ = sandbox.paths_inside(workspace, workspace)
    return {**opening.env, **store_settings(StoreFolders(models=models), seen)}


def _with_note(result: CellResult, changes: Changes) -> CellResult:
    """Say in a cell's output which of its files stay on the node."""
    if not changes.left:
        return result
    named = ", ".join(changes.left[:_MOST_NAMED])
    more = f" and {len(changes.left) - _MOST_NAMED} more" if len(changes.left) > _MOST_NAMED else ""
    note = f"[not kept, too large or still being written: {named}{more}]\n"
    return result.model_copy(update={"output": result.output + note})


class _DriverWatch:
    """Lets the driver look at a running cell and stop it; a `session_ports.Watch`."""

    def __init__(self, send: Callable[[str, float, CellUsage | None], object] | None = None) -> None:
        self._send = send
        self._looks = threading.Event()
        self._reason: str | None = None

    def look_now(self) -> None:
        """Send the output as soon as the session polls."""
        self._looks.set()

    def stop(self, reason: str) -> None:
        """Interrupt the cell as soon as the session polls."""
        self._reason = reason
        self._looks.set()

    @property
    def next_look(self) -> float:
        """0 if a look is requested, else infinity."""
        return 0.0 if self._looks.is_set() else math.inf

    def look(self, output: str, seconds: float, usage: CellUsage | None = None) -> str | None:
        """Send output and usage; return the driver's reason to stop, if there is one."""
        self._looks.clear()
        if self._reason is None and self._send is not None:
            self._send(output, seconds, usage)
        return self._reason
