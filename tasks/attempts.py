"""Attempts and thoughts, each from wherever its log stands, and proofs of what attempts handed in."""

from dataclasses import dataclass
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.events import ScriptProved
from comind.campaign.outcome import Outcome
from comind.campaign.plan import Code, Think
from comind.domain.metric import Paired
from comind.evaluation.grader_port import Grader, GradeReport
from comind.wiring.proof import prove
from comind.wiring.runtime import runtime_of
from tasks.submissions import grade_submission

__all__ = ["ideate", "prove_script", "run_attempt"]


@task(cache_policy=NO_CACHE, task_run_name="{work_id}", retries=1, retry_delay_seconds=2)
def run_attempt(project: Path, campaign: str, work_id: str, work: Code) -> Outcome:
    """Carry out one attempt; a retry goes on from the attempt's log."""
    return _carry_out(project, campaign, work_id, work)


@task(cache_policy=NO_CACHE, task_run_name="{work_id}", retries=1, retry_delay_seconds=2)
def ideate(project: Path, campaign: str, work_id: str, work: Think) -> Outcome:
    """Carry out one piece of thinking; a retry goes on from its log."""
    return _carry_out(project, campaign, work_id, work)


@task(cache_policy=NO_CACHE, task_run_name="prove {work_id}", retries=1, retry_delay_seconds=2)
def prove_script(project: Path, campaign: str, work_id: str, seconds: float) -> ScriptProved:
    """Return whether an attempt's script gives its submissions again; it leaves nothing behind."""
    return prove(runtime_of(project, campaign), work_id, seconds)


def _carry_out(project: Path, campaign: str, work_id: str, work: Code | Think) -> Outcome:
    runtime = runtime_of(project, campaign)
    fold = work.fold if isinstance(work, Code) else 0
    return runtime.execute(work_id, work, _GradingTask(project, campaign, fold))


@dataclass(frozen=True, slots=True)
class _GradingTask:
    """A grader whose every verdict is a task of its own."""

    project: Path
    campaign: str
    fold: int = 0
    """Of the split, whose submissions it grades; 0 is the split itself."""

    @property
    def _grader(self) -> Grader:
        return runtime_of(self.project, self.campaign).grader_of(self.fold)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the verdict on a pair of submissions."""
        return grade_submission(self.project, self.campaign, validation, test, self.fold)

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Return the score of predictions for rows of train.csv."""
        return self._grader.out_of_fold(predictions)

    def check(self, test: Path) -> GradeReport:
        """Return whether a test submission has the right form."""
        return self._grader.check(test)

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better one validation submission is than another."""
        return self._grader.compare(one, other)
