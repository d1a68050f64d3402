"""The ports: a sandbox starts programs; a session runs cells in one of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pydantic import Field

from comind.domain.value import Value

__all__ = ["CellResult", "CellStatus", "Handle", "Input", "Sandbox", "SandboxSpec", "Session", "Watch"]


class CellStatus(StrEnum):
    """How a cell ended."""

    OK = "ok"
    ERROR = "error"  # it raised; the session goes on
    TIMEOUT = "timeout"  # it was interrupted at its deadline; the session goes on
    STOPPED = "stopped"  # it was interrupted because its watch said so; the session goes on
    DIED = "died"  # the interpreter is gone and with it every variable


class CellResult(Value):
    """What a cell printed, and how it ended.

    `output` is cut to a stated size from the middle; `state_lost` says that the next cell starts in a
    fresh interpreter.
    """

    status: CellStatus
    output: str = ""
    error: str = ""
    """The traceback, or the reason why the cell was ended."""
    seconds: float = Field(default=0.0, ge=0)
    state_lost: bool = False


class Watch(Protocol):
    """Someone who looks at a cell while it runs, at moments of their own choice."""

    @property
    def next_look(self) -> float:
        """Seconds into the cell at which to look next; infinity for never."""
        ...

    def look(self, output: str, seconds: float) -> str | None:
        """Return why the cell is to be stopped, or None; returns at once.

        `output` is what it has printed so far, in the form of a result's output.
        """
        ...


class Session(Protocol):
    """A working directory and an interpreter that remembers."""

    workspace: Path
    """The working directory as the host sees it; what lies in it is untrusted."""
    sealed: bool
    """Whether host files and the network are out of the code's reach."""
    sandbox: str
    """Name of the sandbox that it runs in."""
    threads: int
    """Cores that its libraries may use at once; 0: as many as they find."""

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        """Run one cell; returns within `seconds` and a short grace, whatever the code does.

        What `watch` wants stopped is interrupted as at the deadline.

        Raises:
            SandboxError: the interpreter is gone and could not be started again.
        """
        ...

    def close(self) -> None:
        """End the interpreter and everything it started."""
        ...


@dataclass(frozen=True, slots=True)
class Input:
    """A folder of the host that code may read, and its name below the working directory."""

    source: Path
    name: str
    linked: bool = False
    """Whether it is too large to be copied where nothing can be mounted; then it is linked."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A program to run, and all that it may touch; the network is off, with no switch for it.

    The program may write to `workspace` (its working directory) and `runtime`; paths in `argv` are as
    the program sees them.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workspace: Path
    runtime: Path
    scratch: Path
    """Folder that is removed when the program has ended; `runtime` lies in it."""
    inputs: tuple[Input, ...]
    log: Path
    memory_bytes: int
    """Of all its processes together where the sandbox can limit that, else of each."""
    processes: int = 1024
    """How many there may be at once, threads included, where the sandbox can limit that."""
    file_bytes: int = 8 << 30
    log_bytes: int = 1 << 20
    """The most that is kept of what it prints, beginning and end."""

    @property
    def gpus(self) -> tuple[str, ...]:
        """The devices that the program may use: those that its environment names, no others."""
        return tuple(filter(None, self.env.get("CUDA_VISIBLE_DEVICES", "").split(",")))


class Handle(Protocol):
    """A running sandbox."""

    def alive(self) -> bool:
        """Say whether the program runs.

        Raises:
            SandboxError: the sandbox itself broke down, and the program with it.
        """
        ...

    def exit_code(self) -> int | None:
        """Return None while the program runs, else its exit code (128 + n: ended by signal n)."""
        ...

    def exit_reason(self) -> str:
        """Say in one line why the program ended."""
        ...

    def stop(self) -> None:
        """End the program and everything it started; returns when they are gone."""
        ...


class Sandbox(Protocol):
    """A place to run a program that nobody has read.

    `sealed` says whether host files, keys and the network are out of the program's reach; `python` is
    the interpreter inside, `toolbox` the hash of the toolbox's lock file where it is the toolbox's.
    """

    name: str
    sealed: bool
    python: str
    toolbox: str

    def paths_inside(self, workspace: Path, runtime: Path) -> tuple[Path, Path]:
        """Return the paths at which a program sees these two folders of the host."""
        ...

    def start(self, spec: SandboxSpec) -> Handle:
        """Start a program.

        Raises:
            SandboxError: it could not be started.
        """
        ...
