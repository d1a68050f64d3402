"""Score programs on the sealed instances of a split."""

import hashlib
import json
import math
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from comind.domain.metric import Paired
from comind.domain.problem import SOLVE
from comind.errors import CompetitionError, GraderError
from comind.grading.grader_port import (
    BlendCandidate,
    BlendReport,
    CodedReport,
    ErrorReport,
    GradeReport,
    ScoreBreakdown,
    SubsetScore,
)
from comind.programs.means import mean_difference, mean_score
from comind.programs.program_runs import Instance, InstanceScore, ProgramRuns
from comind.programs.program_split import DEVELOPMENT, VALIDATION, fold_name, read_part
from comind.session.session_ports import Sandbox
from comind.splits.split_folder import SplitFolder
from comind.system.files import write_atomically
from comind.system.plurals import quantity
from comind.system.syntax import defined_functions

_NOT_AVERAGED = "programs cannot be averaged"
_NO_ROWS = "a program predicts no rows, so there is nothing beside it"
_NO_SAMPLE = "a program predicts no rows, so there are no steps on a sample"
_SHOWN = 64  # development instances listed in a report
_running = threading.Lock()
"""One program at a time: programs that run side by side would take each other's cores."""


class ProgramGrader:
    """A grader for splits of instances: runs programs in sandboxes, and keeps their scores."""

    def __init__(
        self, folder: SplitFolder, sandbox: Sandbox, kept: Path, part: str = VALIDATION
    ) -> None:
        """Set the split, the sandbox of programs and scorer, and the folder of scores by program.

        Raises:
            CompetitionError: the split is incomplete.
        """
        self._folder, self._sandbox, self._kept, self._part = folder, sandbox, kept, part
        limits = folder.read().program
        assert limits is not None, "the split is of instances"
        self._runs = ProgramRuns(sandbox, limits, folder.problem)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Score a program; both files are the same one."""
        report = self.check(test)
        if not report.valid:
            return report
        scores = self._scores(validation)
        failures = counted_failures(scores, "sealed instance")
        if all(each.failure for each in scores):
            return GradeReport(valid=False, message=f"it scores 0: {failures}")
        parts = (self._development(validation.read_bytes()),)
        mean = mean_score(self._instances(self._part), scores)
        return GradeReport(valid=True, message=failures, score=mean, parts=parts)

    def check(self, test: Path) -> GradeReport:
        """Check that a program can be parsed, and defines `solve`."""
        return check_program(test)

    def out_of_fold(self, predictions: Path) -> GradeReport:  # noqa: ARG002 - of a grader
        """Report that there are none."""
        return GradeReport(valid=False, message=_NO_ROWS)

    def sample(self, predictions: Path) -> GradeReport:  # noqa: ARG002 - of a grader
        """Report that there are none."""
        return GradeReport(valid=False, message=_NO_SAMPLE)

    def probabilities(self, files: Sequence[Path]) -> GradeReport:  # noqa: ARG002 - of a grader
        """Report that there are none."""
        return GradeReport(valid=False, message=_NO_ROWS)

    def compare(self, one: Path, other: Path) -> Paired:
        """Compare two programs instance by instance; positive if the first one is better."""
        first, second = self._scores(one), self._scores(other)
        return mean_difference(self._instances(self._part), first, second)

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:  # noqa: ARG002 - of a grader
        """Report that programs have no errors of rows."""
        return ErrorReport(reason=_NOT_AVERAGED)

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:  # noqa: ARG002 - of a grader
        """Return no reasons: a program has no labels to be queried."""
        return CodedReport()

    def fold(self, number: int) -> "ProgramGrader":
        """Return the grader of the further sealed instances of this number, counted from 1."""
        return ProgramGrader(self._folder, self._sandbox, self._kept, fold_name(number))

    def blend(
        self,
        candidates: Sequence[BlendCandidate],  # noqa: ARG002 - of a grader
        folds: Sequence[int] = (),  # noqa: ARG002
        most_seconds: float = math.inf,  # noqa: ARG002
    ) -> BlendReport:
        """Report that programs cannot be averaged."""
        return BlendReport(reason=_NOT_AVERAGED)

    def try_out(self, program: bytes) -> str:
        """Return lines with the scores on the development instances, which agents see.

        Raises:
            GraderError: the scorer fails.
        """
        instances, scores = self._instances(DEVELOPMENT), self._run(program, DEVELOPMENT)
        lines = [
            f"{given.id}: {each.score:.4f}{_why(each)} ({each.seconds:.1f} s)"
            for given, each in zip(instances, scores, strict=True)
        ]
        more = len(lines) - _SHOWN
        shown = [*lines[:_SHOWN], f"and {more} more"] if more > 0 else lines
        mean = mean_score(instances, scores).value.value
        whole = quantity(len(scores), "development instance")
        return "\n".join([*shown, f"mean score on {whole}: {mean:.4f}"])

    def _development(self, program: bytes) -> ScoreBreakdown:
        """Return the scores on the development instances, worst first."""
        instances, scores = self._instances(DEVELOPMENT), self._run(program, DEVELOPMENT)
        named = sorted((each.score, given.id) for given, each in zip(instances, scores, strict=True))
        worst = [
            SubsetScore(name=name, value=float(f"{score:.5g}"), share=1 / len(named))
            for score, name in named
        ]
        by = f"{DEVELOPMENT} instance"
        return ScoreBreakdown(by=by, public=True, count=len(named), worst=tuple(worst))

    def _instances(self, part: str) -> tuple[Instance, ...]:
        place = self._folder.public if part == DEVELOPMENT else self._folder.sealed
        return read_part(place / f"{part}.json")

    def _scores(self, file: Path) -> list[InstanceScore]:
        return self._run(file.read_bytes(), self._part)

    def _run(self, program: bytes, part: str) -> list[InstanceScore]:
        """Return the scores on a part of the instances; a program is run on each part once."""
        kept = self._kept / f"{hashlib.sha256(program).hexdigest()}-{part}.json"
        with _running:
            if kept.is_file():
                return [InstanceScore(*each) for each in json.loads(kept.read_text())]
            try:
                scores = self._runs(program, self._instances(part))
            except CompetitionError as error:
                raise GraderError(str(error)) from None
            write_atomically(kept, json.dumps(scores))
        return scores


def check_program(file: Path) -> GradeReport:
    """Check that a program can be parsed, and defines `solve`."""
    try:
        functions = defined_functions(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        return GradeReport(valid=False, message=f"the program cannot be read: {error}")
    if SOLVE not in functions:
        return GradeReport(valid=False, message=f"the program defines no function {SOLVE}")
    return GradeReport(valid=True)


def counted_failures(scores: Sequence[InstanceScore], kind: str) -> str:
    """Return how many instances have no solution, and why, in words of ours; empty if all have one."""
    failures = Counter(each.failure for each in scores if each.failure)
    named = ", ".join(f"{number} x {failure}" for failure, number in failures.most_common())
    return f"score 0 on {failures.total()} of {quantity(len(scores), kind)}: {named}" if named else ""


def _why(score: InstanceScore) -> str:
    if not score.failure:
        return f", objective {score.objective:.6g}" if score.objective is not None else ""
    return f", {score.failure}{': ' if score.detail else ''}{score.detail}"
