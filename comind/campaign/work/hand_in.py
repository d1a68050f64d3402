"""What a cell hands in: predictions in files or, where submissions are programs, a program."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import HandedIn, Submitted
from comind.campaign.log.work_events import PROGRAM_NAMES, SubmissionNames, submitted_program
from comind.campaign.work.cell_outputs import SubmissionCollector, file_status
from comind.domain.problem import PROGRAM
from comind.errors import SubmissionError
from comind.session.session_ports import CellStatus
from comind.system.files import read_untrusted, write_atomically

_MOST_BYTES = 1 << 20


class Collector(Protocol):
    """Collects what one cell hands in."""

    note: str
    """What the platform adds to the cell's output, once it was collected."""

    def collect(self, folder: WorkFolder, step: int) -> tuple[HandedIn | None, str]:
        """Copy it to `folder`; return its hashes, and why something was rejected."""
        ...


class HandIn(Protocol):
    """How cells hand in."""

    wanted: ClassVar[str]
    """What an attempt hands in."""
    missing: ClassVar[str]
    """What a cell did that hands in nothing."""
    statuses: ClassVar[tuple[CellStatus, ...]]
    """How cells have ended that hand in."""

    @property
    def sample(self) -> bool:
        """Whether there are steps on a sample of the training rows."""
        ...

    def names(self, given: SubmissionNames | None) -> SubmissionNames | None:
        """Return the names of the files that a cell hands in; None for the default ones."""
        ...

    def collector(
        self, workspace: Path, code: str, names: SubmissionNames | None, *, uses_sample: bool
    ) -> Collector:
        """Return the collector of a cell that is about to run, and may use rows of the sample."""
        ...


@dataclass(frozen=True, slots=True)
class FilesHandedIn:
    """A cell hands in the predictions that it wrote."""

    probabilities: bool = False
    """Whether probabilities beside labels count."""

    wanted: ClassVar = "pair of submissions"
    missing: ClassVar = "did not write both submissions"
    statuses: ClassVar[tuple[CellStatus, ...]] = (
        CellStatus.OK,
        CellStatus.ERROR,
    )  # it may fail after it wrote them

    sample: bool = False
    """Whether there are steps on a sample of the training rows."""

    def names(self, given: SubmissionNames | None) -> SubmissionNames | None:
        """Return the names that the agent gave."""
        return given

    def collector(
        self, workspace: Path, code: str, names: SubmissionNames | None, *, uses_sample: bool
    ) -> Collector:
        """Return a collector of files by their status."""
        del code
        beside = {"sample": self.sample, "probabilities": self.probabilities}
        return SubmissionCollector(workspace, names, uses_sample=uses_sample, **beside)


@dataclass(frozen=True, slots=True)
class ProgramHandedIn:
    """A cell hands in its own code where that defines `solve`, else the solver.py that it wrote."""

    wanted: ClassVar = "program that defines `solve`"
    missing: ClassVar = "does not define `solve` at its top level"
    statuses: ClassVar[tuple[CellStatus, ...]] = (CellStatus.OK,)
    sample: ClassVar = False

    try_out: Callable[[bytes], str]
    """Returns lines on a program's scores on the development instances, for the cell's output."""

    def names(self, given: SubmissionNames | None) -> SubmissionNames | None:
        """Return the name of programs."""
        del given
        return PROGRAM_NAMES

    def collector(
        self, workspace: Path, code: str, names: SubmissionNames | None, *, uses_sample: bool
    ) -> Collector:
        """Return a collector of the program."""
        del uses_sample
        own = submitted_program(names, code) or ""
        return _ProgramCollector(self.try_out, workspace, own.encode(), file_status(workspace / PROGRAM))


@dataclass(slots=True)
class _ProgramCollector:
    try_out: Callable[[bytes], str]
    workspace: Path
    own: bytes
    """The cell's code, if it is a program."""
    before: object
    """Status of the file before the cell ran."""
    note: str = ""

    def collect(self, folder: WorkFolder, step: int) -> tuple[Submitted | None, str]:
        try:
            program = self.own or self._written()
        except SubmissionError as error:
            return None, str(error)
        if not program:
            return None, ""
        write_atomically(folder.program(step), program)
        sha256 = hashlib.sha256(program).hexdigest()
        self.note = self.try_out(program)
        return Submitted(step=step, validation_sha256=sha256, test_sha256=sha256), ""

    def _written(self) -> bytes:
        """Return the file, if the cell wrote it."""
        if file_status(self.workspace / PROGRAM) in (None, self.before):
            return b""
        return read_untrusted(self.workspace, PROGRAM, limit=_MOST_BYTES)
