"""What a cell hands in: files that it wrote, or, where submissions are programs, its own code."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_events import PROGRAM_NAMES, SubmissionNames
from comind.campaign.work.cell_outputs import SubmissionCollector
from comind.domain.problem import SOLVE
from comind.session.session_ports import CellResult, CellStatus
from comind.system.files import write_atomically
from comind.system.syntax import defined_functions


class Collector(Protocol):
    """Collects what one cell hands in."""

    def collect(self, folder: WorkFolder, step: int) -> tuple[Submitted | None, str]:
        """Copy it to `folder`; return its hashes, and why something was rejected."""
        ...


class HandIn(Protocol):
    """How cells hand in."""

    def names(self, code: str, given: SubmissionNames | None) -> SubmissionNames | None:
        """Return the names of the files that the cell hands in; None for the default ones."""
        ...

    def collector(self, workspace: Path, code: str, names: SubmissionNames | None) -> Collector:
        """Return the collector of a cell that is about to run."""
        ...

    def tried(self, code: str, result: CellResult) -> CellResult:
        """Return a cell's result, with what the platform found of what it hands in."""
        ...


class FilesHandedIn:
    """A cell hands in the predictions that it wrote."""

    def names(self, code: str, given: SubmissionNames | None) -> SubmissionNames | None:
        """Return the names that the agent gave."""
        del code
        return given

    def collector(self, workspace: Path, code: str, names: SubmissionNames | None) -> Collector:
        """Return a collector of files by their status."""
        del code
        return SubmissionCollector(workspace, names)

    def tried(self, code: str, result: CellResult) -> CellResult:
        """Return the result as it is."""
        del code
        return result


@dataclass(frozen=True, slots=True)
class ProgramHandedIn:
    """A cell that defines `solve` hands in its own code as the program, once it ran without error."""

    try_out: Callable[[bytes], str]
    """Returns lines on the program's scores on the development instances, for the cell's output."""

    def names(self, code: str, given: SubmissionNames | None) -> SubmissionNames | None:
        """Return the program's name where the code defines it."""
        del given
        return PROGRAM_NAMES if SOLVE in defined_functions(code) else None

    def collector(self, workspace: Path, code: str, names: SubmissionNames | None) -> Collector:
        """Return a collector of the code."""
        del workspace
        return _ProgramCollector(code if names == PROGRAM_NAMES else "")

    def tried(self, code: str, result: CellResult) -> CellResult:
        """Return the result with the scores on the development instances at the end of its output."""
        if SOLVE not in defined_functions(code) or result.status is not CellStatus.OK:
            return result
        found = self.try_out(program_of(code).encode())
        return result.model_copy(update={"output": f"{result.output.rstrip()}\n\n{found}".lstrip()})


@dataclass(frozen=True, slots=True)
class _ProgramCollector:
    code: str

    def collect(self, folder: WorkFolder, step: int) -> tuple[Submitted | None, str]:
        if not self.code:
            return None, ""
        content = program_of(self.code).encode()
        write_atomically(folder.program(step), content)
        sha256 = hashlib.sha256(content).hexdigest()
        return Submitted(step=step, validation_sha256=sha256, test_sha256=sha256), ""


def program_of(code: str) -> str:
    """Return the program that a cell with this code hands in."""
    return code.strip("\n") + "\n"
