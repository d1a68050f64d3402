"""Define the ports: a sandbox starts programs, a session runs cells in one of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pydantic import Field

from comind.domain.environment import FetchedInputs, Machine
from comind.domain.value import AnyText, Value
from comind.session.load import CellUsage, LoadSample


class CellStatus(StrEnum):
    """Status of a cell that ended."""

    OK = "ok"
    ERROR = "error"  # it raised; the interpreter keeps its state
    TIMEOUT = "timeout"  # it was interrupted at its deadline; the interpreter keeps its state
    STOPPED = "stopped"  # its watch interrupted it; the interpreter keeps its state
    DIED = "died"  # the interpreter exited, and all variables are lost


class CellResult(Value):
    """Output of a cell and how it ended.

    `output` is truncated in the middle; `state_lost` says that the next cell starts in a new
    interpreter.
    """

    status: CellStatus
    output: AnyText = ""
    error: AnyText = ""
    """The traceback, or the reason why the cell was stopped."""
    seconds: float = Field(default=0.0, ge=0)
    load: tuple[LoadSample, ...] = ()
    """What the session used meanwhile; empty where it was not measured, and in old logs."""
    state_lost: bool = False

    def with_note(self, note: str) -> "CellResult":
        """Return a copy whose output ends with a note of the platform, if there is one."""
        output = f"{self.output.rstrip()}\n\n{note}".lstrip() if note else self.output
        return self.model_copy(update={"output": output})


class Watch(Protocol):
    """Callback that inspects a running cell at times of its own choice."""

    @property
    def next_look(self) -> float:
        """Seconds from the start of the cell to the next call; infinity for none."""
        ...

    def look(self, output: str, seconds: float, usage: CellUsage | None = None) -> str | None:
        """Return the reason to stop the cell, or None; must not block.

        `output` is what it has printed so far, in the form of a result's output; `usage` what its
        processes have used, None where that cannot be measured.
        """
        ...


class Session(Protocol):
    """A working directory and an interpreter that keeps its state between cells."""

    workspace: Path
    """The working directory on the host; its content is untrusted."""
    sealed: bool
    """Whether the code has no access to host files and the network."""
    sandbox: str
    """Name of the sandbox."""
    threads: int
    """Thread limit of numerical libraries; 0 for none."""
    node: str
    """Name of the machine that it runs on; empty for this one."""
    machine: Machine | None
    """Hardware of that machine; None for this one."""
    fetched: FetchedInputs | None
    """What that machine fetched; None for this one."""
    waited: float
    """Seconds that were waited for that machine, and that the attempt's time does not count."""

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        """Run one cell with a timeout of `seconds` and a short grace period.

        A cell that `watch` stops is interrupted as on a timeout.

        Raises:
            SandboxError: the interpreter died and could not be restarted.
            NodeLostError: the machine that it ran on is gone; another session can replay its cells.
        """
        ...

    def close(self) -> None:
        """Terminate the interpreter and all its descendants."""
        ...


@dataclass(frozen=True, slots=True)
class Input:
    """A host folder that code may read, and its path below the working directory."""

    source: Path
    name: str
    linked: bool = False
    """Whether a sandbox that cannot mount links it instead of copying it."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A program to run and everything that it may access; the network is always off.

    It may write to `workspace` (its working directory) and `runtime`; paths in `argv` are those inside.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workspace: Path
    runtime: Path
    scratch: Path
    """Folder that contains `runtime` and is removed when the program has exited."""
    inputs: tuple[Input, ...]
    log: Path
    memory_bytes: int
    """Of all its processes together if the sandbox can limit that, else of each process."""
    processes: int = 1024
    """The most processes and threads, if the sandbox can limit them."""
    file_bytes: int = 8 << 30
    log_bytes: int = 1 << 20
    """The most output that is logged, from beginning and end."""

    @property
    def gpus(self) -> tuple[str, ...]:
        """Devices named in `CUDA_VISIBLE_DEVICES` of the program's environment."""
        return tuple(filter(None, self.env.get("CUDA_VISIBLE_DEVICES", "").split(",")))


class Handle(Protocol):
    """A running sandbox."""

    @property
    def pid(self) -> int | None:
        """Id of a process whose descendants are the program's processes; None if it is not known."""
        ...

    def alive(self) -> bool:
        """Whether the program runs.

        Raises:
            SandboxError: the sandbox itself failed, and the program with it.
        """
        ...

    def exit_code(self) -> int | None:
        """Return None while the program runs, else its exit code (128 + n: killed by signal n)."""
        ...

    def exit_reason(self) -> str:
        """Return in one line why the program exited."""
        ...

    def stop(self) -> None:
        """Kill the program and all its descendants, and wait for them."""
        ...


class Sandbox(Protocol):
    """A place to run untrusted programs.

    `sealed` says whether they have no access to host files, keys and the network; `python` is the
    interpreter inside, `toolbox` the hash of the toolbox's lock file if that interpreter is the
    toolbox's; `gaps` name what is not isolated on this machine.
    """

    name: str
    sealed: bool
    gaps: tuple[str, ...]
    python: str
    toolbox: str

    def paths_inside(self, workspace: Path, runtime: Path) -> tuple[Path, Path]:
        """Return the paths of these two host folders inside the sandbox."""
        ...

    def start(self, spec: SandboxSpec) -> Handle:
        """Start a program.

        Raises:
            SandboxError: it could not be started.
        """
        ...
