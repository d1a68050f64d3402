"""Submissions: one verdict a pair from the process that holds the labels, one last look at the end."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.evaluation.grader_port import GradeReport
from comind.evaluation.grading import SubmissionSchema
from comind.wiring.runtime import runtime_of

__all__ = ["grade_submission", "hand_in"]


@task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=1)  # grading has no side effects
def grade_submission(
    project: Path, campaign: str, validation: Path, test: Path, fold: int = 0
) -> GradeReport:
    """Return the grader's verdict on a pair of submissions, for the split or a fold of it."""
    return runtime_of(project, campaign).grader_of(fold).grade(validation, test)


@task(cache_policy=NO_CACHE)
def hand_in(project: Path, campaign: str) -> None:
    """Look at the final submission once more, as whoever takes it in will.

    Raises:
        SubmissionError: it has not the form that test.csv asks for.
    """
    runtime = runtime_of(project, campaign)
    if runtime.folder.submission.is_file():
        SubmissionSchema.for_test(runtime.split_folder).read(runtime.folder.submission)
