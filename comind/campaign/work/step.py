"""The result of a step: what its cell printed and wrote, and what the grader said of it."""

from dataclasses import dataclass

from comind.campaign.log.work_events import Neighbour, SampleGraded, WrittenFile
from comind.campaign.work.hand_in import FilesHandedIn
from comind.domain.metric import Paired
from comind.domain.value import one_line
from comind.grading.grader_port import GradeReport
from comind.session.session_ports import CellResult, CellStatus

_SUMMARY_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Step:
    """Result of one cell."""

    code: str
    result: CellResult
    files: tuple[WrittenFile, ...] = ()
    """The files it wrote, newest last."""
    report: GradeReport | None = None
    """The grader's report on its submissions."""
    gain: Paired | None = None
    """Paired difference to the attempt's previous best score; positive is better."""
    refused: str = ""
    """Why the files it named were rejected."""
    unread: str = ""
    """Why files beside a graded pair could not be read."""
    neighbours: tuple[Neighbour, ...] = ()
    """Other attempts with progress since the last report; with failed or submitting steps only."""
    out_of_fold: GradeReport | None = None
    """Report on its out-of-fold predictions; None if it submitted none."""
    probabilities: GradeReport | None = None
    """Report, without a score, on the probabilities beside its labels; None if it submitted none."""
    followed: bool | None = None
    """Whether its nomination made it the attempt's pick; None if it was not nominated."""
    rejected: str = ""
    """By whom and why the agent rejected it."""
    sample: SampleGraded | None = None
    """How its predictions on the sample were graded; None of a full step."""
    uses_sample: bool = False
    """Whether it handed in what depends on rows of the sample."""
    missing: str = FilesHandedIn.missing
    """What its cell did if it handed in nothing."""

    @property
    def fault(self) -> str:
        """The reason for a missing score, in a sentence; empty if it has one."""
        if self.report and self.report.score:
            return ""
        if self.result.status is not CellStatus.OK:
            return "It did not run to its end."
        if self.sample:
            return f"It was a step on the sample: {self.sample.shown}."
        if self.report or self.refused:
            return f"It was not scored: {self.report.message if self.report else self.refused}."
        return f"It ran, but {self.missing}."

    @property
    def summary(self) -> str:
        """Its score, or the reason for none, in one line of at most 300 characters."""
        scored = self.report and self.report.score
        if scored and self.rejected:
            return one_line(f"{scored}, rejected by {self.rejected}", _SUMMARY_LENGTH)
        return str(scored) if scored else one_line(self.fault, _SUMMARY_LENGTH)
