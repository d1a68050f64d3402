"""Define the messages between a driver and a session host, as JSON text over a WebSocket.

Each cell has a number, so a message that is sent again after a reconnect has no effect twice.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from comind.domain.environment import FetchedInputs, Machine
from comind.domain.value import Value
from comind.nodes.manifest import FileEntry, RelativeName
from comind.session.load import CellUsage
from comind.session.session_ports import CellResult


class InputFolder(Value):
    """A read-only folder of the session, by the hash of its manifest."""

    name: RelativeName
    """Its path below the working directory."""
    manifest: str
    linked: bool = False
    """As in `session_ports.Input`."""
    cached: bool = True
    """Whether the node may keep it after the session."""


class OpenSession(Value):
    """The requirements of a session; the node supplies interpreter, cores, GPUs and memory."""

    type: Literal["open"] = "open"
    sandbox: str
    own_code: bool
    """Whether only CoMind's own code runs in it, so that a plain process is enough."""
    toolbox: str = ""
    """Hash of the toolbox's lock file; empty for CoMind's own environment."""
    env: dict[str, str]
    inputs: tuple[InputFolder, ...] = ()
    workspace: str = ""
    """Hash of the manifest of the working directory's files so far."""
    packages: str = ""
    """Hash of the manifest of installed packages; empty where none can be installed."""
    models: RelativeName | None = None
    """Name of the input with the user's models, if any."""
    persistent: bool = True
    threads: int = 0
    """Cores wanted, as before an interruption; 0 for a fair share."""
    gpus: int = 0
    """GPUs that the session must get at least."""
    memory_gb: int = 0
    """Memory that the node must have at least."""
    store: bool = False
    """Whether the driver has a store of inputs."""
    holders: int = 1
    """The number of sessions that share a node's GPUs."""


class RunCell(Value):
    """Run a cell, with a timeout in seconds."""

    type: Literal["run"] = "run"
    number: int
    code: str
    seconds: float
    packages: str = ""
    """Hash of the manifest of installed packages; empty if unchanged."""


class SendOutput(Value):
    """Send what the cell has printed so far."""

    type: Literal["look"] = "look"
    number: int


class StopCell(Value):
    """Interrupt the cell; `reason` becomes its error."""

    type: Literal["stop"] = "stop"
    number: int
    reason: str


class CloseSession(Value):
    """End the sandbox and the session host."""

    type: Literal["close"] = "close"


class HostState(Value):
    """First message after each connect: who the node is, and how far it is."""

    type: Literal["state"] = "state"
    node: str = Field(max_length=200)
    version: str = ""
    """Version of CoMind there."""
    machine: Machine
    ready: bool = False
    """Whether its session is open."""
    taken: int = 0
    """Number of the last cell that it took."""


class SessionReady(Value):
    """The session is open."""

    type: Literal["ready"] = "ready"
    sandbox: str
    sealed: bool
    threads: int
    gpus: tuple[str, ...] = ()
    fetched: FetchedInputs


class OutputSoFar(Value):
    """Output of a running cell, its seconds so far, and what it used."""

    type: Literal["output"] = "output"
    number: int
    output: str
    seconds: float
    usage: CellUsage | None = None


class CellDone(Value):
    """The result of a cell, and what changed in the working directory since the last one."""

    type: Literal["done"] = "done"
    number: int
    result: CellResult
    written: tuple[FileEntry, ...] = ()
    """New and changed files, oldest first; their contents were sent before."""
    removed: tuple[RelativeName, ...] = ()


class HostFailed(Value):
    """The session cannot be opened, or its interpreter cannot be restarted."""

    type: Literal["failed"] = "failed"
    message: str
    hint: str = ""
    busy: bool = False
    """Whether the node may be able to later, or another one now."""


DriverMessage = Annotated[
    OpenSession | RunCell | SendOutput | StopCell | CloseSession, Field(discriminator="type")
]
HostMessage = Annotated[
    HostState | SessionReady | OutputSoFar | CellDone | HostFailed, Field(discriminator="type")
]
DRIVER_MESSAGES: TypeAdapter[DriverMessage] = TypeAdapter(DriverMessage)
HOST_MESSAGES: TypeAdapter[HostMessage] = TypeAdapter(HostMessage)
