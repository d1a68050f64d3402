"""Submissions: one verdict a pair, from the process that holds the labels."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.evaluation.report import GradeReport
from comind.wiring.workshop import workshop_of

__all__ = ["grade_submission"]


@task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=1)  # grading has no side effects
def grade_submission(project: Path, campaign: str, validation: Path, test: Path) -> GradeReport:
    """Return the grader's verdict on a pair of submissions."""
    return workshop_of(project, campaign).grader.grade(validation, test)
