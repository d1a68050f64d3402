"""How far the errors of attempts go together, asked of the grader for the planner."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from comind.campaign.events import ErrorsCompared
from comind.campaign.folder import CampaignFolder
from comind.campaign.state import CampaignState
from comind.errors import CampaignError
from comind.evaluation.grader_port import ErrorReport
from comind.system.files import hash_file

__all__ = ["ErrorComparer", "compare_errors"]


class ErrorComparer(Protocol):
    """Whoever knows the labels, and with them the errors."""

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return how far the errors of validation submissions go together."""
        ...


def compare_errors(
    state: CampaignState, folder: CampaignFolder, comparer: ErrorComparer
) -> ErrorsCompared:
    """Return how far the errors of the best attempts' best submissions go together.

    Raises:
        CampaignError: a submission was changed after it was graded.
        GraderError: the grader is gone.
    """
    attempts = state.comparable()
    report = comparer.errors([_validation(state, folder, each) for each in attempts])
    return ErrorsCompared(attempts=attempts, correlations=report.correlations, reason=report.reason)


def _validation(state: CampaignState, folder: CampaignFolder, attempt: str) -> Path:
    path = folder.validation_of(state.works.attempt(attempt))
    submitted = state.works.attempt(attempt).submitted
    if submitted is None or hash_file(path) != submitted.validation_sha256:
        raise CampaignError(f"{path} was changed after it was graded")
    return path
