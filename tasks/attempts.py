"""Tasks that run attempts and thoughts, grade submissions and prove scripts.

A retry resumes from the log of the work, so it repeats only what is not recorded.
"""

from dataclasses import dataclass
from pathlib import Path

from comind.campaign.log.campaign_events import ScriptProved
from comind.campaign.log.outcome import Outcome
from comind.campaign.log.work import Code, Think
from comind.domain.metric import Paired
from comind.grading.grader_port import Grader, GradeReport
from comind.grading.submission_schema import SubmissionSchema
from comind.wiring.proof import prove
from comind.wiring.runtime import CampaignRuntime
from tasks import step


@step("{work_id}", retries=1, delay=2)
def run_attempt(runtime: CampaignRuntime, work_id: str, work: Code) -> Outcome:
    """Run one attempt to its end."""
    return _run_work(runtime, work_id, work)


@step("{work_id}", retries=1, delay=2)
def ideate(runtime: CampaignRuntime, work_id: str, work: Think) -> Outcome:
    """Run one `Think` to its end."""
    return _run_work(runtime, work_id, work)


@step("prove {work_id}", retries=1, delay=2)
def prove_script(runtime: CampaignRuntime, work_id: str, seconds: float) -> ScriptProved:
    """Run an attempt's script again, for `seconds` at most, and compare its submissions."""
    return prove(runtime, work_id, seconds)


# Grading has no side effects.
@step(retries=2)
def grade_submission(
    runtime: CampaignRuntime, validation: Path, test: Path, fold: int = 0
) -> GradeReport:
    """Grade a pair of submissions, for the split (0) or a fold of it."""
    return runtime.grader_of(fold).grade(validation, test)


# An invalid submission stays invalid.
@step(retries=0)
def check_final_submission(runtime: CampaignRuntime) -> None:
    """Validate the schema of the final submission, where there is one.

    Raises:
        SubmissionError: its columns or rows are not those that test.csv requires.
    """
    if runtime.folder.submission.is_file():
        SubmissionSchema.for_test(runtime.split_folder).read(runtime.folder.submission)


def _run_work(runtime: CampaignRuntime, work_id: str, work: Code | Think) -> Outcome:
    fold = work.fold if isinstance(work, Code) else 0
    return runtime.execute(work_id, work, _TaskGrader(runtime, fold))


@dataclass(frozen=True, slots=True)
class _TaskGrader:
    """A grader that runs each grading of a pair as a task of its own."""

    runtime: CampaignRuntime
    fold: int

    @property
    def _grader(self) -> Grader:
        return self.runtime.grader_of(self.fold)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Grade a pair of submissions."""
        return grade_submission(self.runtime, validation, test, self.fold)

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Score out-of-fold predictions for the rows of train.csv."""
        return self._grader.out_of_fold(predictions)

    def check(self, test: Path) -> GradeReport:
        """Validate the schema of a test submission."""
        return self._grader.check(test)

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better one validation submission is than another."""
        return self._grader.compare(one, other)
