"""Keep the driver's end of one session on a node, across reconnects."""

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Collection
from pathlib import Path

from starlette.websockets import WebSocket

from comind import __version__
from comind.domain.environment import Machine
from comind.nodes.messages import (
    CellDone,
    DriverMessage,
    HostFailed,
    HostMessage,
    HostState,
    OpenSession,
    RunCell,
)

_log = logging.getLogger(__name__)

Objects = dict[str, Path | bytes]
"""Contents by SHA-256."""


class DriverLink:
    """Sends messages to a session host and queues its answers; thread-safe.

    What the host needs is kept as state, so that a reconnect sends it again: the order to open, and the
    cell that runs.
    """

    def __init__(
        self,
        opening: OpenSession,
        objects: Objects,
        staging: Path,
        shared: Collection[str] = frozenset(),
    ) -> None:
        """Prepare for a host that may fetch `objects` and send files to `staging`.

        `shared` are the hashes of those that a store may hold.
        """
        self.token = ""
        """Token of the host that has the session, once one has connected."""
        self.objects = objects
        self.shared = shared
        self.staging = staging
        self.received_bytes = 0
        """Bytes of files that the host sent."""
        self.sent_bytes = 0
        """Bytes of inputs and files that it fetched."""
        self.node = ""
        """Name of the node, once it has connected."""
        self.machine: Machine | None = None
        """Its hardware, once it has connected."""
        self._opening = opening
        self._cell: RunCell | None = None
        self._inbox: queue.SimpleQueue[HostMessage] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._connection: tuple[WebSocket, asyncio.AbstractEventLoop] | None = None
        self._silent_since: float | None = None  # None while connected, and before the first connect

    # --- called by the session's thread -----------------------------------------------------------

    def run(self, cell: RunCell) -> None:
        """Start a cell; it is sent again after a reconnect if the host does not have it."""
        with self._lock:
            self._cell = cell
        self.send(cell)

    def send(self, message: DriverMessage) -> None:
        """Send a message if a host is connected, without waiting."""
        with self._lock:
            connection = self._connection
        if connection is not None:
            websocket, loop = connection
            asyncio.run_coroutine_threadsafe(_send(websocket, message.model_dump_json()), loop)

    def receive(self, seconds: float) -> HostMessage | None:
        """Return the next message of the host; None if there is none within `seconds`."""
        try:
            return self._inbox.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None

    @property
    def connected(self) -> bool:
        """Whether a host is connected now."""
        with self._lock:
            return self._connection is not None

    @property
    def silent_seconds(self) -> float:
        """Seconds since the host disconnected; 0 while it is connected and before it was."""
        with self._lock:
            return 0.0 if self._silent_since is None else time.monotonic() - self._silent_since

    # --- called by the server's event loop --------------------------------------------------------

    def connect(self, websocket: WebSocket) -> None:
        """Use this connection from now on."""
        with self._lock:
            self._connection = websocket, asyncio.get_running_loop()
            self._silent_since = None

    def disconnect(self, websocket: WebSocket) -> None:
        """Count the host as silent, unless it has connected again."""
        with self._lock:
            if self._connection is not None and self._connection[0] is websocket:
                self._connection = None
                self._silent_since = time.monotonic()
                _log.info("node %s is disconnected", self.node)

    def take(self, message: HostMessage) -> None:
        """Queue a message for the session; repeat to a host that connects what it missed."""
        if isinstance(message, HostState):
            self.node, self.machine = message.node, message.machine
            _log.info("node %s is connected", self.node)
            with self._lock:
                cell = self._cell
            if message.version != __version__:
                self._inbox.put(_other_version(message.version))
            elif not message.ready:
                self.send(self._opening)
            elif cell is not None and message.taken < cell.number:
                self.send(cell)
        else:
            with self._lock:
                if isinstance(message, CellDone) and self._cell and self._cell.number == message.number:
                    self._cell = None
            self._inbox.put(message)


def _other_version(version: str) -> HostFailed:
    return HostFailed(
        message=f"its CoMind is {version or 'older'}, the driver's is {__version__}",
        hint="install the same version of CoMind there",
    )


async def _send(websocket: WebSocket, text: str) -> None:
    with contextlib.suppress(Exception):  # the connection has ended; a reconnect sends it again
        await websocket.send_text(text)
