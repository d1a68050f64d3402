"""Tasks that run attempts and thoughts, grade submissions and prove scripts.

A retry resumes from the log of the work, so it repeats only what is not recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from comind.app.open_campaigns import open_campaign_of
from comind.campaign.log.campaign_events import ScriptProved
from comind.campaign.log.outcome import Outcome
from comind.domain.metric import Paired
from comind.grading.grader_port import Grader, GradeReport
from comind.grading.submission_schema import SubmissionSchema
from comind.wiring.proof import prove
from tasks import step


@step("search: {work_id}", retries=1, delay=2)
def run_attempt(project: Path, campaign: str, work_id: str) -> Outcome:
    """Run one attempt to its end."""
    return _run_work(project, campaign, work_id)


@step("search: {work_id}", retries=1, delay=2)
def ideate(project: Path, campaign: str, work_id: str) -> Outcome:
    """Run one `Think` to its end."""
    return _run_work(project, campaign, work_id)


@step("close: {work_id}", retries=1, delay=2)
def run_closing(project: Path, campaign: str, work_id: str) -> Outcome:
    """Run a program again for the closing phase: on a fold, as a blend's average, or refitted."""
    return _run_work(project, campaign, work_id)


@step("close: prove {work_id}", retries=1, delay=2)
def prove_script(project: Path, campaign: str, work_id: str, seconds: float) -> ScriptProved:
    """Run an attempt's script again, for `seconds` at most, and compare its submissions."""
    return prove(open_campaign_of(project, campaign).runtime, work_id, seconds)


# Grading has no side effects.
@step("grade {validation.parent.parent.parent.name}, {validation.parent.name}", retries=2)
def grade_submission(
    project: Path, campaign: str, validation: Path, test: Path, fold: int = 0
) -> GradeReport:
    """Grade a pair of submissions in an attempt's folder, for the split (0) or a fold of it."""
    return open_campaign_of(project, campaign).runtime.grader_of(fold).grade(validation, test)


# An invalid submission stays invalid.
@step("close: check the submission", retries=0)
def check_final_submission(project: Path, campaign: str) -> None:
    """Validate the schema of the final submission, where there is one.

    Raises:
        SubmissionError: its columns or rows are not those that test.csv requires.
    """
    opened = open_campaign_of(project, campaign)
    submission = opened.folder.submission
    if submission.is_file() and opened.runtime.split.program is None:
        SubmissionSchema.for_test(opened.runtime.split_folder).read(submission)


def _run_work(project: Path, campaign: str, work_id: str) -> Outcome:
    grader = partial(_TaskGrader, project, campaign)
    return open_campaign_of(project, campaign).execute(work_id, grader)


@dataclass(frozen=True, slots=True)
class _TaskGrader:
    """A grader that runs each grading of a pair as a task of its own."""

    project: Path
    campaign: str
    fold: int

    @property
    def _grader(self) -> Grader:
        return open_campaign_of(self.project, self.campaign).runtime.grader_of(self.fold)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Grade a pair of submissions."""
        return grade_submission(self.project, self.campaign, validation, test, self.fold)

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Score out-of-fold predictions for the rows of train.csv."""
        return self._grader.out_of_fold(predictions)

    def sample(self, predictions: Path) -> GradeReport:
        """Score the predictions of a step on the sample."""
        return self._grader.sample(predictions)

    def probabilities(self, files: Sequence[Path]) -> GradeReport:
        """Check the probabilities beside labels."""
        return self._grader.probabilities(files)

    def check(self, test: Path) -> GradeReport:
        """Validate the schema of a test submission."""
        return self._grader.check(test)

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better one validation submission is than another."""
        return self._grader.compare(one, other)
