"""Score programs on the test instances of a competition, which no campaign sees."""

from functools import cached_property
from pathlib import Path

from comind.domain.competition import NORMALISED_SCORE, Competition
from comind.errors import SubmissionError
from comind.grading.past_competition import PastGrade
from comind.programs.means import mean_score
from comind.programs.problem_files import copied_scorer
from comind.programs.program_grader import check_program, counted_failures
from comind.programs.program_runs import Instance, ProgramRuns, read_instances
from comind.programs.program_split import TEST, cut_instances
from comind.session.choice import choose_sandbox
from comind.session.session_ports import Sandbox

_NO_BOARD = "programs have no leaderboard"


def open_answers(competition: Competition, seed: int) -> "ProgramAnswers":
    """Return the scores of a competition's programs, in the strongest sandbox that works here.

    Raises:
        SandboxError: none isolates.
    """
    return ProgramAnswers(competition, seed, choose_sandbox("auto", own_code=False))


class ProgramAnswers:
    """Scores programs of one competition; its instances are read once."""

    def __init__(self, competition: Competition, seed: int, sandbox: Sandbox) -> None:
        """Set the seed of the split, which cuts instances without parts of their own."""
        self._competition, self._seed, self._sandbox = competition, seed, sandbox

    def grade(self, program: Path) -> PastGrade:
        """Score a program on the test instances.

        Raises:
            CompetitionError: the problem's code fails.
            SandboxError: the sandbox cannot be started.
            SubmissionError: there is no such file.
        """
        if not program.is_file():
            raise SubmissionError(f"{program}: there is no such file")
        checked = check_program(program)
        if not checked.valid:
            return PastGrade(
                metric=NORMALISED_SCORE, maximize=True, valid=False, message=checked.message
            )
        limits = self._competition.program
        assert limits is not None, "its submissions are programs"
        with copied_scorer(self._competition.folder) as scorer:
            scores = ProgramRuns(self._sandbox, limits, scorer)(program.read_bytes(), self._instances)
        found = mean_score(self._instances, scores)
        failures = counted_failures(scores, "test instance")
        return PastGrade(
            score=found.value.value,
            interval=(found.interval.low, found.interval.high),
            metric=NORMALISED_SCORE,
            maximize=True,
            valid=True,
            message=_NO_BOARD,
            notes=(failures,) if failures else (),
        )

    @cached_property
    def _instances(self) -> tuple[Instance, ...]:
        folder = self._competition.folder
        return cut_instances(read_instances(self._sandbox, folder), self._seed, folder)[TEST]
