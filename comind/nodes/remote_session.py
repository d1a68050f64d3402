"""Run the cells of an attempt on a node; its working directory here is a copy of the node's."""

import math
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from comind.domain.environment import FetchedInputs
from comind.domain.value import replace_surrogates
from comind.errors import NodeBusyError, NodeLostError, SandboxError
from comind.nodes.driver_link import DriverLink, Objects
from comind.nodes.driver_server import DriverServer
from comind.nodes.manifest import FileEntry, Manifest, ManifestCache
from comind.nodes.messages import (
    CellDone,
    CloseSession,
    HostFailed,
    InputFolder,
    OpenSession,
    OutputSoFar,
    RunCell,
    SendOutput,
    SessionReady,
    StopCell,
)
from comind.nodes.placement import PlacedHost, Placement
from comind.nodes.workspace_files import list_plain_files
from comind.session.packages import Packages, split_installs
from comind.session.session_ports import CellResult, Input, Watch

_POLL_SECONDS = 0.5
_LOOK_SECONDS = 10.0  # for the answer to a look; then it is requested again
_END_SECONDS = 120.0  # after a cell's timeout: interrupt, kill, and files to send
_PATIENCE_SECONDS = 5.0  # before a wait is reported
_MOST_HOSTS = 5  # that are requested for one session while none of them connects


@dataclass(frozen=True)
class Nodes:
    """Resources that the remote sessions of a campaign share."""

    server: DriverServer
    placement: Placement
    staging: Path
    """Folder for files that nodes send."""
    manifests: ManifestCache = field(default_factory=ManifestCache)
    lost_seconds: float = 15.0
    """Timeout of a reconnect; a node that reconnects earlier continues."""


@dataclass(frozen=True)
class SessionRequest:
    """A session to open; `opening` lacks the manifests, which are read when it is opened."""

    name: str
    """Campaign, work and epoch."""
    opening: OpenSession
    inputs: tuple[Input, ...]
    workspace: Path
    packages: Packages | None = None
    uncached: frozenset[str] = frozenset()
    """Names of inputs that nodes must not keep."""


class RemoteSession:
    """A session on a node; see `session_ports.Session`.

    Each instance has one node: when that is lost, `run` raises, and the caller opens another session.
    """

    def __init__(
        self,
        nodes: Nodes,
        request: SessionRequest,
        *,
        seconds: float = math.inf,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open the session; waits up to `seconds` for a node, and passes each new reason to `notify`.

        Raises:
            SandboxError: the node that took it cannot open it.
            NodeBusyError: no node took it in time, or the one that did lacks GPUs, at present.
            NodeLostError: the node was lost meanwhile.
        """
        request.workspace.mkdir(parents=True, exist_ok=True)
        self.workspace = request.workspace
        self._nodes = nodes
        self._packages = request.packages
        self._number = 0
        self._objects: Objects = {}
        self._shared = set[str]()
        opening = request.opening.model_copy(
            update={
                "inputs": tuple(self._offer_input(each, request) for each in request.inputs),
                "workspace": self._offer(_listed(request.workspace, nodes.manifests), request.workspace),
                "packages": self._offer_packages(),
                "store": nodes.server.store is not None,
            }
        )
        self.link = DriverLink(opening, self._objects, nodes.staging / request.name, self._shared)
        self._hosts: dict[str, PlacedHost] = {}
        self._ended: NodeLostError | None = None
        try:
            self._request_host(request.name)
            ready = self._wait_until_ready(request.name, seconds, notify)
        except BaseException:
            self.close()
            raise
        self._cancel_hosts(but=self.link.token)
        self.node, self.machine = self.link.node, self.link.machine
        self.sandbox, self.sealed, self.threads = ready.sandbox, ready.sealed, ready.threads
        self.fetched: FetchedInputs | None = self._fetched(ready)
        self.waited = 0.0

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        """Run one cell; see `Session.run`.

        Raises:
            NodeLostError: the node is gone, and the cell with it.
            SandboxError: the interpreter died and could not be restarted.
        """
        begun, printed, packages = time.monotonic(), "", ""
        if self._packages is not None:
            wanted, code = split_installs(code)
            printed = self._packages.install(wanted, seconds=seconds)
            packages = self._offer_packages() if wanted else ""
        code = replace_surrogates(code)
        self._number += 1
        left = seconds - (time.monotonic() - begun) if printed else seconds
        self.link.run(RunCell(number=self._number, code=code, seconds=left, packages=packages))
        done = self._wait_until_done(_Looks(self._number, watch), left)
        self._apply(done)
        return done.result.model_copy(update={"output": printed + done.result.output})

    def close(self) -> None:
        """End the session and the sandbox on the node; idempotent.

        A node that is connected ends by itself; other hosts are cancelled.
        """
        connected = self.link.connected  # before the message, on which a host may disconnect at once
        self.link.send(CloseSession())
        self._nodes.server.remove(self.link)
        self._cancel_hosts(but=self.link.token if connected else "")
        self._hosts.clear()
        shutil.rmtree(self.link.staging, ignore_errors=True)

    def _fetched(self, ready: SessionReady) -> FetchedInputs:
        """Return what the node fetched, and why not from the store, by the node or by the driver."""
        store = self._nodes.server.store
        reason = ready.fetched.store_failure or (store.failure if store is not None else "")
        return ready.fetched.model_copy(update={"store_failure": reason})

    # --- waiting ----------------------------------------------------------------------------------

    def _request_host(self, name: str) -> None:
        order = self._nodes.server.add(self.link, name)
        self._hosts[order.token] = self._nodes.placement.start(order)

    def _cancel_hosts(self, *, but: str) -> None:
        """Cancel the requested hosts but the one with this token."""
        for token in [token for token in self._hosts if token != but]:
            self._hosts.pop(token).cancel()

    def _why_waiting(self, name: str) -> str:
        """Return why no host has connected; requests another one where the last is overdue.

        The late one is still accepted: the first that connects gets the session.

        Raises:
            NodeLostError: all requested hosts have ended.
        """
        reason = ""
        for token, host in [*self._hosts.items()]:
            try:
                reason = host.waiting()
            except NodeLostError as error:
                del self._hosts[token]
                self._ended = error
        if not self._hosts:
            assert self._ended is not None
            raise self._ended
        if all(host.overdue for host in self._hosts.values()) and len(self._hosts) < _MOST_HOSTS:
            self._request_host(name)
        return reason

    def _wait_until_ready(
        self, name: str, seconds: float, notify: Callable[[str], None]
    ) -> SessionReady:
        begun, shown = time.monotonic(), ""
        while True:
            message = self.link.receive(_POLL_SECONDS)
            if isinstance(message, SessionReady):
                return message
            self._check(message)
            reason = "" if self.link.node else self._why_waiting(name)
            waited = time.monotonic() - begun
            if waited > seconds:
                raise NodeBusyError(f"no node opened a session in {seconds:.0f} seconds: {reason}")
            if waited > _PATIENCE_SECONDS and reason not in ("", shown):
                notify(reason)
                shown = reason

    def _wait_until_done(self, looks: "_Looks", seconds: float) -> CellDone:
        begun = time.monotonic()
        while True:
            message = self.link.receive(min(_POLL_SECONDS, looks.wait()))
            if isinstance(message, CellDone) and message.number == self._number:
                return message
            self._check(message)
            if isinstance(message, OutputSoFar) and (reason := looks.take(message)):
                self.link.send(StopCell(number=self._number, reason=reason))
            if looks.due():
                self.link.send(SendOutput(number=self._number))
            if time.monotonic() > begun + seconds + _END_SECONDS:
                raise self._lost(f"it did not end the cell after {seconds:.0f} seconds")

    def _check(self, message: object) -> None:
        """Raise if the host failed or is gone."""
        if isinstance(message, HostFailed):
            error_type = NodeBusyError if message.busy else SandboxError
            raise error_type(f"node {self.link.node}: {message.message}", hint=message.hint)
        if self.link.silent_seconds > (limit := self._nodes.lost_seconds):
            raise self._lost(f"no connection for {limit:.0f} seconds")

    def _lost(self, reason: str) -> NodeLostError:
        return NodeLostError(f"node {self.link.node} is lost: {reason}", node=self.link.node)

    # --- files ------------------------------------------------------------------------------------

    def _offer_input(self, given: Input, request: SessionRequest) -> InputFolder:
        manifest = self._nodes.manifests.read(given.source)
        if given.name not in request.uncached:
            self._shared.update(entry.sha256 for entry in manifest.files)
        return InputFolder(
            name=given.name,
            manifest=self._offer(manifest, given.source),
            linked=given.linked,
            cached=given.name not in request.uncached,
        )

    def _offer_packages(self) -> str:
        if self._packages is None:
            return ""
        folder = self._packages.folder
        return self._offer(self._nodes.manifests.read(folder), folder)

    def _offer(self, manifest: Manifest, folder: Path) -> str:
        """Let the node fetch a manifest and its files; return the hash of the manifest."""
        self._objects.update({entry.sha256: folder / entry.name for entry in manifest.files})
        self._objects[manifest.sha256] = manifest.content
        return manifest.sha256

    def _apply(self, done: CellDone) -> None:
        """Repeat in the working directory what the cell did in the node's."""
        for name in done.removed:
            with suppress(OSError):
                (self.workspace / name).unlink()
        placed: dict[str, Path] = {}
        for entry in done.written:
            self._place(entry, placed)

    def _place(self, entry: FileEntry, placed: dict[str, Path]) -> None:
        """Write one file: as sent, as another that this cell wrote, or with its content unchanged."""
        target = self.workspace / entry.name
        if target.is_dir():
            shutil.rmtree(target)
        for parent in reversed(target.relative_to(self.workspace).parents):
            folder = self.workspace / parent
            if folder.is_file():
                folder.unlink()
            folder.mkdir(exist_ok=True)
        staged = self.link.staging / entry.sha256
        source = staged if staged.is_file() else placed.get(entry.sha256, target)
        copied = target.with_name(f".{target.name}.new")
        try:
            if source is staged:
                shutil.move(staged, copied)
            else:
                shutil.copyfile(source, copied)
        except FileNotFoundError:
            raise self._lost(f"it did not send {entry.name}") from None
        copied.replace(target)
        placed[entry.sha256] = target


def _listed(workspace: Path, manifests: ManifestCache) -> Manifest:
    """Return the manifest of the files that a node is given back after a loss."""
    return manifests.read(workspace, sorted(list_plain_files(workspace)))


class _Looks:
    """When to request the output of a running cell, and what its watch says about it."""

    def __init__(self, number: int, watch: Watch | None) -> None:
        self._number = number
        self._watch = watch
        self._begun = time.monotonic()
        self._asked_at = -math.inf
        self._stopped = False

    def wait(self) -> float:
        """Return the seconds until the next look."""
        if self._watch is None or self._stopped:
            return math.inf
        return max(0.0, self._begun + self._watch.next_look - time.monotonic(), self._again())

    def due(self) -> bool:
        """Return True when the output has to be requested, and count it as requested."""
        if self.wait() > 0 or self._watch is None:
            return False
        self._asked_at = time.monotonic()
        return True

    def take(self, message: OutputSoFar) -> str:
        """Return the reason to stop the cell; empty for none."""
        if self._watch is None or self._stopped or message.number != self._number:
            return ""
        self._asked_at = -math.inf
        reason = self._watch.look(message.output, message.seconds, message.usage)
        self._stopped = reason is not None
        return reason or ""

    def _again(self) -> float:
        return self._asked_at + _LOOK_SECONDS - time.monotonic()
